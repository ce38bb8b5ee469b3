"""Small tokenizers of other kinds, trained by the library and saved as they are published."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

ROBERTA = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
ALBERT = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
MASK = {
    "__type": "AddedToken",
    "content": "<mask>",
    "lstrip": True,
    "normalized": False,
    "rstrip": False,
    "single_word": False,
}


def train_unigram(library: Tokenizer, texts: Iterable[str], size: int,
                    special: Sequence[str]) -> Tokenizer:  # fmt: skip
    """A Unigram of these texts, with its pieces in a reproducible order.

    The trainer sums and breaks ties in the order of a hash table that differs between processes;
    the pieces it drops may still depend on it if the texts have more than `size`.
    """
    trainer = trainers.UnigramTrainer(
        vocab_size=size, special_tokens=list(special), unk_token="<unk>", show_progress=False
    )
    library.train_from_iterator(texts, trainer)
    content = json.loads(library.to_str())
    vocabulary = content["model"]["vocab"]
    pieces = [(piece, round(score, 4)) for piece, score in vocabulary[len(special) :]]
    pieces.sort(key=lambda x: (-x[1], x[0]))
    content["model"]["vocab"] = [*vocabulary[: len(special)], *pieces]
    return Tokenizer.from_str(json.dumps(content))


def byte_level(folder: Path, texts: Iterable[str], size: int = 600, spaced: bool = False) -> Path:
    """A folder with RoBERTa's tokenizer.json, vocab.json, merges.txt and tokenizer_config.json."""
    library = Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=spaced)
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(ROBERTA),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    library.train_from_iterator(texts, trainer)
    library.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    library.decoder = decoders.ByteLevel()
    library.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=spaced
    )
    folder.mkdir(exist_ok=True)
    library.save(str(folder / "tokenizer.json"))
    library.model.save(str(folder))
    config = {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": spaced} | _tokens(
        "<pad>", "<unk>", "<s>", "</s>", MASK
    )
    return _with_config(folder, config)


def sentence_pieces(
    folder: Path, texts: Iterable[str], size: int = 400, characters: bytes = b"", **options: bool
) -> Path:
    """A folder with ALBERT's tokenizer.json and tokenizer_config.json."""
    lowercase, accents = options.get("lowercase", True), options.get("keep_accents", False)
    steps = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
    if not accents:
        steps += [normalizers.NFKD(), normalizers.StripAccents()]
    if lowercase:
        steps.append(normalizers.Lowercase())
    if characters:
        steps.append(normalizers.Precompiled(characters))
    library = Tokenizer(models.Unigram())
    library.normalizer = normalizers.Sequence(steps)
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("▁", "always")]
    )
    library = train_unigram(library, texts, size, ALBERT)
    library.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    folder.mkdir(exist_ok=True)
    library.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "AlbertTokenizer",
        "do_lower_case": lowercase,
        "keep_accents": accents,
        **_tokens(*ALBERT),
    }
    return _with_config(folder, config)


def word_pieces(folder: Path, words: Iterable[str]) -> Path:
    """A folder with the tokenizer.json of MPNet: BERT's tokens between RoBERTa's marks."""
    names = ("<s>", "<pad>", "</s>", "[UNK]")
    vocabulary = {word: number for number, word in enumerate((*names, *words, "<mask>"))}
    library = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer(lowercase=True)
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.add_special_tokens(list(names))
    library.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    library.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False
    )
    library.decoder = decoders.WordPiece()
    folder.mkdir(exist_ok=True)
    library.save(str(folder / "tokenizer.json"))
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in vocabulary), "utf-8")
    config = {"tokenizer_class": "MPNetTokenizer", "do_lower_case": True} | _tokens(
        "<pad>", "[UNK]", "<s>", "</s>", MASK
    )
    return _with_config(folder, config)


def many_languages(folder: Path, texts: Iterable[str], size: int, family: str) -> Path:
    """A folder with the tokenizer.json of XLM-RoBERTa or CamemBERT, which are Unigrams."""
    names = {
        "xlm-roberta": ("XLMRobertaTokenizer", ["<s>", "<pad>", "</s>", "<unk>"]),
        "camembert": ("CamembertTokenizer", ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>"]),
    }
    tokenizer_class, initial = names[family]
    library = Tokenizer(models.Unigram())
    library.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(sentencepiece_charsmap({"~": "-"})),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("▁", "always")]
    )
    library = train_unigram(library, texts, size, initial)
    content = json.loads(library.to_str())
    content["model"]["vocab"] += [
        *([["<s>", 0.0], ["</s>", 0.0]] if family == "camembert" else []),
        ["<mask>", 0.0],
    ]
    library = Tokenizer.from_str(json.dumps(content))
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    if family == "camembert":
        special += ["<s>NOTUSED", "</s>NOTUSED"]
    library.add_special_tokens(special)
    library.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    begin, end = (library.token_to_id(name) for name in ("<s>", "</s>"))
    library.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", begin), ("</s>", end)],
    )
    library.decoder = decoders.Metaspace("▁", "always")
    folder.mkdir(exist_ok=True)
    library.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": tokenizer_class} | _tokens("<pad>", "<unk>", "<s>", "</s>", MASK)
    return _with_config(folder, config)


def byte_fallback(folder: Path, texts: Iterable[str], size: int = 300) -> Path:
    """A folder with a Unigram over whole texts that falls back to bytes.

    Japanese encoders are published like this, with LLaMA's class and an unused [CLS].
    """
    special = ("<unk>", "<s>", "</s>", "<pad>", "<sep>", "<mask>", "<cls>")
    trained = train_unigram(Tokenizer(models.Unigram()), texts, size, special)
    pieces = json.loads(trained.to_str())["model"]["vocab"][len(special) :]
    tokens = [(name, 0.0) for name in (*special, *(f"<0x{n:02X}>" for n in range(256)))]
    library = Tokenizer(models.Unigram([*tokens, *map(tuple, pieces)], 0, byte_fallback=True))
    library.normalizer = normalizers.Replace(" ", "▁")
    library.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    library.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    library.add_special_tokens(list(special))
    folder.mkdir(exist_ok=True)
    library.save(str(folder / "tokenizer.json"))
    named = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    unused = {"cls_token": "<cls>", "sep_token": "<sep>", "mask_token": "<mask>"}
    return _with_config(folder, {"tokenizer_class": "LlamaTokenizer"} | named | unused)


def sentencepiece_charsmap(pairs: dict[str, str]) -> bytes:
    """Replacements of characters in SentencePiece's form: a double array, then the texts.

    Only for keys of one ASCII character, which is enough to test the step.
    """
    texts, offsets = b"", {}
    for source, target in pairs.items():
        offsets[source] = len(texts)
        texts += target.encode() + b"\0"
    units = [0] * 512
    units[0] = 256 << 10  # the root: children at 256 ^ character
    for source, position in offsets.items():
        index = 256 ^ ord(source)
        child = 1 + len([u for u in units[1:256] if u])
        units[index] = ord(source) | 1 << 8 | (index ^ child) << 10  # has a leaf, at `child`
        units[child] = position | 1 << 31
    trie = b"".join(unit.to_bytes(4, "little") for unit in units)
    return len(trie).to_bytes(4, "little") + trie + texts


def _tokens(pad: Any, unknown: Any, cls: Any, sep: Any, mask: Any) -> dict[str, Any]:
    return {
        "pad_token": pad,
        "unk_token": unknown,
        "cls_token": cls,
        "sep_token": sep,
        "mask_token": mask,
        "bos_token": cls,
        "eos_token": sep,
    }


def _with_config(folder: Path, config: dict[str, Any]) -> Path:
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder
