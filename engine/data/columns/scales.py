"""Order of labels on a scale: by their numbers, or as the words of a known scale."""

import re
from collections.abc import Collection

from engine.data.columns.numbers import parse_number
from engine.phrases import Phrase, phrase

MAX_LABELS = 50
NOTED = range(3, 12)  # labels; more numbers are rather ids, or a scale for a regression
NUMBER = re.compile(r"([-+]?\d+(?:[.,]\d+)?)\W*(.*)", re.DOTALL)  # “5 stars”, “1 – not at all”
SCALES = tuple(  # from the lowest; “|” parts synonyms
    tuple(frozenset(words.split("|")) for words in re.split(r",\s+", scale))
    for scale in """\
strongly disagree|completely disagree|totally disagree, disagree,
  somewhat disagree|slightly disagree|rather disagree,
  neutral|undecided|neither agree nor disagree|neither,
  somewhat agree|slightly agree|rather agree, agree,
  strongly agree|completely agree|totally agree
very negative|strongly negative, negative, slightly negative|somewhat negative, neutral,
  slightly positive|somewhat positive, positive, very positive|strongly positive
very dissatisfied|very unsatisfied, dissatisfied|unsatisfied,
  neutral|neither satisfied nor dissatisfied, satisfied, very satisfied
very unlikely, unlikely, neutral|neither likely nor unlikely, likely, very likely
never, rarely|seldom, sometimes|occasionally, often|frequently, very often, always
very poor|very bad|terrible, poor|bad, fair|average|okay, good, very good, excellent
not at all important|unimportant, slightly important, moderately important, important,
  very important, extremely important
none|no, very low|minimal, low|mild|minor, medium|moderate, high|severe|major,
  very high|critical|extreme
beginner, elementary, intermediate, advanced, expert|proficient""".replace("\n  ", " ").split("\n")
)


def order_labels(labels: Collection[str]) -> tuple[str, ...]:
    """The labels from the lowest to the highest; () if they are on no known scale.

    They are numbers, begin with different numbers, or are words of one scale.
    """
    names = [label for label in labels if label.strip()]
    if not 1 < len(names) <= MAX_LABELS:
        return ()
    numbers = {}
    for name in names:
        match = NUMBER.fullmatch(name.strip())
        number = parse_number(match[1]) if match is not None else None
        if number is None:
            break
        numbers[name] = number
    if len({*numbers.values()}) == len(names):
        return tuple(sorted(names, key=numbers.__getitem__))
    plain = {" ".join(re.findall(r"\w+", name.casefold())): name for name in names}
    for scale in SCALES:
        places = {word: place for place, words in enumerate(scale) for word in words}
        found = {places[word] for word in plain if word in places}
        if len(found) == len(names) and plain.keys() <= places.keys():
            return tuple(plain[word] for word in sorted(plain, key=places.__getitem__))
    return ()


def order_note(labels: Collection[str]) -> Phrase | None:
    """Say that labels seem to have an order; None for others, such as the numbers 0, 1, 2."""
    ordered = order_labels(labels)
    numbers = [parse_number(label) for label in ordered]
    are_ids = bool(numbers) and None not in numbers and numbers[:1] == [0]
    if len(ordered) not in NOTED or are_ids:
        return None
    return phrase(
        "The labels seem to have an order, from “{low}” to “{high}”: the task “Ordinal "
        "classification” learns it.",
        low=ordered[0][:60],
        high=ordered[-1][:60],
    )
