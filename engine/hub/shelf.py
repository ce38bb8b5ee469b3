"""The shelf: a curated list of encoders on the hub.

Sizes and licences are from the models' pages on the hub; the number of parameters follows from the
sizes of the network, and a test compares it with the published size of the weights. An entry is
offered if its family can be loaded.
"""

from dataclasses import dataclass, field
from typing import Any

from engine.checkpoints.outline import outline, parameters
from engine.config.families import FAMILIES
from engine.config.model import EncoderSpec
from engine.phrases import Phrase, phrase

MB = 1_000_000  # bytes
MAX_NAMED = 3  # displayed languages of a model; others are counted


@dataclass(frozen=True)
class ShelfEntry:
    """A model of the hub.

    Args:
        name: owner and name on the hub.
        title: displayed name.
        group: a key of GROUPS.
        languages: ISO 639 codes; “mul”: about a hundred.
        licence: as on its page.
        megabytes: of the weights, as on its page.
        good_for: in a few words.
        family: a key of FAMILIES, or a future one.
        sizes: differences of its spec from the base one of its family.
        pooled: True if the weights have a pooler, which other programs count, too.
        half: True if the weights are stored in two bytes each.
    """

    name: str
    title: str
    group: str
    languages: tuple[str, ...]
    licence: str
    megabytes: float
    good_for: Phrase
    family: str = "bert"
    sizes: dict[str, Any] = field(default_factory=dict)
    pooled: bool = True
    half: bool = False

    @property
    def is_offered(self) -> bool:
        """True if its family can be loaded."""
        return self.family in FAMILIES

    @property
    def spec(self) -> EncoderSpec:
        """Its network. Raises KeyError if its family cannot be loaded."""
        return FAMILIES[self.family].spec(**self.sizes)

    @property
    def max_length(self) -> int:
        """Maximum tokens of an input."""
        return self.spec.max_positions

    @property
    def parameters(self) -> int:
        """Parameters of the encoder, without a head."""
        return parameters(outline(self.spec, ("pooler",) if self.pooled else ()))

    @property
    def bytes(self) -> int:
        """Size of the downloaded weights."""
        return round(self.megabytes * MB)


GROUPS: dict[str, Phrase] = {
    "english": phrase("English"),
    "multilingual": phrase("Many languages"),
    "languages": phrase("One language"),
    "fields": phrase("One field"),
    "sentences": phrase("Sentences and search"),
}


LANGUAGES: dict[str, Phrase] = {
    "ar": phrase("Arabic"),
    "de": phrase("German"),
    "en": phrase("English"),
    "es": phrase("Spanish"),
    "fr": phrase("French"),
    "it": phrase("Italian"),
    "ja": phrase("Japanese"),
    "ko": phrase("Korean"),
    "pt": phrase("Portuguese"),
    "tr": phrase("Turkish"),
    "zh": phrase("Chinese"),
}


def _small(width: int, layers: int, vocabulary: int) -> dict[str, int]:
    return {
        "hidden_size": width,
        "layers": layers,
        "intermediate_size": 4 * width,
        "vocab_size": vocabulary,
    }


def _vocabulary(size: int) -> dict[str, int]:
    return {"vocab_size": size}


LARGE = {"hidden_size": 1024, "layers": 24, "heads": 16, "intermediate_size": 4096}
ROBERTA = {"vocab_size": 50265}
DEBERTA = {"vocab_size": 128100, "absolute_positions": False, "position_buckets": 256}

