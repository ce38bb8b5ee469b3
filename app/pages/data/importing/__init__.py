"""From files to a data set: how they are read, what their columns mean, how rows are dealt out."""
