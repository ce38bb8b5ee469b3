"""Getting a model: the shelf, a search on the hub, the list of files, the download."""
