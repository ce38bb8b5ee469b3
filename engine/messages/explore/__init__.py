"""Questions and answers of Explore, a file for each subject."""
