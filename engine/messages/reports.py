"""Reports about a checkpoint: its contents, loading, and exporting."""

from pydantic import AwareDatetime, Field

from engine.config.export import Form, Precision
from engine.config.families import FAMILIES
from engine.config.phrases import PhraseField
from engine.config.sentence import SentenceSpec
from engine.config.tasks import TASKS
from engine.messages import Message, now
from engine.phrases import Phrase, join, phrase


class LoadReport(Message):
    """Loaded, missing and unexpected tensors of a checkpoint, by our names if we have one."""

    loaded: tuple[str, ...] = ()
    missing: tuple[str, ...] = Field((), description="Not in the file: newly initialised.")
    unexpected: tuple[str, ...] = Field((), description="In the file and not used.")
    notes: tuple[PhraseField, ...] = ()

    def sentence(self) -> Phrase:
        parts = [phrase("{n} tensor(s) loaded", n=len(self.loaded))]
        if self.missing:
            names, count = _first_few(self.missing), len(self.missing)
            parts.append(
                phrase("{n} missing in the file, newly initialised ({names})", n=count, names=names)
            )
        if self.unexpected:
            names, count = _first_few(self.unexpected), len(self.unexpected)
            parts.append(phrase("{n} not used ({names})", n=count, names=names))
        return join("; ", parts) + "."

    def remarks(self) -> tuple[str, ...]:
        """Unusual facts about the file, each a sentence."""
        sentences = [*self.notes]
        if self.missing:
            sentences.append(
                phrase(
                    "{n} tensor(s) missing in the file, newly initialised ({names}).",
                    n=len(self.missing),
                    names=_first_few(self.missing),
                )
            )
        if self.unexpected:
            sentences.append(
                phrase(
                    "{n} tensor(s) of the file not used ({names}).",
                    n=len(self.unexpected),
                    names=_first_few(self.unexpected),
                )
            )
        return tuple(sentences)

    def to_json(self) -> dict[str, list[str]]:
        names = ("missing", "unexpected", "notes")
        return {name: [str(value) for value in getattr(self, name)] for name in names}


def _first_few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else "")


class CheckpointInfo(Message):
    """Facts about a checkpoint folder, read without loading its weights into a network."""

    family: str = "bert"
    layers: int
    hidden_size: int
    heads: int
    intermediate_size: int
    max_positions: int
    max_length: int = Field(description="Usual maximum of tokens of an input.")
    vocab_size: int
    parameters: int
    task_heads: tuple[str, ...] = Field(
        (), description="“mlm”, “decoder” if untied, “nsp”, “pooler”, and the kind of a task."
    )
    labels: tuple[str, ...] = ()
    texts: dict[str, str] = Field(
        {}, description="Columns or templates of the texts that it was trained on, by role."
    )
    lowercase: bool = True
    sentence: SentenceSpec | None = Field(None, description="Its pooling of a text.")
    causal: bool = Field(False, description="Left-to-right: no token attends to a later one.")
    dtype: str = "float32"
    bytes: int = 0

    @property
    def shares_layers(self) -> bool:
        """True if several layers have the same weights."""
        return FAMILIES[self.family].spec.shares_layers

    @property
    def task(self) -> str | None:
        """Kind of the task that it was fine-tuned for, or None."""
        return next((head for head in self.task_heads if head in TASKS), None)


class Comparison(Message):
    """Difference between the outputs of an export and of the model."""

    output: str
    rows: int = Field(description="Number of outputs: one per input, or per token.")
    difference: float = Field(description="The largest difference, as a fraction of `scale`.")
    scale: float = Field(description="The largest output of the model; at least 1.")
    bound: float | None = Field(description="Maximum difference; None: predictions count.")
    agreement: float | None = Field(None, description="Fraction of equal predictions, if any.")
    least_agreement: float = 0
    chance: float | None = Field(None, description="The largest difference of a probability.")

    def sentence(self) -> Phrase:
        parts = [self._difference()]
        if self.agreement is not None:
            text = phrase(
                "{agreement:.1%} of {rows} predictions agree, at least {least:.0%} required",
                agreement=self.agreement,
                rows=self.rows,
                least=self.least_agreement,
            )
            parts.append(text)
        if self.chance:
            parts.append(phrase("probabilities differ by at most {chance:.2g}", chance=self.chance))
        return phrase("{output}: {results}.", output=self.output, results=join("; ", parts))

    def _difference(self) -> Phrase:
        if not self.difference:
            return phrase("no difference")
        text = phrase(
            "largest difference {difference:.1e} of the largest number ({scale:.4g})",
            difference=self.difference,
            scale=self.scale,
        )
        if self.bound is None:
            return text
        return phrase("{text}, at most {bound:.0e} allowed", text=text, bound=self.bound)


class ExportReport(Message):
    """Result of verifying an export, in a process that had only its files.

    It is stored with the export, so it contains no path and no row of the user's data.
    """

    at: AwareDatetime = Field(default_factory=now)
    checkpoint: str
    form: Form
    precision: Precision
    heads: tuple[str, ...]
    tensors: int
    parameters: int
    labels: tuple[str, ...]
    notes: tuple[PhraseField, ...] = Field(
        (), description="Parts of the checkpoint that were ignored on loading."
    )
    pruned_heads: int = Field(0, description="Pruned attention heads, which a graph leaves out.")
    weights_equal: bool | None = Field(
        description="Bit for bit, rounded to `precision`; None if they have another form."
    )
    texts: tuple[str, ...] = Field(description="Built-in texts; only the names of others.")
    sources: tuple[str, ...] = Field(description="Where the texts come from.")
    comparisons: tuple[Comparison, ...]
    versions: dict[str, str]
