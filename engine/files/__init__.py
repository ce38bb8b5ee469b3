"""Files: the home folder, safe reading and whole writing, tables, what the program ships."""
