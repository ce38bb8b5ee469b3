"""Static word vectors: files of GloVe and word2vec, and their mapped copies in the home folder."""
