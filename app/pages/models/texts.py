"""What is said of a model on the list and on its page."""

from PySide6.QtCore import QObject

from app.library import ModelEntry
from app.tasks import part_of
from app.widgets import numbers
from app.widgets.entries import Entry
from app.widgets.text import Look
from engine.checkpoints.families import BERT, FAMILIES
from engine.messages.reports import CheckpointInfo

MOST_LABELS = 12  # named in full


def title(family: str) -> str:
    """A family as papers call it."""
    return FAMILIES[family].title if family in FAMILIES else family


class Words(QObject):
    """Puts what is known of a model into words."""

    def entry(self, model: ModelEntry) -> Entry:
        """The model's card on the list."""
        if model.info is None:
            return Entry(
                model.path,
                model.name,
                model.problem,
                "triangle-alert",
                mark=self.tr("Damaged"),
                warns=True,
            )
        return Entry(
            model.path,
            model.name,
            " · ".join(part for part in self._parts(model, model.info) if part),
            {"starter": "sparkles", "imported": "box", "run": "activity"}[model.origin],
            figure=numbers.short(model.info.parameters),
            unit=self.tr("parameters"),
            mark=self._mark(model),
        )

    def _parts(self, model: ModelEntry, info: CheckpointInfo) -> list[str]:
        return [
            "" if info.family == BERT.name else title(info.family),
            self.size(info),
            self.tr("%Ln token(s)", "", info.vocab_size),
            ", ".join(self.heads(info)),
            info.dtype,
            numbers.size(info.bytes),
        ]

    def _mark(self, model: ModelEntry) -> str:
        if model.origin == "starter":
            return self.tr("Included with BERT Studio")
        if model.origin == "imported":
            return self.tr("Imported")
        return self.tr("Best checkpoint") if model.best else self.tr("Checkpoint")

    def size(self, info: CheckpointInfo) -> str:
        """As papers write it: L layers, H the width, A heads."""
        return f"L {info.layers}  H {info.hidden_size}  A {info.heads}"

    def heads(self, info: CheckpointInfo) -> list[str]:
        """The heads that the checkpoint has; the pooler is a part of others and goes unnamed."""
        names = {
            "mlm": self.tr("masked language modelling (MLM)"),
            "nsp": self.tr("next-sentence prediction (NSP)"),
        }
        if info.task is not None:
            names[info.task] = part_of(info.task).outputs(len(info.labels))
        return [names[head] for head in info.task_heads if head in names]

    def origin(self, model: ModelEntry) -> str:
        """Where the model comes from, in a sentence."""
        if model.origin == "starter":
            return self.tr("A small English BERT included with BERT Studio.")
        if model.origin == "imported":
            return self.tr("Imported into your home folder.")
        if model.best:
            return self.tr("The best checkpoint of its run, at step {0}.").format(
                numbers.count(model.step)
            )
        return self.tr("A checkpoint of a run, at step {0}.").format(numbers.count(model.step))

    def facts(self, model: ModelEntry) -> list[tuple[str, str] | tuple[str, str, Look]]:
        """All that is known, for the model's page."""
        info = model.info
        if info is None:
            return [(self.tr("Folder"), str(model.path))]
        heads = self.heads(info)
        facts: list[tuple[str, str] | tuple[str, str, Look]] = [
            (self.tr("Family"), title(info.family)),
            (self.tr("Parameters"), numbers.count(info.parameters)),
            (self.tr("Layers (L)"), numbers.count(info.layers)),
            (self.tr("Hidden size (H)"), numbers.count(info.hidden_size)),
            (self.tr("Attention heads (A)"), numbers.count(info.heads)),
            (self.tr("Intermediate size"), numbers.count(info.intermediate_size)),
            (self.tr("Max. positions"), self.tr("%Ln token(s)", "", info.max_positions)),
            (self.tr("Vocabulary"), self.tr("%Ln token(s)", "", info.vocab_size)),
            (self.tr("Case"), self.tr("uncased") if info.lowercase else self.tr("cased")),
            (
                self.tr("Output heads"),
                "\n".join(heads) if heads else self.tr("none (encoder only)"),
            ),
        ]
        if info.causal:
            facts.append((self.tr("Attention"), self.tr("causal (left to right)")))
        if info.labels:
            facts.append((self.tr("Classes"), self._labels(info.labels)))
        facts += [
            (self.tr("Precision"), info.dtype),
            (self.tr("Weights"), numbers.size(info.bytes)),
            (self.tr("Folder"), str(model.path)),
        ]
        return facts

    def _labels(self, labels: tuple[str, ...]) -> str:
        shown = [label[:80] for label in labels[:MOST_LABELS]]
        rest = len(labels) - len(shown)
        return "\n".join([*shown, self.tr("and %Ln more", "", rest)] if rest else shown)
