"""Sentence splitting by rules, for sentence pairs.

The word before a full stop decides if it ends a sentence, and the shape of the lines decides if a
line end does. Languages without a list of abbreviations are cut at every stop.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CLOSING = "\"'”’»)\\]"
STOP = re.compile(
    rf"([.!?…][{CLOSING}]{{0,2}})\s+(?=[\"'“‘«(\[_*—-]*[^\W_a-zà-öø-ÿ])|([。！？][”’」』）]?)\s*"
)
WORD = re.compile(r"[^\s(\[{“‘\"'«—]+$")  # before a stop, without an opening quote
NEVER_LAST = _words(  # abbreviations that precede a name or an explanation
    """mr mrs ms mx dr prof rev revd hon gen col lt capt cmdr sgt cpl pvt pfc maj adm sen sens rep
    reps gov pres messrs mme mlle mlles st mt ft ste fr sr sra srta dra dña hr frau hrn bros
    e.g i.e eg ie cf viz vs v approx ca resp z.b d.h u.a bzw vgl ggf sog p.ex et al"""
)
BEFORE_NUMBER = _words(
    """no nos nr vol vols p pp fig figs art arts sec sect ch chap eq ex par para pt op lib cap ver
    jan feb mar apr jun jul aug sep sept oct nov dec"""
)
WITHIN_NAMES = _words("inc ltd co corp jr sr ph.d")
SENTENCE_STARTS = _words(  # words that rarely continue a name
    """the a an this that these those there then it its he she they we you i his her their our my
    in on at for from with by to of as if when while where what who how why but and or so yet not
    no after before since although though however meanwhile also"""
)
INITIALS = re.compile(r"([^\W\d_]\.)+[^\W\d_]")  # without the last stop: U.S, J.C
NUMBER = re.compile(r"[\"“(\[]*(\d|[IVXLC]+\b)")
MIN_WRAPPED_WIDTH = 30  # characters
FULL_WIDTH, FULL_LINES = 0.5, 0.8  # full lines: fraction of the width, and of the lines
LOWER_FRACTION = 0.4  # of line ends within sentences precede a lower-case letter


def sentences(document: str) -> list[str]:
    """Split a document into sentences, without surrounding white space.

    In text wrapped at a width, a paragraph is one text. In other text, a line ends its sentence
    unless the next line continues it in lower case; an empty line always does.
    """
    paragraphs = [list(lines) for lines in _paragraphs(document)]
    wrapped = _is_wrapped(paragraphs)
    result: list[str] = []
    for lines in paragraphs:
        for text in map(_join_lines, [lines] if wrapped else _join_continued(lines)):
            result += _split_sentences(text)
    return result


def _paragraphs(document: str) -> Iterator[list[str]]:
    lines: list[str] = []
    for line in (*document.splitlines(), ""):
        text = line.strip()
        if text:
            lines.append(text)
        elif lines:
            yield lines
            lines = []


def _is_wrapped(paragraphs: Sequence[Sequence[str]]) -> bool:
    """True if lines end because they are full.

    Then lines have about the same width, those that end within a sentence are often followed by a
    lower-case letter, and paragraphs end with a stop.
    """
    multi_line = [lines for lines in paragraphs if len(lines) > 1]
    pairs = [pair for lines in multi_line for pair in pairwise(lines)]
    lengths = sorted(len(line) for line, _ in pairs)
    width = lengths[len(lengths) * 9 // 10] if lengths else 0
    if width < MIN_WRAPPED_WIDTH:
        return False
    full_lines = sum(length >= FULL_WIDTH * width for length in lengths)
    continuations = [after[0].islower() for line, after in pairs if not _ends_sentence(line)]
    stops = sum(_ends_sentence(lines[-1]) for lines in multi_line)
    return (
        full_lines >= FULL_LINES * len(pairs)
        and any(continuations)
        and sum(continuations) >= LOWER_FRACTION * len(continuations)
        and 2 * stops >= len(multi_line)
    )


def _join_continued(lines: Sequence[str]) -> list[list[str]]:
    """Join lines that continue in lower case, in a paragraph that is not known to be wrapped.

    If the last line has no stop, none may have one, and the case of the next line says nothing.
    """
    runs = [[lines[0]]]
    for line, after in pairwise(lines):
        continues = after[0].islower() and not _ends_sentence(line) and _ends_sentence(lines[-1])
        if continues:
            runs[-1].append(after)
        else:
            runs.append([after])
    return runs


def _ends_sentence(line: str) -> bool:
    return line.rstrip("\"'”’»)]_*")[-1:] in tuple(".!?…:;。！？")


def _join_lines(lines: Sequence[str]) -> str:
    """Join lines, including words split at a hyphen."""
    text = lines[0]
    for line in lines[1:]:
        is_hyphenated = text[-1] == "-" and text[-2:-1].isalpha() and line[0].islower()
        text += line if is_hyphenated else f" {line}"
    return text


def _split_sentences(text: str) -> list[str]:
    parts, start = [], 0
    for stop in STOP.finditer(text):
        end = stop.end(stop.lastindex or 0)
        if _is_sentence_end(text[start:end], text[stop.end() : stop.end() + 40]):
            parts.append(text[start:end].strip())
            start = stop.end()
    parts.append(text[start:].strip())
    return [sentence for sentence in parts if sentence]


def _is_sentence_end(before: str, after: str) -> bool:
    """True if a text that ends with a stop is a whole sentence, given the text after it."""
    if not before.endswith("."):
        return True
    last = WORD.search(before[-40:-1])
    word = "" if last is None else last[0]
    if len(word) == 1 and word.isupper() and word != "I":
        return False  # an initial
    name = word.lower().rpartition("-")[2]
    following = re.match(r"\w+", after.lstrip("\"'“‘«(["))
    next_word = "" if following is None else following[0].lower()
    if name in NEVER_LAST:
        return False
    if name in BEFORE_NUMBER:
        return NUMBER.match(after) is None
    continues = name in WITHIN_NAMES or INITIALS.fullmatch(word) is not None
    return not continues or next_word in SENTENCE_STARTS
