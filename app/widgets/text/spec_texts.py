"""Specs in the user's language: titles, help, values, problems."""

from collections.abc import Callable

from pydantic.fields import FieldInfo

from app.translation import in_language, tr, translated
from engine.config.problems import Problem
from engine.config.tasks import get_metric
from engine.phrases import number_text


def title_of(name: str, info: FieldInfo) -> str:
    return in_language(info.title or name.replace("_", " ").capitalize())


def short_title_of(name: str, info: FieldInfo) -> str:
    """Title without the part in brackets, for lists."""
    return title_of(name, info).partition(" (")[0]


def help_of(info: FieldInfo) -> str:
    """Help text of a field."""
    return in_language(info.description) if info.description else ""


NAMES: dict[str, Callable[[], str]] = {
    "auto": lambda: tr("Automatic"),
    "on": lambda: tr("On"),
    "off": lambda: tr("Off"),
    "cpu": lambda: tr("CPU"),
    "cuda": lambda: tr("GPU (CUDA)"),
    "mps": lambda: tr("GPU (Apple Metal)"),
    "gelu": lambda: "GELU",
    "gelu_new": lambda: tr("GELU (tanh approximation)"),
    "relu": lambda: "ReLU",
    "silu": lambda: "SiLU",
    "quick_gelu": lambda: tr("GELU (sigmoid approximation)"),
    "tanh": lambda: "tanh",
    "mish": lambda: "Mish",
    "mlm": lambda: tr("Masked language modelling (MLM)"),
    "clm": lambda: tr("Causal language modelling (CLM)"),
    "dynamic": lambda: tr("Dynamic"),
    "static": lambda: tr("Static"),
    "query and value": lambda: tr("Query and value"),
    "all": lambda: tr("All matrices"),
    "fine-tuned": lambda: tr("Fine-tuning"),
    "contrastive": lambda: tr("Contrastive fine-tuning"),
    "embeddings": lambda: tr("Embeddings"),
    "second-to-last": lambda: tr("Second-to-last layer"),
    "last": lambda: tr("Last layer"),
    "sum of last four": lambda: tr("Sum of the last four layers"),
    "concatenation of last four": lambda: tr("Concatenation of the last four layers"),
    "sum of all": lambda: tr("Sum of all layers"),
    "learned mix": lambda: tr("Learned mix of layers"),
    "one layer": lambda: tr("One layer"),
    "layer sweep": lambda: tr("Layer probing sweep"),
    "bilstm": lambda: tr("BiLSTM"),
    "linear": lambda: tr("Linear"),
    "mean": lambda: tr("Mean"),
    "first": lambda: tr("First"),
    "cls": lambda: tr("[CLS] token"),
    "max": lambda: tr("Maximum"),
    "cosine": lambda: tr("Cosine"),
    "in_batch_negatives": lambda: tr("In-batch negatives (pairs that belong together)"),
    "grid": lambda: tr("Grid search"),
    "random": lambda: tr("Random search"),
    "tpe": lambda: tr("TPE (Optuna)"),
    "triplets": lambda: tr("Triplets (with a negative text)"),
    "truncate": lambda: tr("Truncate"),
    "windows": lambda: tr("Windows"),
    "attention": lambda: tr("Learned attention"),
    "constant": lambda: tr("Constant"),
    "name": lambda: tr("split names"),
    "time": lambda: tr("times"),
    "group": lambda: tr("groups"),
}


def value_text(value: object) -> str:
    """A value of a spec in words."""
    if value is None:
        return tr("as in the model")
    if isinstance(value, bool):
        return tr("on") if value else tr("off")
    if isinstance(value, int | float):
        return number_text(value)
    if isinstance(value, dict):
        pairs = [f"{name} {value_text(inner)}" for name, inner in value.items()]
        return ", ".join(pairs) or tr("none")
    text = str(value) or tr("none")
    if (metric := get_metric(text)) is not None:
        return in_language(metric.title)
    return NAMES[text]() if text in NAMES else text


def problem_text(problem: Problem) -> str:
    """A problem of a spec as a sentence."""
    text = translated(problem.text).rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."
