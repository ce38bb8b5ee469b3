"""One data set: its rows, its labels, its lengths."""
