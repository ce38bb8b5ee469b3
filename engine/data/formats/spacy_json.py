"""spaCy: `Doc.to_json`, (text, annotations) examples, and the training format of v2."""

from itertools import chain
from typing import Any

from engine.data.columns.words import join_words
from engine.data.formats.annotated import (
    AnnotatedText,
    BadObject,
    Object,
    Tool,
    extra_values,
    get_list,
    get_span,
    get_text,
    get_words,
    is_pair,
    make_format,
    parse_span,
)
from engine.phrases import phrase

OTHERS = ("_", "user_data")  # values by name
MIN_SCORE = 0.5  # of a category
UNKNOWN = "-"  # tag of an unknown token


def recognise(items: list[Any]) -> bool:
    return all(
        is_pair(item) or (isinstance(item, dict) and (_is_doc(item) or _is_v2(item)))
        for item in items
    )


def _is_doc(item: Object) -> bool:
    """True for a text with entities or categories of spaCy."""
    if not isinstance(item.get("text"), str):
        return False
    if isinstance(entities := item.get("entities"), list):
        return all(isinstance(entity, list) and len(entity) >= 3 for entity in entities)
    has_ents = isinstance(item.get("ents"), list)
    return has_ents or (isinstance(item.get("cats"), dict) and "tokens" in item)


def _is_v2(item: Object) -> bool:
    paragraphs = item.get("paragraphs")
    return isinstance(paragraphs, list) and all(
        isinstance(paragraph, dict) and "sentences" in paragraph for paragraph in paragraphs
    )


def read(item: Any) -> list[AnnotatedText]:
    """Read one text, or each sentence of a v2 document. Raises BadObject."""
    if is_pair(item):
        return [_example(item[0], item[1])]
    if isinstance(item, dict) and _is_v2(item):
        return [
            _sentence(sentence)
            for paragraph in item["paragraphs"]
            for sentence in get_list(paragraph, "sentences")
        ]
    if isinstance(item, dict) and _is_doc(item):
        return [_example(get_text(item, "text"), item)]
    raise BadObject(phrase("this is neither a document nor an example of spaCy."))


def _example(text: str, item: Object) -> AnnotatedText:
    entry = AnnotatedText(text)
    if "entities" in item:
        entry.spans = [parse_span(span) for span in get_list(item, "entities")]
    elif "ents" in item:
        groups = item["spans"] if isinstance(item.get("spans"), dict) else {}
        given = [*get_list(item, "ents"), *chain.from_iterable(get_list(groups, n) for n in groups)]
        entry.spans = [*dict.fromkeys(get_span(span, "start", "end", "label") for span in given)]
        entry.words = get_words(text, get_list(item, "tokens")) or None
    if isinstance(cats := item.get("cats"), dict) and cats:
        entry.labels["cats"] = [
            str(name)
            for name, score in cats.items()
            if isinstance(score, (int, float)) and score >= MIN_SCORE
        ]
    for key in OTHERS:
        if isinstance(others := item.get(key), dict):
            entry.extra |= extra_values(others, ())
    return entry


def _sentence(sentence: Any) -> AnnotatedText:
    tokens = get_list(sentence, "tokens") if isinstance(sentence, dict) else []
    words, tags = [], []
    for token in tokens:
        match token:
            case {"orth": str(word)} if word.strip():
                words.append(word)
                tag = token.get("ner", UNKNOWN)
                tags.append("O" if tag in (UNKNOWN, "", None) else str(tag))
    return AnnotatedText(join_words(words), tags=tags)


SPACY = make_format("spacy", "spaCy", Tool(recognise, read))
