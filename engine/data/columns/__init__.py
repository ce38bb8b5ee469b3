"""What the columns of a file hold: texts, labels, numbers, tags, answers, endings."""