SHELF = (
    # ── English, from small to large ─────────────────────────────────────────────────────────
    ShelfEntry(
        "google/bert_uncased_L-2_H-128_A-2", "BERT tiny", "english", ("en",), "apache-2.0", 17.7,
        phrase("quick trials: minutes instead of hours"),
        sizes={**_small(128, 2, 30522), "heads": 2},
    ),
    ShelfEntry(
        "google/bert_uncased_L-4_H-512_A-8", "BERT small", "english", ("en",), "apache-2.0", 116,
        phrase("machines without a GPU"),
        sizes={**_small(512, 4, 30522), "heads": 8},
    ),
    ShelfEntry(
        "distilbert/distilbert-base-uncased", "DistilBERT", "english", ("en",), "apache-2.0", 268,
        phrase("most tasks: close to BERT, in half the time"),
        "distilbert", {"layers": 6}, pooled=False,
    ),
    ShelfEntry(
        "google-bert/bert-base-uncased", "BERT base, uncased", "english", ("en",), "apache-2.0",
        440, phrase("the standard baseline"),
    ),
    ShelfEntry(
        "google-bert/bert-base-cased", "BERT base, cased", "english", ("en",), "apache-2.0", 436,
        phrase("names and other tags, where capital letters count"), sizes=_vocabulary(28996),
    ),
    ShelfEntry(
        "google-bert/bert-large-uncased", "BERT large, uncased", "english", ("en",), "apache-2.0",
        1344, phrase("slightly better than base, at a third of the speed"), sizes=LARGE,
    ),
    ShelfEntry(
        "distilbert/distilroberta-base", "DistilRoBERTa", "english", ("en",), "apache-2.0", 331,
        phrase("most tasks, cased, in half the time of RoBERTa"),
        "roberta", {"layers": 6, **ROBERTA}, pooled=False,
    ),
    ShelfEntry(
        "FacebookAI/roberta-base", "RoBERTa base", "english", ("en",), "mit", 499,
        phrase("classification and questions: better than BERT of its size"),
        "roberta", ROBERTA, pooled=False,
    ),
    ShelfEntry(
        "FacebookAI/roberta-large", "RoBERTa large", "english", ("en",), "mit", 1422,
        phrase("the best scores, if there is a GPU"),
        "roberta", {**LARGE, **ROBERTA}, pooled=False,
    ),
    ShelfEntry(
        "albert/albert-base-v2", "ALBERT base", "english", ("en",), "apache-2.0", 47.4,
        phrase("little disk space; as slow as BERT base"),
        "albert", _vocabulary(30000),
    ),
    ShelfEntry(
        "google/electra-small-discriminator", "ELECTRA small", "english", ("en",), "apache-2.0",
        54.2, phrase("an eighth of BERT base, and better than others of its size"),
        "electra", {"hidden_size": 256, "heads": 4, "intermediate_size": 1024}, pooled=False,
    ),
    ShelfEntry(
        "google/electra-base-discriminator", "ELECTRA base", "english", ("en",), "apache-2.0", 440,
        phrase("classification and questions: better than BERT, and as fast"),
        "electra", {"embedding_size": 768}, pooled=False,
    ),
    ShelfEntry(
        "microsoft/deberta-v3-small", "DeBERTa v3 small", "english", ("en",), "mit", 286,
        phrase("most tasks: better than BERT base, with half of its layers"),
        "deberta-v2", {**DEBERTA, "layers": 6}, pooled=False, half=True,
    ),
    ShelfEntry(
        "microsoft/deberta-v3-base", "DeBERTa v3 base", "english", ("en",), "mit", 371,
        phrase("the best scores of a base model; slower than BERT"),
        "deberta-v2", DEBERTA, pooled=False, half=True,
    ),
    ShelfEntry(
        "answerdotai/ModernBERT-base", "ModernBERT base", "english", ("en",), "apache-2.0", 599,
        phrase("long texts, up to 8,192 tokens, and code"), "modernbert",
        {"vocab_size": 50368, "layers": 22, "intermediate_size": 1152}, pooled=False,
    ),
    # ── many languages ───────────────────────────────────────────────────────────────────────
    ShelfEntry(
        "google-bert/bert-base-multilingual-cased", "Multilingual BERT", "multilingual", ("mul",),
        "apache-2.0", 714, phrase("104 languages, also several in one data set"),
        sizes=_vocabulary(119547),
    ),
    ShelfEntry(
        "distilbert/distilbert-base-multilingual-cased", "Multilingual DistilBERT", "multilingual",
        ("mul",), "apache-2.0", 542, phrase("104 languages, in half the time"),
        "distilbert", {"layers": 6, "vocab_size": 119547}, pooled=False,
    ),
    ShelfEntry(
        "FacebookAI/xlm-roberta-base", "XLM-RoBERTa base", "multilingual", ("mul",), "mit", 1116,
        phrase("100 languages; better than multilingual BERT, and larger"),
        "xlm-roberta", _vocabulary(250002), pooled=False,
    ),
    ShelfEntry(
        "google/muril-base-cased", "MuRIL", "multilingual",
        ("as", "bn", "en", "gu", "hi", "kn", "ml", "mr", "ne", "or", "pa", "ta", "te", "ur"),
        "apache-2.0", 953, phrase("17 languages of India, also in Latin letters"),
        sizes=_vocabulary(197285),
    ),
    # ── one language ─────────────────────────────────────────────────────────────────────────
    ShelfEntry(
        "deepset/gbert-base", "GBERT", "languages", ("de",), "mit", 442, phrase("German texts"),
        sizes=_vocabulary(31102),
    ),
    ShelfEntry(
        "almanach/camembert-base", "CamemBERT", "languages", ("fr",), "mit", 445,
        phrase("French texts"), "camembert", _vocabulary(32005), pooled=False,
    ),
    ShelfEntry(
        "PlanTL-GOB-ES/roberta-base-bne", "RoBERTa BNE", "languages", ("es",), "apache-2.0", 499,
        phrase("Spanish texts, from the web archive of the national library"),
        "roberta", {"vocab_size": 50262}, pooled=False,
    ),
    ShelfEntry(
        "dbmdz/bert-base-italian-cased", "Italian BERT", "languages", ("it",), "mit", 442,
        phrase("Italian texts"), sizes=_vocabulary(31102),
    ),
    ShelfEntry(
        "neuralmind/bert-base-portuguese-cased", "BERTimbau", "languages", ("pt",), "mit", 438,
        phrase("Portuguese texts"), sizes=_vocabulary(29794),
    ),
    ShelfEntry(
        "dbmdz/bert-base-turkish-cased", "BERTurk", "languages", ("tr",), "mit", 445,
        phrase("Turkish texts"), sizes=_vocabulary(32000),
    ),
    ShelfEntry(
        "google-bert/bert-base-chinese", "Chinese BERT", "languages", ("zh",), "apache-2.0", 412,
        phrase("Chinese texts, character by character"), sizes=_vocabulary(21128),
    ),
    ShelfEntry(
        "hfl/chinese-roberta-wwm-ext", "Chinese BERT, whole words", "languages", ("zh",),
        "apache-2.0", 412, phrase("Chinese texts; masked by whole words, with more of them"),
        sizes=_vocabulary(21128),
    ),
    ShelfEntry(
        "sbintuitions/modernbert-ja-30m", "Japanese ModernBERT, small", "languages", ("ja",), "mit",
        148, phrase("Japanese texts, also long ones and without a GPU"), "modernbert",
        {**_small(256, 10, 102400), "heads": 4}, pooled=False,
    ),
    ShelfEntry(
        "klue/bert-base", "KLUE BERT", "languages", ("ko",), "cc-by-sa-4.0", 445,
        phrase("Korean texts"), sizes=_vocabulary(32000),
    ),
    ShelfEntry(
        "CAMeL-Lab/bert-base-arabic-camelbert-mix", "CAMeLBERT", "languages", ("ar",), "apache-2.0",
        439, phrase("Arabic texts: standard, dialects and classical"), sizes=_vocabulary(30000),
    ),
    # ── one field ────────────────────────────────────────────────────────────────────────────
    ShelfEntry(
        "microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract-fulltext", "BiomedBERT", "fields",
        ("en",), "mit", 440, phrase("biomedicine: papers of PubMed"),
    ),
    ShelfEntry(
        "emilyalsentzer/Bio_ClinicalBERT", "ClinicalBERT", "fields", ("en",), "mit", 436,
        phrase("medicine: notes of hospitals"), sizes=_vocabulary(28996),
    ),
    ShelfEntry(
        "nlpaueb/legal-bert-base-uncased", "LEGAL-BERT", "fields", ("en",), "cc-by-sa-4.0", 440,
        phrase("law: legislation, court cases, contracts"),
    ),
    ShelfEntry(
        "nlpaueb/sec-bert-base", "SEC-BERT", "fields", ("en",), "cc-by-sa-4.0", 439,
        phrase("finance: annual reports of companies"), sizes=_vocabulary(30000),
    ),
    ShelfEntry(
        "microsoft/unixcoder-base", "UniXcoder", "fields", ("en",), "apache-2.0", 504,
        phrase("source code in six languages, and its documentation"),
        "roberta",
        {"vocab_size": 51416, "max_positions": 1024, "segments": 10},
    ),
    # ── sentences ────────────────────────────────────────────────────────────────────────────
    ShelfEntry(
        "sentence-transformers/all-MiniLM-L6-v2", "MiniLM L6", "sentences", ("en",), "apache-2.0",
        90.9, phrase("similar sentences, at five times the speed of BERT base"),
        sizes=_small(384, 6, 30522),
    ),
    ShelfEntry(
        "BAAI/bge-small-en-v1.5", "BGE small", "sentences", ("en",), "mit", 133,
        phrase("search: which passage answers a question"), sizes=_small(384, 12, 30522),
    ),
    ShelfEntry(
        "sentence-transformers/all-mpnet-base-v2", "MPNet", "sentences", ("en",), "apache-2.0", 438,
        phrase("similar sentences, the most accurate of its size"), "mpnet",
    ),
    ShelfEntry(
        "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", "Multilingual MiniLM",
        "sentences", ("mul",), "apache-2.0", 471, phrase("similar sentences in 50 languages"),
        sizes=_small(384, 12, 250037),
    ),
    ShelfEntry(
        "nomic-ai/nomic-embed-text-v1.5", "Nomic Embed", "sentences", ("en",), "apache-2.0", 547,
        phrase("search in long texts, of up to 2,048 tokens"), "nomic_bert",
        _vocabulary(30528), pooled=False,
    ),
    ShelfEntry(
        "intfloat/multilingual-e5-small", "Multilingual E5 small", "sentences", ("mul",), "mit",
        471, phrase("search in about a hundred languages"), sizes=_small(384, 12, 250037),
    ),
)  # fmt: skip
OFFERED = tuple(entry for entry in SHELF if entry.is_offered)


def find_entry(name: str) -> ShelfEntry | None:
    """The entry of a model by its name on the hub, or by the last part of it."""
    folded = name.casefold()
    exact = next((entry for entry in OFFERED if entry.name.casefold() == folded), None)
    parts = [entry for entry in OFFERED if entry.name.casefold().rpartition("/")[2] == folded]
    return exact or (parts[0] if len(parts) == 1 else None)
