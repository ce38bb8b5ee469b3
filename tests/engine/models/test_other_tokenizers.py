"""Networks with tokenizers of other families give the ids and logits of transformers."""

import json
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer

from engine.models.checkpoint import load, save
from tests.engine.models.family_folders import EXAMPLES, TEXTS, published_model
from tests.engine.tokenizers.published_tokenizers import byte_level, many_languages, train_unigram
from tests.engine.tokenizers.test_tokenizer_json import train_herbert

NAMES = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
LONG = {"max_position_embeddings": 300}
SCRIPTS = [
    "Die Straße führt über Øresund; où est-ce? Čeština, Żółw, İstanbul.",
    "Быстрая коричневая лиса — йод, Україна; ΒΕΡΤ μαθαίνει Ελληνικά.",
    "تعلّم الآلة في اللغة العربية، ١٢٣؟ فارسی می‌خوانم.",
    "שלום עולם! עִבְרִית",
    "机器学习很有趣。東京へ行きます、テストﾃｽﾄ。",
    "한국어 모델을 학습합니다. 한글",
    "हिन्दी में पढ़ना, বাংলা ভাষা, தமிழ் மொழி.",
    "ภาษาไทยไม่มีช่องว่าง ქართული ენა Հայերեն ትግርኛ",
    "e\u0301 é ① ½ ﬁ ＡＢＣ 🙂👩\u200d👧 \u00a0x\u200by",
]
INPUTS = [TEXTS[0], TEXTS[1], "an unseen thing <mask> [MASK]!"]


def _write(folder: Path, **config: object) -> None:
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")


def unigram(folder: Path) -> dict:
    """Like multilingual-e5: the Unigram of XLM-RoBERTa under a BERT."""
    tokenizer = LibraryTokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace("  ", " "), normalizers.Strip()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("▁", "always")
    tokenizer = train_unigram(tokenizer, TEXTS, 120, NAMES)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    keys = ("cls_token", "pad_token", "sep_token", "unk_token", "mask_token")
    tokens = dict(zip(keys, NAMES, strict=True))
    _write(folder, tokenizer_class="PreTrainedTokenizerFast", **tokens)
    return {"pad_token_id": 1}


def spaced_bpe(folder: Path) -> dict:
    """Like mmBERT: the BPE of Gemma, which falls back to bytes, under a ModernBERT."""
    names = ("<pad>", "<eos>", "<bos>", "<unk>", "<mask>")
    tokenizer = LibraryTokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    tokens = [*names, *(f"<0x{n:02X}>" for n in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=tokens, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A <eos>",
        pair="<bos> $A <eos> $B:1 <eos>:1",
        special_tokens=[("<bos>", 2), ("<eos>", 1)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    keys = ("pad_token", "eos_token", "bos_token", "unk_token", "mask_token")
    named = dict(zip(keys, names, strict=True)) | {"cls_token": "<bos>", "sep_token": "<eos>"}
    inputs = ["input_ids", "attention_mask"]
    _write(folder, tokenizer_class="PreTrainedTokenizerFast", model_input_names=inputs, **named)
    return {"pad_token_id": 0}


def word_end_bpe(folder: Path) -> dict:
    """Like HerBERT: a BPE whose tokens end words."""
    for file in train_herbert(folder / "made").iterdir():
        file.rename(folder / file.name)
    config = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
    names = ["input_ids", "token_type_ids", "attention_mask"]
    _write(folder, **config, model_input_names=names)
    return {"pad_token_id": 1}


def byte_level_bpe(folder: Path) -> dict:
    """RoBERTa's tokenizer with a BERT network."""
    byte_level(folder, TEXTS, 500)
    return {"pad_token_id": 1}


def wordpiece(folder: Path) -> dict:
    """Like KLUE: WordPiece under a RoBERTa, with RoBERTa's padding id."""
    tokenizer = LibraryTokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=200, special_tokens=names, show_progress=False, min_frequency=1
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 0))
    tokenizer.save(str(folder / "tokenizer.json"))
    _write(
        folder,
        tokenizer_class="BertTokenizer",
        do_lower_case=False,
        strip_accents=False,
        model_max_length=512,
    )
    return {"pad_token_id": 1, "type_vocab_size": 2}


def xlm_roberta(folder: Path) -> dict:
    """The Unigram of XLM-RoBERTa with its own network."""
    many_languages(folder, [*TEXTS, *SCRIPTS], 400, "xlm-roberta")
    return {}


def camembert(folder: Path) -> dict:
    """The Unigram of CamemBERT, whose special tokens have other ids."""
    many_languages(folder, [*TEXTS, *SCRIPTS], 400, "camembert")
    return {}


def xlm_roberta_unnamed(folder: Path) -> dict:
    """Like xlm-roberta-base: only tokenizer.json names the tokens."""
    many_languages(folder, [*TEXTS, *SCRIPTS], 400, "xlm-roberta")
    _write(folder, model_max_length=512)
    return {}


def cased_wordpiece(folder: Path) -> dict:
    """Like multilingual BERT: a cased WordPiece of every script."""
    tokenizer = LibraryTokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=500, special_tokens=names, show_progress=False, min_frequency=1
    )
    tokenizer.train_from_iterator([*TEXTS, *SCRIPTS[::2]], trainer)
    words = sorted(tokenizer.get_vocab().items(), key=lambda x: x[1])
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word, _ in words), "utf-8")
    _write(folder, tokenizer_class="BertTokenizer", do_lower_case=False)
    return {"pad_token_id": 0}


