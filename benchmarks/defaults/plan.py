"""The runs, most informative first.

Sets are small enough for about a minute per run on one thread; long texts get fewer rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

PAPER = (5e-5, 3.0)  # rate and epochs of Devlin et al. (2019, appendix A.3), as TrainingSpec has it
SEEDS = (1, 2)
TINY, STARTER, MINILM = "tiny", "starter", "minilm"  # L2 H128, L4 H256, L6 H384
TEXTS = "subj-texts"  # pre-training: the texts alone


@dataclass(frozen=True)
class Set:
    """Files of `fidelity prepare`, and the number of rows used."""

    task: str  # as the engine names it
    train: str
    validation: str
    rows: int  # for training a model of two layers
    fewer: int  # for larger models
    max_length: int  # tokens


SETS: dict[str, Set] = {
    "sst2": Set("text_classification", "sst2-train.tsv", "sst2-test.tsv", 2000, 800, 64),
    "trec-qc": Set("text_classification", "trec-qc-train.tsv", "trec-qc-test.tsv", 2000, 600, 64),
    "wnut17": Set(
        "token_classification", "wnut17-train.conll", "wnut17-test.conll", 1500, 400, 128
    ),
    "mrpc": Set("pair_classification", "mrpc-train.tsv", "mrpc-test.tsv", 500, 300, 128),
    "subj": Set("text_classification", "subj-train.tsv", "subj-test.tsv", 600, 400, 64),
    "stsb": Set("regression", "stsb-train.tsv", "stsb-dev.tsv", 700, 400, 64),
    "codah": Set("multiple_choice", "codah-train.csv", "codah-test.csv", 250, 100, 64),
    "squad1": Set(
        "question_answering", "squad1-devhalf-train.json", "squad1-devhalf-test.json", 120, 40, 256
    ),
    TEXTS: Set("pretraining", "subj-train.tsv", "subj-test.tsv", 2000, 2000, 64),
}
LABELLED = tuple(name for name in SETS if name != TEXTS)
VALIDATION_ROWS = 400


@dataclass(frozen=True)
class Run:
    """One training."""

    model: str  # TINY, …; or a preset of engine.config.model, with fresh weights
    data: str
    rate: float
    epochs: float
    way: str = "all weights"  # or LoRA, probe linear, probe bilstm, from scratch
    warmup: float = 0.1
    batch: int = 32
    rows: int = 0  # 0: those of the set, as many as suit the model
    seed: int = 1

    @property
    def row_count(self) -> int:
        """Rows for training."""
        data = SETS[self.data]
        return self.rows or (data.fewer if self.model in (STARTER, MINILM) else data.rows)

    @property
    def key(self) -> str:
        """Unique name."""
        return "|".join(
            str(part)
            for part in (
                *(self.model, self.data, self.way, self.rate, self.epochs, self.warmup),
                *(self.batch, self.row_count, self.seed),
            )
        )


def runs() -> Iterator[Run]:
    """All runs, in the order in which they are made."""
    stages = (
        *(_tiny, _tiny_for_longer, _tiny_again, _ways, _starter, _starter_too),
        *(_starter_again, _further, _others, _more_ways),
        *(_larger, _larger_again, _few_rows, _rest),
    )
    for stage in stages:
        yield from stage()


def _tiny() -> Iterator[Run]:
    """On every set: the paper's, and three rates."""
    for data in LABELLED:
        yield Run(TINY, data, *PAPER)
        for rate in (3e-4, 5e-4, 1e-3):
            yield Run(TINY, data, rate, 5)


def _tiny_for_longer() -> Iterator[Run]:
    for data in LABELLED:
        yield Run(TINY, data, 5e-4, 10)


def _tiny_again() -> Iterator[Run]:
    """The second seed of what may be recommended."""
    for data in ("sst2", "trec-qc", "wnut17", "codah", "stsb", "mrpc", "subj"):
        epochs = 5 if SETS[data].rows > 1500 else 10
        yield Run(TINY, data, 5e-4, epochs, seed=SEEDS[1])


def _starter() -> Iterator[Run]:
    """On every set: a higher rate for longer, and the paper's."""
    for data in ("trec-qc", "stsb", "subj", "mrpc", "codah"):
        yield Run(STARTER, data, 3e-4, 10)
        yield Run(STARTER, data, *PAPER)


