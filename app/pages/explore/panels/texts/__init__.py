"""Many texts: which are hard for the model, and which other panels work on."""
