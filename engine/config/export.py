"""Export formats of checkpoints."""

from typing import Literal

from engine.config import Spec

Form = Literal["hf", "tf1", "onnx"]
"""The Hugging Face layout with safetensors; Google's TensorFlow 1 files; an ONNX graph."""

Precision = Literal["float32", "float16", "bfloat16", "int8"]

PRECISIONS: dict[Form, tuple[Precision, ...]] = {  # the default first
    "hf": ("float32", "float16", "bfloat16"),
    "tf1": ("float32",),
    "onnx": ("float32", "int8"),
}


class Output(Spec):
    """An output tensor of a network, named as in transformers.

    `of`: one output per input or per token. `meaning`: the last axis holds scores of one choice,
    scores of any number of labels, or numbers.
    """

    name: str
    of: Literal["input", "token"]
    meaning: Literal["one", "any", "numbers"]
