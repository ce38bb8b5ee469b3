"""Getting a model: shelf, search on the hub, list of files, download."""
