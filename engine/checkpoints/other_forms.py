"""Forms of models that cannot be loaded, known by their files and modules.

A table names each form and what to do. It is asked before a message says that a file is missing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from engine.errors import BadCheckpoint
from engine.files.untrusted import safe_name
from engine.phrases import phrase

MAX_FILES = 2_000  # names that are read of a folder
TORCH = phrase("Get the original model with model.safetensors; its page on the hub links to it.")


@dataclass(frozen=True)
class Form:
    """A form of models.

    Args:
        title: what it is.
        advice: what to do.
        files: patterns of file names, one of which is enough.
        modules: classes in modules.json of sentence-transformers.
    """

    title: str
    advice: str
    files: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


FORMS = (
    Form(
        phrase("a LoRA adapter (PEFT), the difference to a base model"),
        phrase("Import it, with its base model in a folder next to it."),
        files=("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"),
    ),
    Form(
        phrase("a model in several files without the list of its tensors"),
        phrase("Copy model.safetensors.index.json or pytorch_model.bin.index.json, too."),
        files=("model-*-of-*.safetensors", "pytorch_model-*-of-*.bin"),
    ),
    Form(
        phrase("a model whose weights have another name"),
        phrase("Rename the file to model.safetensors or pytorch_model.bin."),
        files=("*.safetensors", "pytorch_model.*.bin"),
    ),
    Form(
        phrase("a checkpoint in shards of DeepSpeed or FSDP"),
        phrase("Join them with zero_to_fp32.py, or with “accelerate merge-weights”."),
        files=("zero_to_fp32.py", "global_step*/*", "pytorch_model_fsdp_*/*", "*.distcp"),
    ),
    Form(phrase("a quantised model in the GGUF form of llama.cpp"), TORCH, files=("*.gguf",)),
    Form(phrase("a model for OpenVINO"), TORCH, files=("openvino_model*.xml", "openvino/*")),
    Form(
        phrase("a model for ONNX or transformers.js"),
        TORCH,
        files=("*.onnx", "onnx/*", "model.ort"),
    ),
    Form(
        phrase("a spaCy pipeline"),
        phrase("Choose the transformer that it was trained from; config.cfg names it."),
        files=("config.cfg", "*/config.cfg"),
    ),
    Form(
        phrase("the classifier of SetFit, without the sentence encoder before it"),
        phrase("Choose the whole folder of the model."),
        files=("model_head.pkl", "config_setfit.json"),
    ),
    Form(
        phrase("a checkpoint of PyTorch Lightning or a pickle of a program"),
        phrase("Load it with its program, and save the model with save_pretrained."),
        files=("*.ckpt", "*.pt", "*.pth", "*.pkl"),
    ),
    Form(
        phrase("a model for TensorFlow 2 or Keras"),
        phrase("Load it with transformers 4 and from_tf=True, and save it with save_pretrained."),
        files=("tf_model.h5", "*.h5", "saved_model.pb", "*.keras", "tf_model*.h5.index.json"),
    ),
    Form(
        phrase("a model for Flax"),
        phrase("Load it with transformers 4 and from_flax=True, and save it with save_pretrained."),
        files=("flax_model.msgpack", "flax_model*.json"),
    ),
    Form(phrase("a model for TensorFlow Lite"), TORCH, files=("*.tflite",)),
    Form(phrase("a model for rust-bert"), TORCH, files=("rust_model.ot",)),
    Form(phrase("a model for Core ML"), TORCH, files=("*.mlmodel", "*.mlpackage/*", "coreml/*")),
    Form(phrase("a model for MLX"), TORCH, files=("weights.npz",)),
    Form(phrase("a model for CTranslate2 or fastText"), TORCH, files=("model.bin", "*.ftz")),
    Form(
        phrase("a sparse encoder (SPLADE), which weights the words of the vocabulary"),
        phrase("Choose a dense sentence encoder, or delete modules.json to use its MLM network."),
        modules=("SpladePooling", "MLMTransformer", "SparseAutoEncoder", "SparseStaticEmbedding"),
    ),
    Form(
        phrase("a ColBERT model, which has a vector for each token"),
        phrase("Choose an encoder with one vector for a text."),
        files=("artifact.metadata",),
        modules=("MultiVectorMask", "TokenPooling", "pylate"),
    ),
    Form(
        phrase("a pair of encoders for queries and documents (Router)"),
        phrase("Choose an encoder with one network for both."),
        modules=("Router", "Asym"),
    ),
    Form(
        phrase("a static model (model2vec), a table of word vectors without a network"),
        phrase("Choose a BERT, or another encoder with layers."),
        modules=("StaticEmbedding", "WordEmbeddings", "BoW", "WordWeights"),
    ),
    Form(
        phrase("a reranker that compares the logits of two words"),
        phrase("Choose a cross-encoder with a classification head."),
        modules=("LogitScore",),
    ),
    Form(
        phrase("a model for images and texts (CLIP)"),
        phrase("Choose an encoder of texts."),
        modules=("CLIPModel",),
    ),
)


def other_form(name: str, files: Iterable[str]) -> BadCheckpoint | None:
    """The error for a model whose files show another form; None if they show none."""
    names = [file for file in files if file != "model.safetensors"]
    for form in FORMS:
        for pattern in form.files:
            if found := next((file for file in names if fnmatchcase(file, pattern)), ""):
                return _error(name, form, found)
    return None


def folder_form(folder: Path) -> BadCheckpoint | None:
    """The error for a folder of another form; None if its files show none."""
    if not folder.is_dir():
        return None
    names: list[str] = []
    for entry in sorted(folder.iterdir())[:MAX_FILES]:
        inner = sorted(entry.iterdir())[:MAX_FILES] if entry.is_dir() else ()
        names += [entry.name, *(f"{entry.name}/{path.name}" for path in inner)]
    return other_form(folder.name, names)


def module_form(name: str, modules: Iterable[str]) -> BadCheckpoint | None:
    """The error for a folder of sentence-transformers with modules of another form."""
    pairs = ((form, kind) for kind in modules for form in FORMS if kind in form.modules)
    return next((_error(name, form, kind) for form, kind in pairs), None)


def _error(name: str, form: Form, found: str) -> BadCheckpoint:
    return BadCheckpoint(
        "{name} cannot be loaded: it is {title} ({found}).",
        form.advice,
        name=safe_name(name),
        title=form.title,
        found=safe_name(found),
    )
