"""A codebook while it is edited, and the effects of its changes on the rows. No widgets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.translation import tr
from app.widgets.text import numbers
from engine.config.codebook import Code, Codebook
from engine.config.levels import Levels, Node
from engine.data.datasets.codebooks import renamed_by_key

MAX_SENTENCES = 4


@dataclass(frozen=True)
class Entry:
    """One label of the draft; `before` are the labels of rows that become this one."""

    code: Code
    before: tuple[str, ...] = ()
    is_split: bool = False  # its rows are to be labelled again


@dataclass
class CodebookDraft:
    """Labels in their order, and the numbers of rows with each label before the changes."""

    codebook: Codebook
    counts: Mapping[str, int] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)  # labels of rows that lose theirs

    def __post_init__(self) -> None:
        self.entries = [Entry(code, (code.label,)) for code in self.codebook.codes]

    def result(self) -> Codebook:
        """The new codebook. Raises ValidationError if a label or key is there twice."""
        codes = tuple(entry.code for entry in self.entries)
        return Codebook.model_validate({**dict(self.codebook), "codes": [dict(c) for c in codes]})

    def renamed(self) -> dict[str, str]:
        """New labels of the rows, by the label before; “” for none."""
        new = {name: entry.code.label for entry in self.entries for name in entry.before}
        return {
            name: label
            for name, label in {**new, **dict.fromkeys(self.removed, "")}.items()
            if name != label
        }

    @property
    def hierarchy(self) -> Levels:
        """The levels of the labels in their order."""
        return Levels([entry.code.label for entry in self.entries])

    @property
    def split_labels(self) -> list[str]:
        """Labels whose rows are to be labelled again."""
        return [entry.code.label for entry in self.entries if entry.is_split]

    def rows(self, place: int) -> int:
        """Number of rows that will have this label."""
        return sum(self.counts.get(name, 0) for name in self.entries[place].before)

    # ── changes ──────────────────────────────────────────────────────────────────────────────

    def add(self, labels: Iterable[str]) -> None:
        """Add labels at the end; those that are there already are left out."""
        known = {entry.code.label for entry in self.entries}
        new = (label.strip() for label in labels)
        self.entries += [
            Entry(Code(label=label[:200]))
            for label in dict.fromkeys(new)
            if label and label not in known
        ]

    def update(self, place: int, **fields: object) -> None:
        """Change fields of a label. Raises ValidationError if a value is not allowed."""
        entry = self.entries[place]
        code = Code.model_validate({**dict(entry.code), **fields})
        self.entries[place] = replace(entry, code=code)

    def rename_node(self, node: Node, name: str) -> None:
        """Rename a node of the hierarchy of labels, in all paths through it.

        Raises ValidationError if a path becomes too long.
        """
        hierarchy, level = self.hierarchy, len(node)

        def rename(entry: Entry, path: Node) -> Entry:
            if path[:level] != node:
                return entry
            label = hierarchy.name((*node[:-1], name, *path[level:]))
            return replace(entry, code=Code.model_validate({**dict(entry.code), "label": label}))

        self.entries = [*map(rename, self.entries, hierarchy.paths)]

    def merge(self, place: int, into: int) -> None:
        """Let the rows of a label have another one, which takes over its examples."""
        source, target = self.entries[place], self.entries[into]
        code = target.code.model_copy(
            update={
                "examples": (*target.code.examples, *source.code.examples),
                "counterexamples": (*target.code.counterexamples, *source.code.counterexamples),
            }
        )
        self.entries[into] = replace(target, code=code, before=(*target.before, *source.before))
        del self.entries[place]

    def split(self, place: int, labels: Sequence[str]) -> None:
        """Add labels for the rows of one, which keep theirs until they are labelled again."""
        old = self.entries[place]
        self.add(labels)
        self.entries[place] = replace(
            old, code=old.code.model_copy(update={"deprecated": True}), is_split=True
        )

    def remove(self, place: int) -> None:
        self.removed += [name for name in self.entries.pop(place).before if self.counts.get(name)]

    def read(self, codebook: Codebook) -> None:
        """Take over an imported codebook; labels that it does not have stay at the end."""
        ends = {"lowest": codebook.lowest, "highest": codebook.highest}
        self.codebook = self.codebook.model_copy(update=ends)
        by_key = renamed_by_key(codebook, self.counts)
        before = {entry.code.label: entry for entry in self.entries}
        entries = list[Entry]()
        for code in codebook.codes:
            names = [code.label, *(key for key, label in by_key.items() if label == code.label)]
            old = [before.pop(name) for name in names if name in before]
            entries.append(Entry(code, tuple(name for entry in old for name in entry.before)))
        self.entries = [*entries, *before.values()]

    # ── effects on the rows ──────────────────────────────────────────────────────────────────

    def consequences(self) -> list[str]:
        """Sentences on the effects of the changes on the rows; empty if there are none."""
        sentences = list[str]()
        for old, new in self.renamed().items():
            if rows := self.counts.get(old, 0):
                sentences.append(
                    tr("%Ln row(s) become “{0}”.", rows).format(new[:60])
                    if new
                    else tr("%Ln row(s) lose the label “{0}”.", rows).format(old[:60])
                )
        was_deprecated = {code.label for code in self.codebook.codes if code.deprecated}
        for place, entry in enumerate(self.entries):
            rows, label = self.rows(place), entry.code.label
            if entry.is_split:
                text = tr(
                    "%Ln row(s) keep “{0}” until you label them again; they are listed.", rows
                )
                sentences.append(text.format(label[:60]))
            elif entry.code.deprecated and label not in was_deprecated:
                text = tr("%Ln row(s) keep “{0}”, which has no key any more.", rows)
                sentences.append(text.format(label[:60]))
        if len(sentences) > MAX_SENTENCES:
            more = numbers.count(len(sentences) - MAX_SENTENCES)
            return [*sentences[:MAX_SENTENCES], tr("{0} more changes.").format(more)]
        return sentences
