"""Write folders of other kinds of models with their own libraries.

    python write_others.py FOLDER

Runs in an environment of these libraries, with none of our packages. See `made.py`.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
import spacy
import torch
from made import Made, write_all
from making import SPECIAL, TEXTS, case, config_for, model_for, save, tokenizer_for
from model2vec import StaticModel
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer, models
from setfit import SetFitModel
from sklearn.linear_model import LogisticRegression
from tokenizers import Tokenizer
from tokenizers.models import WordLevel


def named(folder: Path, refused: str) -> Made:
    return Made(folder.name, refused, TEXTS, None)


def forms(folder: Path) -> Iterator[Made]:
    """Kinds of models that have no network of ours."""
    words = Tokenizer(WordLevel({word: n for n, word in enumerate(SPECIAL)}, "[UNK]"))
    rng = np.random.default_rng(0)
    static = StaticModel(rng.normal(size=(len(SPECIAL), 8)), words)
    static.save_pretrained(folder / "model2vec")
    yield named(folder / "model2vec", "static model (model2vec)")
    spacy.blank("en").to_disk(folder / "spacy")
    yield named(folder / "spacy", "a spaCy pipeline")
    (folder / "gguf").mkdir()
    writer = gguf.GGUFWriter(folder / "gguf" / "model.gguf", "bert")
    writer.add_tensor("token_embd.weight", np.zeros((4, 4), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    yield named(folder / "gguf", "GGUF")


def sentence_classifiers(folder: Path) -> Iterator[Made]:
    """SetFit: the sentence encoder is read, and the classifier is named."""
    scratch = folder / ".scratch"
    scratch.mkdir()
    splitter = tokenizer_for("Bert", scratch)
    encoder = folder / ".encoder"
    save(model_for("Bert", "Model", config_for("Bert", len(splitter) + 3)), splitter, encoder)
    parts = [models.Transformer(str(encoder)), models.Pooling(32)]
    body = SentenceTransformer(modules=parts, device="cpu")
    head = LogisticRegression().fit(body.encode(TEXTS), [0, 1, 0])
    SetFitModel(model_body=body, model_head=head).save_pretrained(str(folder / "setfit"))
    yield named(folder / "setfit", "The classifier of SetFit")


def exports(folder: Path) -> Iterator[Made]:
    """Folders whose weights were replaced by those of another program."""
    for name, files, refused in (
        ("openvino", ("openvino_model.xml", "openvino_model.bin"), "OpenVINO"),
        ("onnx", ("model.onnx",), "ONNX"),
        ("transformers-js", ("onnx/model_quantized.onnx",), "ONNX or transformers.js"),
        ("tensorflow", ("tf_model.h5",), "TensorFlow 2"),
        ("flax", ("flax_model.msgpack",), "Flax"),
    ):

        def replace(folder: Path, _: object, files: tuple[str, ...] = files) -> None:
            (folder / "model.safetensors").unlink()
            for file in files:
                (folder / file).parent.mkdir(exist_ok=True)
                (folder / file).write_bytes(b"not read")

        yield case(folder, name, edit=replace, refused=refused)

    def renamed(folder: Path, model: torch.nn.Module) -> None:
        (folder / "model.safetensors").unlink()
        halves = {name: tensor.half().clone() for name, tensor in model.state_dict().items()}
        save_file(halves, folder / "model.fp16.safetensors")

    yield case(folder, "fp16-name", edit=renamed, refused="weights have another name")


if __name__ == "__main__":
    write_all(Path(sys.argv[1]), [forms, sentence_classifiers, exports])
