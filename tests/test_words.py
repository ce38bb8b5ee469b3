"""User-facing texts use the terms of the help's glossary."""

import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tools import texts

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = ROOT / "resources" / "help" / "glossary.md"
TITLE = re.compile(r"\*[^*\n]+\*")  # of a paper
NAMES = (  # former names in code for things that have an established term
    *("Ragged", "ragged", "PlacedWords", "forgetting", "chance_targets", "judge", "judged_by"),
    *("Tally", "figures_of", "made_up", "Steering", "News", "Wish", "Hands", "Errand", "Channel"),
    *("Asking", "Shelf", "Spare", "LaidOut", "PAUSE", "LONGEST", "MOST", "FEW", "NAMED", "KEPT"),
    *("HeadKind", "patience", "micro_batch", "layer_decay", "pair_draws", "head_start"),
    *("longest_input", "whole_words", "dev_rows", "going_on", "go_on", "certificate"),
)
AVOIDED = {  # term of the glossary → words that texts must not use instead
    "Resume": "go on, goes on",
    "Token": "word piece, word pieces, piece, pieces",
    "Max. length (tokens)": "longest input",
    "Training, validation and test set": "dev rows, dev set, dev examples, dev share",
    "Evaluate": "judges, judged, judging",
    "Early stopping": "ended early, in vain, patience",
    "Gradient clipping (max. norm)": "longest gradient, gradient clip",
    "Snapshot": "film of the weights",
    "Layer-wise learning-rate decay": "layer-wise decay",
    "Fraction of the training data": "share of the data, quick look",
    "Random seed": "decides all chance",
    "Masking probability": "masked share",
    "Replaced by [MASK], by a random token, kept": "shown as another word",
    "Next-sentence prediction (NSP)": "true pairs, draws of pairs",
    "Warm initialisation": "head start",
    "Feature extraction, probe": "reader",
    "Layer probing sweep": "layer bench",
    "Intermediate size": "feed-forward width",
    "Initializer range": "initial spread",
    "Multi-label classification": "give several labels, several labels at once",
    "Regression": "guess a number",
    "Token classification": "tag words",
    "Extractive question answering": "answer questions",
    "Multiple choice": "choose an ending, choose endings",
    "Exact match (subset accuracy)": "all right",
    "fp32, bf16, fp16, int8": "shorter numbers",
    "Prediction": "guess, guesses",
    "Mask, unmask": "hidden word, hidden words, hide a word",
    "Attention: query token, key token": "looks at, look at, looked at",
    "Attention weights, value-weighted norms, head average, attention rollout": (
        "norms of what is taken"
    ),
    "Attention threshold": "share of the attention",
    "Missing, not used": "newly made, left over",
    "Reproducibility": "certificate",
    "Random split, stratify": "by chance, keep the balance, dealt",
    "Base model, from scratch": "use as start",
    "Force stop": "end at once",
    "Undo": "take back, bring back",
    "Open in Explore": "look inside",
}

REFUSED = (  # pattern, a text that it refuses, a similar text that is fine
    (
        r"(?<!\{)\b(?:goes on|lies|told|whatever|whoever|beside|anew|likewise|nobody)\b",
        "The base model lies beside it.",
        "The base model is next to the adapter.",
    ),
    (r"(?<!\{)\bgold\b(?![`},])", "Gold label", "True label “{gold}”"),
    (r"\bper cents?\b|\d%(?!\})", "In per cent, such as 5%", "Percentages, such as 5 %"),
    (
        r"\b(?:is|are|gets?) right\b|\bright (?:now\b|choice|class)|\{\d\} right",
        "{0} are right",
        "causal (left to right)",
    ),
    (
        r"\bnearly (?:equal|in the|the)\b|\bnear duplicate",
        "nearly in the training set",
        "near-duplicates",
    ),
    (r"\b(?:the|this|a) processor\b", "on the processor", "on the CPU"),
    (r"\bshares? of\b", "Share of the rows", "Layers share their weights"),
    (r"times the (?:usual|running)", "9 times the usual", "9 × the running median"),
    (r"^(?:leave|drop|move) them\b", "Leave them out", "Skip these rows"),
    (r"\bheads? (?:that are |are )?(?:switched )?off\b", "2 heads switched off", "2 heads ablated"),
    (
        r"worse than elsewhere|which (?:rows|texts) are meant",
        "which rows are meant",
        "as it was meant",
    ),
)
SENTENCES = re.compile(
    r"(?:What|Which|Whether|How|Why|Are|Is|Do|Does) (?!not |would you like|is this\?)"
)