def _ways() -> Iterator[Run]:
    """LoRA, probes, and fresh weights."""
    for rate in (1e-3, 3e-3, 1e-2):
        yield Run(TINY, "trec-qc", rate, 5, "LoRA")
    for probe, rate in (("linear", 1e-3), ("linear", 1e-2), ("bilstm", 1e-3)):
        yield Run(TINY, "subj", rate, 10, f"probe {probe}")
    for rate in (5e-5, 5e-4, 1e-3):
        yield Run("tiny", "subj", rate, 10, "from scratch")
    for rate in (5e-4, 1e-3, 2e-3):
        yield Run("tiny", TEXTS, rate, 3, "from scratch")
    for rate in (1e-4, 5e-4, 1e-3):
        yield Run(TINY, TEXTS, rate, 1)


def _starter_too() -> Iterator[Run]:
    for data in ("wnut17", "sst2", "squad1"):
        yield Run(STARTER, data, 3e-4, 10)
        yield Run(STARTER, data, *PAPER)


def _starter_again() -> Iterator[Run]:
    """The second seed, and other rates and epochs."""
    for data in LABELLED:
        yield Run(STARTER, data, 3e-4, 10, seed=SEEDS[1])
    for data in LABELLED:
        yield Run(STARTER, data, 3e-4, 5)
        yield Run(STARTER, data, 1e-3, 5)


def _further() -> Iterator[Run]:
    """Pre-training of a larger network that goes on, and more rows."""
    for rate in (1e-4, 3e-4, 1e-3):
        yield Run(STARTER, TEXTS, rate, 1)
    yield Run(STARTER, "sst2", 3e-4, 5, rows=2000)


def _others() -> Iterator[Run]:
    """Fewer epochs, and a higher rate for longer."""
    for data in LABELLED:
        yield Run(TINY, data, 5e-4, 3)
        yield Run(TINY, data, 1e-3, 10)
        yield Run(TINY, data, 1e-3, 5, seed=SEEDS[1])


def _more_ways() -> Iterator[Run]:
    """LoRA and probes of a larger network, and further rates."""
    for data in ("trec-qc", "subj"):
        for rate in (1e-3, 3e-3, 1e-2):
            yield Run(STARTER, data, rate, 10, "LoRA")
        for probe, rate in (("linear", 1e-3), ("linear", 1e-2), ("bilstm", 1e-3)):
            yield Run(STARTER, data, rate, 10, f"probe {probe}")
    for rate in (1e-4, 4e-3):
        yield Run("tiny", TEXTS, rate, 3, "from scratch")


def _larger() -> Iterator[Run]:
    """A third model, of six layers, with few rows."""
    for rate, epochs in ((1e-4, 10.0), PAPER, (3e-4, 5.0), (1e-4, 5.0)):
        for data in LABELLED:
            yield Run(MINILM, data, rate, epochs)


def _larger_again() -> Iterator[Run]:
    """The second seed of what is recommended, and adapters."""
    for data in LABELLED:
        yield Run(MINILM, data, 1e-4, 10.0, seed=SEEDS[1])
    for data in ("trec-qc", "subj"):
        for rate in (1e-3, 3e-3):
            yield Run(MINILM, data, rate, 10.0, "LoRA")


def _few_rows() -> Iterator[Run]:
    """Best epochs and rates by number of rows."""
    for data in ("sst2", "trec-qc", "subj"):
        for rows in (200, 4000):
            for rate, epochs in ((5e-4, 10), (1e-3, 3), (1e-3, 10), (5e-4, 5), (1e-3, 30)):
                if rows * epochs <= 20_000:
                    yield Run(TINY, data, rate, epochs, rows=rows)


def _rest() -> Iterator[Run]:
    """Warm-up and batch size, and the second seed of all else."""
    for data in ("trec-qc", "mrpc"):
        for warmup in (0.0, 0.2):
            yield Run(TINY, data, 5e-4, 5, warmup=warmup)
        for batch in (8, 16, 64):
            yield Run(TINY, data, 5e-4, 5, batch=batch)
    for run in (*_tiny(), *_starter(), *_ways(), *_few_rows(), *_larger()):
        yield replace(run, seed=SEEDS[1])
