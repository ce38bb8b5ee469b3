"""Guess the role of each column, by name, else by content."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter

from engine.config.dataset import Mapping
from engine.config.joined_texts import template_columns
from engine.data.columns.answers import AnswerMismatch, parse_answers, respell_answers
from engine.data.columns.choices import guess_choices
from engine.data.columns.label_sets import (
    allows_blanks,
    count_label_sets,
    is_mark,
    is_option,
    other_separator,
    parse_flag,
)
from engine.data.columns.lists import parse_list, parse_texts
from engine.data.columns.names import plain_name
from engine.data.columns.numbers import parse_number
from engine.data.columns.periods import are_dates
from engine.data.columns.tags import are_spans, split_tags
from engine.data.columns.text_spans import cell_value, fits_text, parse_annotations
from engine.data.columns.words import split_words
from engine.phrases import phrase

PAIRS = (
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("text1", "text2"),
    ("texta", "textb"),
    ("sentencea", "sentenceb"),
    ("1string", "2string"),
    ("string1", "string2"),
    ("claim", "evidence"),
    ("question", "sentence"),
    ("question", "passage"),
    ("question", "context"),
    ("question", "paragraph"),
    ("question", "document"),
    ("question", "article"),
    ("question", "story"),
    ("context", "hypothesis"),
    ("query", "passage"),
    ("query", "document"),
    ("text", "pair"),
    ("text", "textpair"),
    ("anchor", "positive"),
    ("query", "positive"),
    ("question", "positive"),
    ("query", "pos"),
)
NEGATIVES = ("negative", "neg", "negative1", "hardnegative")
TEXTS = (
    *("text", "sentence", "review", "reviewtext", "content", "comment", "commenttext", "tweet"),
    *("sentence1", "premise", "question1", "text1", "texta", "sentencea", "1string", "string1"),
    *("sentence2", "hypothesis", "question2", "text2", "textb", "sentenceb", "2string", "string2"),
    *("body", "message", "document", "article", "news", "question", "questiontext", "utterance"),
    *("headline", "description", "abstract", "summary", "post", "statement", "snippet", "phrase"),
    *("query", "input", "passage", "claim", "title", "tokens", "words"),
    *("token", "word", "form"),
)
LABELS = (
    *("label", "labels", "class", "category", "quality", "target", "sentiment", "goldlabel"),
    *("isduplicate", "emotion", "topic", "intent", "polarity", "rating", "stars", "score"),
    *("similarity", "tag", "genre", "type", "y", "truth", "groundtruth", "gold", "goldstandard"),
)
LABEL_WORDS = (  # words of longer column names
    *("label", "class", "category", "judgment", "judgement", "gold"),
    *("sentiment", "emotion", "intent", "polarity"),
)
ANSWERS = ("answers", "answer", "answertext", "answerspan")  # with a question and a passage
TAGS = (
    *("tags", "nertags", "nertag", "ner", "bio", "biotag", "iob", "iobtag", "upos", "postags"),
    *("postag", "pos", "labels", "label", "tag", "entity", "entities", "wordlabels"),
)
MIN_FLAGS = 3  # fewer yes/no columns are labels only by name
MAX_LABEL_CHARACTERS = 60  # per cell
MAX_LABELS = 250
MAX_SET = 300  # characters of a cell with several labels
STRUCTURED = re.compile(r"\{|\[[\[({]")  # the start of an object, or of a list of them
NOTES = re.compile(
    r"(?<![a-z])(notes?|remarks?|memos?|rationales?|anmerkung(en)?|bemerkung(en)?|notizen?|remarques?"
    r"|notas?)(?![a-z])"
)
"""In the name of a column that coders write remarks in: it has neither the texts nor labels."""
POSITIONS = ("span", "offset", "position", "charspan", "toxicspan", "characteroffset", "charoffset")
MIN_WHOLE = 0.8  # of the spans begin and end at words; positions of words do not
MAX_DIGITS = 0.3  # fraction of the characters of a text; “Mon Apr 06 22:19:45 2009” has more


@dataclass(frozen=True)
class _Statistics:
    """Statistics of the first rows of a column."""

    name: str
    mean_length: float  # characters of a cell
    distinct_cells: int
    labels: int  # distinct labels, of which a cell may hold several
    values: int  # distinct cells that are not empty
    rows: int
    with_space: float  # fraction of cells with a space
    max_length: int
    is_scale: bool  # all cells are numbers, and some have a fraction
    digit_share: float  # of all characters
    is_structured: bool  # all cells are objects, or lists of lists or objects
    are_names: bool  # all of these have a text or a name, as those of several labels
    are_dates: bool

    @property
    def is_note(self) -> bool:
        """True if it is named like the remarks of a coder: “notes”, “note_1”, “Anna (remarks)”."""
        return NOTES.search(self.name.casefold()) is not None

    @property
    def is_text(self) -> bool:
        """True if it has words and few digits, unlike dates."""
        has_words = self.with_space >= 0.5 and self.mean_length >= 10 and not self.is_structured
        return has_words and self.digit_share < MAX_DIGITS

    @property
    def is_label(self) -> bool:
        is_few = self.labels <= max(2, min(MAX_LABELS, self.rows // 3))
        is_short = 0 < self.max_length <= MAX_LABEL_CHARACTERS or self.labels < self.distinct_cells
        is_read = self.are_names or not self.is_structured
        is_other = self.are_dates or self.is_note
        return is_few and is_short and is_read and self.rows > self.labels and not is_other


def guess_mapping(
    columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], text: str | None = None
) -> tuple[Mapping | None, tuple[str, ...]]:
    """Guess the mapping; returns it and the roles (text, label, flags) that are uncertain.

    `text` is the text column, if known. The mapping is None if no column looks like text.
    """
    if not columns:
        return None, ()
    text_column = text if text in columns else None
    statistics = _column_statistics(columns, rows)
    names = {plain_name(column): column for column in reversed(columns)}
    structured = {plain_name(item.name) for item in statistics if item.is_structured}
    known = next((p for p in PAIRS if names.keys() - structured >= {*p}), ())
    text, pair = (names[name] for name in known) if known else (None, None)
    if text is None:
        named = [names[name] for name in TEXTS if name in names.keys() - structured]
        tagged = (name for name in named if _find_tags(columns, names, rows, name))
        text = next(tagged, next(iter(named), None))
        if text is not None and text == names.get("title"):
            (length,) = (item.mean_length for item in statistics if item.name == text)
            is_short = any(item.is_text and item.mean_length > 3 * length for item in statistics)
            text = None if is_short else text
    if text_column not in (None, text):
        text, pair = text_column, None
    if text and pair is not None and (answers := _find_answers(names, pair, columns, rows)):
        return Mapping(text=text, pair=pair, answers=answers), ()
    choices = guess_choices(columns, rows)
    if choices is not None and text_column in (None, choices.text):
        return choices, ()
    guessed = ["text"] if text is None else []
    if text is None:
        text, pair = _guess_texts(statistics)
    if text is None:
        return None, ()
    tags = _find_tags(columns, names, rows, text)
    tags = tags or next(iter(span_columns(columns, rows, text)), None)
    if tags is not None:
        return Mapping(text=text, tags=tags), ()
    named, likely = _find_labels(columns, statistics, Mapping(text=text, pair=pair))
    scales = [item.name for item in statistics if item.is_scale and item.name not in (text, pair)]
    if all(item.values == 1 for item in statistics if item.name in likely):
        likely = [*scales, *likely]  # constant columns carry no information
    negative = None
    if pair is not None and pair == names.get("positive", names.get("pos")):
        negative = next((names[name] for name in NEGATIVES if name in names), None)
    label = next((name for name in (*named, *likely) if name != negative), None)
    if label is not None and not named:
        flags = flag_columns(columns, rows, Mapping(text=text, pair=pair))
        others = (item for item in statistics if item.name in likely and item.values > 1)
        cells = [{row[columns.index(name)] for row in rows} for name in flags]
        are_options = all(
            any(is_option(cell, name) for cell in column)
            for name, column in zip(flags, cells, strict=True)
        )
        if len(flags) >= (2 if are_options else MIN_FLAGS) and all(
            item.name in flags for item in others
        ):
            return Mapping(text=text, pair=pair, flags=flags), (*guessed, "flags")
        guessed.append("label")
    guess = Mapping(text=text, pair=pair, label=label, negative=negative)
    return guess, tuple(guessed) if len(columns) > 1 else ()


def guess_note(guessed: Collection[str]) -> str:
    """Note on the guessed columns; empty if there are none."""
    match tuple(guessed):
        case ():
            return ""
        case ("text",):
            return phrase("We guessed the text column from the data. Please check it.")
        case ("label",):
            return phrase("We guessed the label column from the data. Please check it.")
        case ("flags",):
            return phrase("We guessed the label columns from the data. Please check them.")
        case _:
            return phrase("We guessed the text and label columns from the data. Please check them.")


def flag_columns(
    columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], mapping: Mapping
) -> tuple[str, ...]:
    """Columns other than the texts of `mapping` that are yes or no in every row, or those that are
    marked in some, if these are more."""

    def is_flag(name: str, cells: set[str]) -> bool:
        filled = {cell for cell in cells if cell.strip()}
        has_blanks = len(filled) < len(cells)
        return (
            bool(filled)
            and all(parse_flag(cell, name) is not None for cell in filled)
            and (not has_blanks or allows_blanks(filled, name))
        )

    marked, plain = list[str](), list[str]()
    for index, column in enumerate(columns):
        cells = {row[index] for row in rows}
        if column not in mapping.texts and is_flag(column, cells):
            (marked if any(is_mark(cell, column) for cell in cells) else plain).append(column)
    return tuple(marked if len(marked) > len(plain) else plain)


def label_columns(
    columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], mapping: Mapping
) -> tuple[str, ...]:
    """Columns that may hold labels for the texts of `mapping`, likeliest first."""
    statistics = _column_statistics(columns, rows)
    named, likely = _find_labels(columns, statistics, mapping)
    texts = _text_sources(mapping)
    scales = [item.name for item in statistics if item.is_scale and item.name not in texts]
    return tuple(dict.fromkeys((*named, *likely, *scales)))


def _text_sources(mapping: Mapping) -> set[str]:
    """The columns of the texts, and those that they join."""
    return {name for text in mapping.texts for name in (text, *template_columns(text))}


def _find_labels(
    columns: tuple[str, ...], statistics: list[_Statistics], mapping: Mapping
) -> tuple[list[str], list[str]]:
    """Columns named like labels, and those that look like labels."""
    texts = _text_sources(mapping)
    candidates = [column for column in columns if column not in texts]
    plain = {plain_name(column): column for column in reversed(candidates)}
    structured = {item.name for item in statistics if item.is_structured and not item.are_names}
    named = [plain[name] for name in LABELS if name in plain and plain[name] not in structured]
    labels = [item for item in statistics if item.is_label and item.name not in texts]
    for name in [item.name for item in labels if item.name not in named]:
        words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)  # entailment_label, ClassName
        named += [name] if any(word.lower() in LABEL_WORDS for word in words) else []
    index = next((n for n, column in enumerate(columns) if column in texts), 0)
    likely = sorted(  # columns that vary first, then by distance from the text
        labels,
        key=lambda item: (item.values == 1, abs(columns.index(item.name) - index), item.name),
    )
    return named, [item.name for item in likely]


def _find_answers(
    names: dict[str, str], passage: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> str | None:
    """The answer column, if most of its cells are found in the passage."""
    column = find_answer_column(names)
    if column is None:
        return None
    cell, text = columns.index(column), columns.index(passage)
    matches = 0
    for row in rows:
        try:
            parse_answers(row[cell], row[text])
        except AnswerMismatch:
            matches += respell_answers(row[cell], row[text]) is not None
        else:
            matches += 1
    return column if 2 * matches > len(rows) else None


def find_answer_column(names: dict[str, str]) -> str | None:
    """The column named like answers; `names` are columns by plain name."""
    return next((names[name] for name in ANSWERS if name in names), None)


def _column_statistics(
    columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> list[_Statistics]:
    statistics = []
    for index, name in enumerate(columns):
        cells = [row[index] for row in rows]
        count, characters = max(len(cells), 1), sum(map(len, cells))
        labels = {*cells}
        if max(map(len, cells), default=0) <= MAX_SET:
            other = other_separator(labels)
            sets = count_label_sets(Counter(cells))
            single = {cell for cell in labels if not other or other not in cell}
            labels = min(labels, single, {*(sets or labels)}, key=len)
        numbers = [number for number in map(parse_number, cells) if number is not None]
        fractions = [number for number in numbers if not number.is_integer()]
        has_positions = are_positions(name, cells)
        digit_share = sum(map(str.isdigit, "".join(cells))) / max(characters, 1)
        statistics.append(
            _Statistics(
                name=name,
                mean_length=characters / count,
                distinct_cells=len(set(cells)),
                labels=len(labels),
                values=len({cell for cell in cells if cell.strip()}),
                rows=len(cells),
                with_space=sum(" " in cell.strip() for cell in cells) / count,
                max_length=max(map(len, cells), default=0),
                is_scale=len(numbers) == sum(map(bool, map(str.strip, cells))) and bool(fractions),
                is_structured=has_positions
                or (
                    any(map(STRUCTURED.match, cells))
                    and all(STRUCTURED.match(cell) or cell in ("", "[]") for cell in cells)
                ),
                are_names=not has_positions
                and any(map(STRUCTURED.match, cells))
                and all(parse_texts(cell) is not None for cell in cells if cell),
                digit_share=digit_share,
                are_dates=digit_share >= MAX_DIGITS and not numbers and are_dates(cells),
            )
        )
    return statistics


def are_positions(name: str, cells: Sequence[str]) -> bool:
    """True for positions in a text: pairs of numbers, or numbers in a column named like spans."""
    filled = [cell for cell in cells if cell.strip(" []")]
    is_named = plain_name(name).removesuffix("s") in POSITIONS
    lists = (parse_list(cell) if cell.startswith("[") else None for cell in filled)
    return bool(filled) and all(_are_positions(items, is_named) for items in lists)


def _are_positions(items: object, is_named: bool) -> bool:
    if not isinstance(items, list):
        return False
    pairs = [item for item in items if isinstance(item, list | tuple) and len(item) == 2]
    numbers = [*items] if is_named and not pairs else [end for pair in pairs for end in pair]
    is_whole = len(pairs) in (0, len(items)) and bool(numbers)
    return is_whole and all(str(number).isdecimal() for number in numbers)


def _find_tags(
    columns: tuple[str, ...], names: dict[str, str], rows: Sequence[tuple[str, ...]], text: str
) -> str | None:
    """A column named like tags that has one tag per word in every row; with spans, if one has."""
    candidates = [names[name] for name in TAGS if name in names and names[name] != text]
    if not candidates:
        return None
    index = columns.index(text)
    words = [len(split_words(row[index])) for row in rows]
    if max(words, default=0) < 2:
        return None
    fitting = []
    for name in candidates:
        tags = [split_tags(row[columns.index(name)]) for row in rows]
        counts = list(zip(map(len, tags), words, strict=True))
        if any(map(len, tags)) and all(tag_count in (0, count) for tag_count, count in counts):
            fitting += [(not are_spans(chain.from_iterable(tags)), name)]
    return min(fitting, key=itemgetter(0))[1] if fitting else None


def span_columns(
    columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], text: str
) -> tuple[str, ...]:
    """Columns with spans of the characters of a text."""
    place, found = columns.index(text), list[str]()
    for index, name in enumerate(columns):
        filled = [row for row in rows if row[index].strip(" []")] if index != place else []
        values = [parse_annotations(cell_value(row[index])) for row in filled]
        fit = [
            fits_text(row[place], *span)
            for row, spans in zip(filled, values, strict=True)
            for span in spans or ()
        ]
        if fit and None not in values and sum(fit) >= MIN_WHOLE * len(fit):
            found.append(name)
    return tuple(found)


def _guess_texts(statistics: list[_Statistics]) -> tuple[str | None, str | None]:
    """The only two columns of text, or the longest one."""
    both = [item for item in statistics if item.is_text and not item.is_label]
    texts = [item for item in both if not item.is_note] or both
    lengths = [item.mean_length for item in texts]
    if len(texts) == 2 and min(lengths) >= 0.3 * max(lengths):
        return texts[0].name, texts[1].name
    if texts:
        return max(texts, key=lambda item: item.mean_length).name, None
    if len(statistics) == 1 and not statistics[0].is_structured:
        return statistics[0].name, None
    if any(item.is_structured for item in statistics):
        return None, None
    others = [item for item in statistics if not item.is_label]
    others = [item for item in others if item.mean_length > 0]
    return (max(others, key=lambda item: item.mean_length).name, None) if others else (None, None)
