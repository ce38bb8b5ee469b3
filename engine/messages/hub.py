"""Models and data sets of the Hugging Face Hub: search, download, push."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import AwareDatetime, Field

from engine.config.dataset import SplitName
from engine.config.phrases import PhraseField
from engine.messages import Message
from engine.messages.question import Answer, Question

HubKind = Literal["model", "dataset"]
"""Kind of repository on the hub."""


class HubFile(Message):
    """A file on the hub. `sum` is “sha256:…” or, for small files, “git:…”."""

    name: str
    bytes: int = Field(ge=0)
    sum: str = ""


class HubModel(Message):
    """A search result."""

    name: str
    family: str = Field("", description="The “model_type” of its config.json; empty: not known.")
    licence: str = ""
    downloads: int = Field(0, description="In the last 30 days, as the hub counts them.")
    gated: bool = False
    private: bool = False
    is_loadable: bool = Field(True, description="True if its family can be loaded.")


class HubModelsFound(Answer):
    """Search results, most downloaded first."""

    kind: Literal["found"] = "found"
    models: tuple[HubModel, ...]


class HubQuestion(Question):
    """Answered by the worker that may connect to the internet and has no torch."""

    worker: ClassVar[str] = "hub"


class SearchHub(HubQuestion):
    """Search models by the words in their names, most downloaded first."""

    answered_by: ClassVar[type[Answer]] = HubModelsFound
    kind: Literal["search_hub"] = "search_hub"
    words: str


class Cost(Message):
    """Memory and time of a neural network on this machine."""

    training_bytes: int = Field(description="Memory for fine-tuning all of it.")
    exploring_bytes: int = Field(description="Memory for exploring it.")
    seconds: float | None = Field(
        None, description="For 1,000 short texts; None if the machine was not measured."
    )


class Planned(Answer):
    """A planned download; only the file list, and the config of a model, have been fetched."""

    kind: Literal["planned"] = "planned"
    name: str = Field(description="The name of the model, or of the data set.")
    hub_kind: HubKind = "model"
    revision: str = Field(description="The fetched commit, even if newer ones follow.")
    host: str
    licence: str = ""
    files: tuple[HubFile, ...]
    fetched_bytes: int = Field(0, description="Bytes on the disk from an earlier try.")
    disk_free: int = Field(0, description="Free bytes on the target disk.")
    notes: tuple[PhraseField, ...] = ()
    cost: Cost | None = Field(None, description="From the config of a model; None for a data set.")
    subset: str = Field("", description="Subset of a data set; empty: the only one.")
    subsets: tuple[str, ...] = Field(
        (), description="All subsets of a data set; without files, one must be chosen."
    )
    splits: dict[SplitName, tuple[str, ...]] = Field(
        default_factory=dict, description="Names of the files of each split of a data set."
    )

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def needed(self) -> int:
        """Bytes on the disk: the remaining files, and the copy made by the import."""
        return self.bytes - self.fetched_bytes + self.bytes


class PlanDownload(HubQuestion):
    """Plan the download of a model into a folder below `folder`."""

    answered_by: ClassVar[type[Answer]] = Planned
    kind: Literal["plan_download"] = "plan_download"
    model: str
    revision: str = Field("", description="A branch, a tag or a commit; empty: the newest.")
    folder: Path
    flops: float | None = Field(None, description="Measured fp32 matrix products, in FLOP/s.")


class PlanDatasetDownload(HubQuestion):
    """Plan the download of a data set into a folder below `folder`."""

    answered_by: ClassVar[type[Answer]] = Planned
    kind: Literal["plan_data"] = "plan_data"
    name: str = Field(description="As owner/name, owner/name/subset or owner/name@revision.")
    folder: Path


class Source(Message):
    """Source of a model, stored in its folder, so that the same files can be downloaded again."""

    model: str
    revision: str
    host: str
    licence: str = ""
    fetched: AwareDatetime
    files: tuple[HubFile, ...] = ()


class Downloaded(Answer):
    kind: Literal["downloaded"] = "downloaded"
    folder: Path
    source: Source


class Download(HubQuestion):
    """Download a plan; existing files are kept, and partial ones continue."""

    answered_by: ClassVar[type[Answer]] = Downloaded
    kind: Literal["download"] = "download"
    plan: Planned
    folder: Path


class PushPlanned(Answer):
    """Every file that a push would send, and the destination."""

    kind: Literal["push_planned"] = "push_planned"
    model: str
    host: str
    private: bool
    files: tuple[HubFile, ...]
    card: str = Field(description="The text of its README.md.")

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)


class PlanPush(HubQuestion):
    """Plan a push, without opening a connection."""

    answered_by: ClassVar[type[Answer]] = PushPlanned
    kind: Literal["plan_push"] = "plan_push"
    checkpoint: Path
    model: str
    private: bool = True


class Pushed(Answer):
    kind: Literal["pushed"] = "pushed"
    model: str
    address: str
    revision: str


class Push(HubQuestion):
    """Send a checkpoint with its card to the hub."""

    answered_by: ClassVar[type[Answer]] = Pushed
    kind: Literal["push"] = "push"
    checkpoint: Path
    model: str
    private: bool = True
