#!/usr/bin/env bash
# gensim 4.4.0: files of word vectors with equal words, and with spaces in words.
#
# Equal words: the log says that all but the first are ignored, but the list of words then ends with
# None, with a vector of zeros, and most_similar may return None as a word. Spaces: the words of
# GloVe 840B include “. . .” and “to name@domain.com”; save_word2vec_format writes such a word
# without a warning in both formats, and load_word2vec_format reads neither back. The error of the
# text format names the word, not the line; that of the binary format is about UTF-8, because the
# reader takes the rest of the word for numbers. A reader has to count the numbers from the end of
# the line, and to end lines at a line feed alone, because U+0085 is a word, too.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q "gensim==4.4.0" "numpy<2.5" 2> /dev/null
cat > "$folder/words.py" <<'PYTHON'
import warnings

import numpy as np
from gensim.models import KeyedVectors

warnings.simplefilter("ignore")
with open("equal.txt", "w") as file:
    file.write("3 2\nthe 1 2\nthe 3 4\ncat -1 -2\n")
read = KeyedVectors.load_word2vec_format("equal.txt")
print("equal words:", read.index_to_key, read.vectors.tolist())
print("nearest to the:", [word for word, _ in read.most_similar("the")])
spaced = KeyedVectors(2)
spaced.add_vectors(["the", "New York", "cat"], np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], "f4"))
for binary in (False, True):
    spaced.save_word2vec_format("spaced", binary=binary)
    try:
        print(KeyedVectors.load_word2vec_format("spaced", binary=binary).index_to_key)
    except ValueError as error:
        print("binary:" if binary else "text:", type(error).__name__, str(error)[:60])
with open("lines.txt", "w", encoding="utf-8", newline="") as file:
    file.write("the 1 2\n\x85 3 4\n")
print("lines:", len(open("lines.txt", encoding="utf-8").read().splitlines()), "by splitlines")
PYTHON
cd "$folder"
output=$(venv/bin/python words.py 2> /dev/null)
echo "$output"
grep -q "^equal words: \['the', 'cat', None\] \[\[1.0, 2.0\], \[-1.0, -2.0\], \[0.0, 0.0\]\]$" <<< "$output"
grep -q "^nearest to the: .*None" <<< "$output"
grep -q "^text: ValueError could not convert string to float: 'York'" <<< "$output"
grep -q "^binary: UnicodeDecodeError" <<< "$output"
grep -q "^lines: 3 by splitlines" <<< "$output"
# Output seen:
# equal words: ['the', 'cat', None] [[1.0, 2.0], [-1.0, -2.0], [0.0, 0.0]]
# nearest to the: ['cat', None]
# text: ValueError could not convert string to float: 'York'
# binary: UnicodeDecodeError 'utf-8' codec can't decode byte 0xcd in position 1: invalid
# lines: 3 by splitlines
