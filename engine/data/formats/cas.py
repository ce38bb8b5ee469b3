"""UIMA CAS as XMI or JSON, as INCEpTION and WebAnno export it: one text with annotations on it.

A row is a sentence, or the text if it has no sentences. One layer of spans is read, as of WebAnno
TSV. Offsets count UTF-16 code units. The file itself has all that is needed, so that its type
system and dkpro-cassis, which needs lxml (12 MB), are not.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple
from xml.etree import ElementTree as ET

from engine.config.dataset import Reading
from engine.data.columns.text_spans import TextSpan
from engine.data.formats.annotated import AnnotatedText, Object, make_line_format
from engine.data.formats.lines import Lines
from engine.data.formats.rows import Remarks
from engine.data.formats.strict_json import CHUNK, read_document
from engine.data.formats.webanno import Column, choose_layer
from engine.errors import BadFile
from engine.phrases import phrase

XMI, JSON = "http:///uima/cas.ecore", ('"%TYPES"', '"%FEATURE_STRUCTURES"')
ADVICE = phrase("Export it from the tool again, as UIMA CAS or WebAnno TSV 3.")
FIRST_VIEW = "_InitialView"
TEXT_LAYERS = ("Token", "Sentence", "Paragraph", "DocumentAnnotation", "DocumentMetaData")


class _Annotation(NamedTuple):
    layer: str
    begin: int
    end: int
    features: dict[str, str]


def guess(lines: list[str], _suffix: str, _is_complete: bool) -> Reading | None:
    """Recognise the names that every CAS has near its start."""
    start = "".join(lines)
    is_json = start.lstrip().startswith("{") and any(key in start for key in JSON)
    is_xml = start.lstrip("\ufeff \r\n").startswith("<") and XMI in start
    return Reading(format=CAS.name) if is_json or is_xml else None


def read_lines(lines: Lines, remarks: Remarks) -> Iterator[tuple[int, AnnotatedText]]:
    """Read the sentences, numbered from 1. Raises BadFile."""
    first = next(filter(str.strip, lines.look_ahead(CHUNK, split=True)), "")
    structures = list(_read_json(lines) if first.lstrip().startswith("{") else _read_xmi(lines))
    texts = {
        values.get("sofaID", ""): (identifier, values["sofaString"])
        for identifier, name, values in structures
        if name == "Sofa" and isinstance(values.get("sofaString"), str)
    }
    if not texts:
        raise BadFile(lines.path, phrase("it has no text."), ADVICE)
    view = FIRST_VIEW if FIRST_VIEW in texts else next(iter(texts))
    for other in texts:
        if other != view:
            remarks.add_note(phrase("The view “{view}” is left out.", view=other[:60]))
    sofa, text = texts[view]
    annotations = list(_annotations(lines, sofa, text, structures))
    yield from enumerate(_sentences(text, annotations, remarks), start=1)


def _read_xmi(lines: Lines) -> Iterator[tuple[str, str, Object]]:
    """Identifier, short name of the type, and attributes of every feature structure."""
    content = "".join(lines.limit_lines(CHUNK, split=True))
    try:
        if "<!DOCTYPE" in content:  # entities could expand
            raise ET.ParseError
        root = ET.fromstring(content)  # noqa: S314
    except ET.ParseError as error:
        raise BadFile(lines.path, phrase("it is damaged or incomplete."), ADVICE) from error
    for element in root:
        identifier = element.get("{http://www.omg.org/XMI}id", "")
        yield identifier, element.tag.rsplit("}", 1)[-1], dict(element.attrib)


def _read_json(lines: Lines) -> Iterator[tuple[str, str, Object]]:
    document = read_document(lines, ADVICE)
    structures = document.get("%FEATURE_STRUCTURES") if isinstance(document, dict) else None
    values = structures.values() if isinstance(structures, dict) else structures or ()
    for item in values:
        if isinstance(item, dict):
            features = {key.removeprefix("@"): value for key, value in item.items()}
            yield str(item.get("%ID", "")), str(item.get("%TYPE", "")).rsplit(".", 1)[-1], features


def _annotations(
    lines: Lines, sofa: str, text: str, structures: Iterable[tuple[str, str, Object]]
) -> Iterator[_Annotation]:
    """Annotations of a text; offsets become code points. Raises BadFile."""
    places = [at for at, sign in enumerate(text) for _ in range(1 + (ord(sign) > 0xFFFF))]
    places.append(len(text))
    for identifier, name, values in structures:
        is_relation = "Governor" in values
        if str(values.get("sofa", "")) != sofa or "begin" not in values or is_relation:
            continue
        try:
            begin, end = int(values["begin"]), int(values["end"])
            if not 0 <= begin <= end < len(places):
                raise ValueError
        except (KeyError, TypeError, ValueError) as error:
            raise BadFile(
                lines.path,
                phrase("annotation {number} is not within its text.", number=identifier[:20]),
                ADVICE,
            ) from error
        features = {
            key: value
            for key, value in values.items()
            if isinstance(value, str) and key[0] not in "{%" and not value.isdecimal()
        }
        yield _Annotation(name, places[begin], places[end], features)


def _sentences(
    text: str, annotations: list[_Annotation], remarks: Remarks
) -> Iterator[AnnotatedText]:
    columns = [
        Column(0, one.layer, feature)
        for one in annotations
        if one.layer not in TEXT_LAYERS
        for feature in one.features or ("",)
    ]
    chosen = choose_layer(columns, remarks)
    begins = sorted({0, *(one.begin for one in annotations if one.layer == "Sentence")})
    words: list[list[tuple[int, int]]] = [[] for _ in begins]
    spans: list[list[TextSpan]] = [[] for _ in begins]
    for one in annotations:
        row = bisect_right(begins, one.begin) - 1
        begin, end = one.begin - begins[row], one.end - begins[row]
        if one.layer == "Token" and text[one.begin : one.end].strip():
            words[row].append((begin, end))
        elif chosen and one.layer == chosen.layer:
            spans[row].append(TextSpan(begin, end, one.features.get(chosen.feature, one.layer)))
    for row, (begin, end) in enumerate(pairwise([*begins, len(text)])):
        if sentence := text[begin:end].rstrip():
            marked = spans[row] if chosen else None
            yield AnnotatedText(sentence, marked, words=sorted(words[row]) or None)


CAS = make_line_format("cas", "UIMA CAS", (".xmi", ".json"), guess, read_lines)
