"""In which forms a checkpoint can be written for other programs."""

from typing import Literal

from engine.config import Spec

Form = Literal["hf", "tf1", "onnx"]
"""The Hugging Face layout with safetensors; Google's TensorFlow 1 files; an ONNX graph."""

Precision = Literal["float32", "float16", "bfloat16", "int8"]

PRECISIONS: dict[Form, tuple[Precision, ...]] = {  # the usual one first
    "hf": ("float32", "float16", "bfloat16"),
    "tf1": ("float32",),
    "onnx": ("float32", "int8"),
}


class Output(Spec):
    """One thing that a network says, under the name that transformers gives it.

    `of` tells whether it is said of an input as a whole or of each of its tokens. `meaning` tells
    how its last axis is read: as one of several, any number of several, or as mere numbers.
    """

    name: str
    of: Literal["input", "token"]
    meaning: Literal["one", "any", "numbers"]
