"""One file per version of the tables; each also sets `user_version` to its number."""
