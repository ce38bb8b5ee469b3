#!/usr/bin/env bash
# tokenizers 0.23.3: windows of a pair of long texts, by truncation with a stride.
#
# The stride is the number of tokens that two windows have in common, not the distance between their
# starts as --doc_stride of run_squad.py. With the default strategy, longest_first, both texts of a pair
# are cut, and the overflow has every combination of their windows: two texts of 100 tokens are 1,617
# inputs of 12 tokens. The last combinations, those of the first window of the first text, come at the
# end. With only_first or only_second one text is cut, and the other is in each window whole.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q tokenizers==0.23.3 2> /dev/null
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
from tokenizers import Tokenizer, models, pre_tokenizers, processors

words = [f"w{number}" for number in range(200)]
vocabulary = {word: number for number, word in enumerate(["[CLS]", "[SEP]", *words])}
tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[SEP]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer.post_processor = processors.TemplateProcessing(
    single="[CLS] $A [SEP]",
    pair="[CLS] $A [SEP] $B:1 [SEP]:1",
    special_tokens=[("[CLS]", 0), ("[SEP]", 1)],
)


def windows(*texts, **options):
    tokenizer.enable_truncation(12, stride=2, **options)
    first = tokenizer.encode(*texts)
    return [encoded.tokens for encoded in (first, *first.overflowing)]


single = windows(" ".join(words[:20]))
print("starts of a single text:", [tokens[1] for tokens in single])
assert [tokens[1] for tokens in single] == ["w0", "w8", "w16"]
first, second = " ".join(words[:100]), " ".join(words[100:])
both = windows(first, second)
starts = [(tokens[1], tokens[tokens.index("[SEP]") + 1]) for tokens in both]
print("longest_first:", len(both), "inputs;", starts[:3], "…", starts[-1])
ways = len({one for one, _ in starts}), len({other for _, other in starts})
print("starts of the first and of the second text:", ways)
assert len(both) == len(set(starts)) == ways[0] * ways[1] and starts[-1][0] == "w0"
short = windows(first, " ".join(words[100:104]), strategy="only_first")
print("only_first, second text of 4:", len(short), "inputs")
assert all(tokens[-5:-1] == words[100:104] for tokens in short)
PYTHON
# Output seen:
# starts of a single text: ['w0', 'w8', 'w16']
# longest_first: 1617 inputs; [('w0', 'w100'), ('w2', 'w100'), ('w2', 'w103')] … ('w0', 'w196')
# starts of the first and of the second text: (49, 33)
# only_first, second text of 4: 33 inputs