@pytest.mark.parametrize(
    "family,make_tokenizer",
    [
        ("bert", cased_wordpiece),
        ("xlm-roberta", xlm_roberta),
        ("xlm-roberta", xlm_roberta_unnamed),
        ("camembert", camembert),
        ("bert", unigram),
        ("bert", word_end_bpe),
        ("modernbert", spaced_bpe),
        ("bert", byte_level_bpe),
        ("roberta", wordpiece),
        ("distilbert", unigram),
        ("albert", wordpiece),
    ],
)
@torch.no_grad()
def test_ids_and_logits_equal_those_of_transformers(family, make_tokenizer, tmp_path):
    folder = tmp_path / "theirs"
    folder.mkdir()
    model = published_model(family, "ForMaskedLM", **LONG, **make_tokenizer(folder))
    model.save_pretrained(folder)
    published = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    loaded = load(folder)
    save(tmp_path / "ours", loaded.network, loaded.tokenizer)
    resaved = load(tmp_path / "ours")
    assert resaved.spec == loaded.spec
    reread = AutoTokenizer.from_pretrained(tmp_path / "ours", local_files_only=True)
    for first, second in (
        [(text, None) for text in (*INPUTS, *SCRIPTS)]
        + [(SCRIPTS[0], SCRIPTS[1])]
        + [(INPUTS[0], INPUTS[1])]
    ):
        inputs = published(first, second, return_tensors="pt")
        expected = model(**inputs).logits
        reencoded = reread(first, second, return_tensors="pt")
        assert reencoded["input_ids"].equal(inputs["input_ids"])
        if "token_type_ids" in inputs and EXAMPLES[family].has_segments:
            assert reencoded["token_type_ids"].equal(inputs["token_type_ids"])
        for ours in (loaded, resaved):
            encoded = ours.tokenizer.encode(first, second)
            assert encoded.ids == inputs["input_ids"][0].tolist()
            ids, segments = torch.tensor([encoded.ids]), torch.tensor([encoded.segments])
            actual = ours.network.mlm(ours.network.encode(ids, segments).last)
            assert torch.allclose(actual, expected, atol=1e-5)


@torch.no_grad()
def test_a_second_text_has_segment_0_if_the_network_has_no_other(tmp_path):
    folder = tmp_path / "theirs"
    folder.mkdir()
    settings = LONG | wordpiece(folder) | {"type_vocab_size": 1}
    model = published_model("roberta", "ForMaskedLM", **settings)
    model.save_pretrained(folder)
    loaded = load(folder)
    encoded = loaded.tokenizer.encode(INPUTS[0], INPUTS[1])
    ids, segments = torch.tensor([encoded.ids]), torch.tensor([encoded.segments])
    assert segments.any()
    actual = loaded.network.mlm(loaded.network.encode(ids, segments).last)
    assert torch.allclose(actual, model(input_ids=ids).logits, atol=1e-5)
