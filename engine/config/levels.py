"""Labels that are paths of a hierarchy, such as “DESC:manner” or “A > B > C”."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

from engine.phrases import Phrase, phrase

SEPARATORS = (">", "::", "/", ":")
Node = tuple[str, ...]
"""The names from the top level down to a node; that of a label is its path."""


class Levels:
    """The hierarchy of some labels; other labels have a path in it, too.

    Labels may end at any level, and a label may be an inner node of others.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self.separator = find_separator(labels)
        spaced = f" {self.separator} "
        self._joint = spaced if any(spaced in name for name in labels) else self.separator
        self.paths = tuple(map(self.path, labels))
        self.depth = max(map(len, self.paths), default=0)

    def path(self, label: str) -> Node:
        if not self.separator:
            return (label,)
        return tuple(name.strip() for name in label.split(self.separator))

    def name(self, node: Node) -> str:
        """A node as a label."""
        return self._joint.join(node)

    def probabilities(self, labels: Iterable[tuple[str, float]]) -> dict[Node, float]:
        """The probability of each node, the sum of those of the labels at it and below it."""
        sums = defaultdict[Node, float](float)
        for label, probability in labels:
            for node in ancestors(self.path(label)):
                sums[node] += probability
        return dict(sums)


def ancestors(path: Node) -> list[Node]:
    """The nodes of a path from the top level down to its end."""
    return [path[:level] for level in range(1, len(path) + 1)]


def path_note(labels: Collection[str]) -> Phrase | None:
    """Say that labels seem to be paths of a hierarchy; None for others."""
    hierarchy = Levels(tuple(labels))
    longest = max(labels, key=lambda label: len(hierarchy.path(label)), default="")
    if hierarchy.depth < 2:
        return None
    return phrase(
        "The labels seem to be paths of a hierarchy with {n} levels, such as “{label}”: the task "
        "“Hierarchical classification” learns them, and scores each level.",
        n=hierarchy.depth,
        label=longest[:60],
    )


def find_separator(labels: Collection[str]) -> str:
    """The sign between the levels of labels; "" if they are no paths.

    Half of them or more have several levels, none of which is empty; two are below one node of the
    top level, whose names have letters, unlike those of dates and times.
    """
    names = [name for name in labels if name.strip()]
    for separator in SEPARATORS:
        paths = {tuple(part.strip() for part in name.split(separator)) for name in names}
        top = Counter(path[0] for path in paths)
        deep = sum(len(path) > 1 for path in paths)
        has_letters = any(character.isalpha() for name in top for character in name)
        is_shared = max(top.values(), default=0) > 1
        if has_letters and is_shared and all(map(all, paths)) and 2 * deep >= len(paths):
            return separator
    return ""
