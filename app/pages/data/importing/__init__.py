"""Import of files: how they are read, roles of their columns, splits."""
