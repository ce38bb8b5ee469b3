"""One word in several texts: the similarity of its vectors after every layer."""
