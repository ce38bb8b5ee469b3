"""The programs that do the work: one for a run, one that answers questions."""
