"""One data set: rows, labels, lengths."""
