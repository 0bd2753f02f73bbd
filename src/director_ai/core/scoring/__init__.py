"""How well evidence supports a clause: the signals, each a pure function of the two texts."""
