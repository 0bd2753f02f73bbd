"""The protocols that the proxy speaks, each without any input or output of its own."""
