"""Contents of columns: texts, labels, numbers, tags, answers, choices."""
