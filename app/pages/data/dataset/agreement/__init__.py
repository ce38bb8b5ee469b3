"""Agreement of the coders of a data set, and decisions on rows in dispute."""
