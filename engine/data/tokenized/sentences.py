"""The sentences of a document, for pairs of what follows what.

Rules and short lists, no model: what stands before a full stop tells whether it ends a sentence,
and how lines break tells whether a line end does. Text in other languages than those of the lists
is cut at its stops.
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
WORD = re.compile(r"[^\s(\[{“‘\"'«—]+$")  # up to a stop, without what opens a quotation
NEVER_LAST = _words(  # before a name or an explanation
    """mr mrs ms mx dr prof rev revd hon gen col lt capt cmdr sgt cpl pvt pfc maj adm sen sens rep
    reps gov pres messrs mme mlle mlles st mt ft ste fr sr sra srta dra dña hr frau hrn bros
    e.g i.e eg ie cf viz vs v approx ca resp z.b d.h u.a bzw vgl ggf sog p.ex et al"""
)
BEFORE_NUMBER = _words(
    """no nos nr vol vols p pp fig figs art arts sec sect ch chap eq ex par para pt op lib cap ver
    jan feb mar apr jun jul aug sep sept oct nov dec"""
)
WITHIN_NAMES = _words("inc ltd co corp jr sr ph.d")
BEGINNERS = _words(  # words that hardly go on a name
    """the a an this that these those there then it its he she they we you i his her their our my
    in on at for from with by to of as if when while where what who how why but and or so yet not
    no after before since although though however meanwhile also"""
)
INITIALS = re.compile(r"([^\W\d_]\.)+[^\W\d_]")  # without the last stop: U.S, J.C
NUMBER = re.compile(r"[\"“(\[]*(\d|[IVXLC]+\b)")
WRAPPED_WIDTH = 30  # characters, of most lines at least
FULL_WIDTH, FULL_SHARE = 0.5, 0.8  # share of the width, and of the lines that have it
SMALL_SHARE = 0.4  # of the line ends within sentences, that are followed by a small letter


def sentences(document: str) -> list[str]:
    """The sentences of a document, in their order, without white space around them.

    Where the text is wrapped at a width, the lines of a paragraph are one text. Elsewhere a line
    end ends a sentence, but within one that goes on with a small letter; an empty line always does.
    """
    paragraphs = [list(lines) for lines in _paragraphs(document)]
    wrapped = _is_wrapped(paragraphs)
    found: list[str] = []
    for lines in paragraphs:
        for text in map(_joined, [lines] if wrapped else _runs(lines)):
            found += _cut(text)
    return found


def _paragraphs(document: str) -> Iterator[list[str]]:
    """The lines between empty ones."""
    lines: list[str] = []
    for line in (*document.splitlines(), ""):
        text = line.strip()
        if text:
            lines.append(text)
        elif lines:
            yield lines
            lines = []


def _is_wrapped(paragraphs: Sequence[Sequence[str]]) -> bool:
    """Whether lines end because they are full, and not because a sentence does.

    Then lines have about the same width, one that ends within a sentence is often followed by a
    small letter, and paragraphs end with a stop.
    """
    several = [lines for lines in paragraphs if len(lines) > 1]
    pairs = [pair for lines in several for pair in pairwise(lines)]
    lengths = sorted(len(line) for line, _ in pairs)
    width = lengths[len(lengths) * 9 // 10] if lengths else 0
    if width < WRAPPED_WIDTH:
        return False
    full = sum(length >= FULL_WIDTH * width for length in lengths)
    inside = [after[0].islower() for line, after in pairs if not _ends_sentence(line)]
    stopped = sum(_ends_sentence(lines[-1]) for lines in several)
    return (
        full >= FULL_SHARE * len(pairs)
        and any(inside)
        and sum(inside) >= SMALL_SHARE * len(inside)
        and 2 * stopped >= len(several)
    )


def _runs(lines: Sequence[str]) -> list[list[str]]:
    """Lines that belong together in a paragraph which is not known to be wrapped.

    Where its last line has no stop, none may have one: then a small letter says nothing.
    """
    runs = [[lines[0]]]
    for line, after in pairwise(lines):
        goes_on = after[0].islower() and not _ends_sentence(line) and _ends_sentence(lines[-1])
        if goes_on:
            runs[-1].append(after)
        else:
            runs.append([after])
    return runs


def _ends_sentence(line: str) -> bool:
    return line.rstrip("\"'”’»)]_*")[-1:] in tuple(".!?…:;。！？")


def _joined(lines: Sequence[str]) -> str:
    """Lines as one text; a word that is cut at a hyphen stays one."""
    text = lines[0]
    for line in lines[1:]:
        is_cut = text[-1] == "-" and text[-2:-1].isalpha() and line[0].islower()
        text += line if is_cut else f" {line}"
    return text


def _cut(text: str) -> list[str]:
    found, start = [], 0
    for stop in STOP.finditer(text):
        end = stop.end(stop.lastindex or 0)
        if _ends(text[start:end], text[stop.end() : stop.end() + 40]):
            found.append(text[start:end].strip())
            start = stop.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if sentence]


def _ends(before: str, after: str) -> bool:
    """Whether a text that ends with a stop is a sentence, when `after` follows."""
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
    goes_on = name in WITHIN_NAMES or INITIALS.fullmatch(word) is not None
    return not goes_on or next_word in BEGINNERS