def terms() -> list[str]:
    lines = GLOSSARY.read_text(encoding="utf-8").splitlines()
    rows = [line.strip("|").split("|") for line in lines if line.startswith("| ")]
    return [row[0].strip() for row in rows[2:]]  # without header and rule


def avoided_words() -> list[str]:
    return [word for words in AVOIDED.values() for word in words.split(", ")]


def avoided_pattern() -> re.Pattern[str]:
    words = sorted(avoided_words(), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, words))})(?![\w-])", re.IGNORECASE)


def user_texts() -> Iterator[tuple[str, str]]:
    """Locations and texts of the window, the engine, fields, commands and the help."""
    for text in texts.collect():
        location = ":".join(map(str, text.places[0]))
        if "glossary.md" not in location:
            yield location, text.source


def test_texts_use_the_terms_of_the_glossary():
    pattern = avoided_pattern()
    uses = [
        f"{location}: “{m[0]}” in: {text}"
        for location, text in user_texts()
        for m in pattern.finditer(TITLE.sub("", text))
    ]
    assert not uses, "\n".join(uses)


def test_texts_and_documents_use_the_words_of_the_field():
    documents = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
    found = [*user_texts(), *((file.name, file.read_text("utf-8")) for file in documents)]
    for refused, wrong, fine in REFUSED:
        pattern = re.compile(refused, re.IGNORECASE)
        assert pattern.search(wrong) and not pattern.search(fine), refused
        uses = [
            f"{location}: “{m[0]}” in: {text[max(0, m.start() - 40) : m.end() + 40]}"
            for location, text in found
            for m in pattern.finditer(TITLE.sub("", text))
        ]
        assert not uses, "\n".join(uses)


def test_texts_of_the_window_are_no_questions_or_subordinate_clauses():
    assert SENTENCES.match("Is this run reproducible?") and SENTENCES.match("What every head does")
    assert not SENTENCES.match("Whole-word masking") and not SENTENCES.match("Delete “{0}”?")
    help_pages = GLOSSARY.parent.glob("*.md")
    subtitles = [file.read_text("utf-8").partition("\n\n")[0] for file in help_pages]
    app = [text.source for text in texts.collect() if text.context == "app"]
    assert not [text for text in (*app, *subtitles) if SENTENCES.match(text)]


def test_texts_of_every_kind_are_collected():
    collected = {text.source: text for text in texts.collect()}
    assert collected["Runs"].context == "app"
    assert "{where}: {problem}" in collected, "from engine errors"
    assert collected["Weight decay"].context == "settings"
    assert "# Attention" in collected, "from the help"
    assert any(text.context == "command line" for text in collected.values())
    assert all(text.source.strip() for text in collected.values())
    assert all(len(text.places) == len(set(text.places)) for text in collected.values())
    assert len(collected) > 1500


def test_former_names_are_not_used_in_code():
    refused_names = re.compile(rf"\b({'|'.join(NAMES)})\b")
    uses = list[str]()
    for file in sorted([*(ROOT / "app").rglob("*.py"), *(ROOT / "engine").rglob("*.py")]):
        if not refused_names.search(file.read_text("utf-8")):
            continue  # tokenizing is slow
        with tokenize.open(file) as code:
            uses += [
                f"{file.relative_to(ROOT)}:{token.start[0]}: {token.string}"
                for token in tokenize.generate_tokens(code.readline)
                if token.type == tokenize.NAME and token.string in NAMES
            ]
    assert not uses, "\n".join(uses)


def test_glossary_terms_are_unique_and_not_refused():
    glossary = [term.casefold() for term in terms()]
    assert glossary and len(set(glossary)) == len(glossary)
    assert {term.casefold() for term in AVOIDED} <= set(glossary)
    assert len(set(avoided_words())) == len(avoided_words())
    pattern = avoided_pattern()
    assert not [term for term in glossary if pattern.search(term)]
