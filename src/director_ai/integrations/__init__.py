"""Director AI inside of other software: one module per framework, none of which is loaded before it is used."""
