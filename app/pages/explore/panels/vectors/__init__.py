"""One word in several texts: how alike its vectors are, after every layer."""
