"""Create the checkpoints in this folder with TensorFlow 2.21: run `python make.py` here.

`saved` is what training writes: weights, Adam's moments, the number of steps, and the file
`checkpoint`. `shards` has only the weights, in three files. The numbers follow from the names
(`numbers`, which test_tf1.py repeats), so that the tests need no TensorFlow.
"""

import json
import zlib
from pathlib import Path

import numpy as np
import tensorflow as tf

V, D, INNER, POSITIONS = 12, 4, 6, 8
CONFIG = {
    "attention_probs_dropout_prob": 0.1,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "hidden_size": D,
    "initializer_range": 0.02,
    "intermediate_size": INNER,
    "max_position_embeddings": POSITIONS,
    "num_attention_heads": 2,
    "num_hidden_layers": 1,
    "type_vocab_size": 2,
    "vocab_size": V,
}
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdef", "##a"]
LAYER = "bert/encoder/layer_0"
SHAPES: dict[str, tuple[int, ...]] = {
    "bert/embeddings/word_embeddings": (V, D),
    "bert/embeddings/position_embeddings": (POSITIONS, D),
    "bert/embeddings/token_type_embeddings": (2, D),
    "cls/predictions/output_bias": (V,),
    "cls/seq_relationship/output_weights": (2, D),
    "cls/seq_relationship/output_bias": (2,),
}
for name, inputs, outputs in (
    *((f"{LAYER}/attention/self/{part}", D, D) for part in ("query", "key", "value")),
    (f"{LAYER}/attention/output/dense", D, D),
    (f"{LAYER}/intermediate/dense", D, INNER),
    (f"{LAYER}/output/dense", INNER, D),
    ("bert/pooler/dense", D, D),
    ("cls/predictions/transform/dense", D, D),
):
    SHAPES |= {f"{name}/kernel": (inputs, outputs), f"{name}/bias": (outputs,)}
for name in (
    "bert/embeddings",
    f"{LAYER}/attention/output",
    f"{LAYER}/output",
    "cls/predictions/transform",
):
    SHAPES |= {f"{name}/LayerNorm/{part}": (D,) for part in ("gamma", "beta")}


def numbers(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers from -1 to 1, exact in float32, that depend on the name."""
    count = np.arange(np.prod(shape, dtype=int))
    values = (zlib.crc32(name.encode()) + 7919 * count) % 2001 - 1000
    return (values / 1024).astype(np.float32).reshape(shape)


def make_folder(folder: str) -> Path:
    path = Path(folder)
    path.mkdir()
    (path / "bert_config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
    (path / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS))
    return path


def save(folder: Path) -> None:
    v1 = tf.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        v1.Variable(np.int64(7), name="global_step")
        for name, shape in SHAPES.items():
            for slot in ("", "/adam_m", "/adam_v"):
                v1.Variable(numbers(name + slot, shape), name=name + slot)
        session.run(v1.global_variables_initializer())
        saver = v1.train.Saver(save_relative_paths=True)
        saver.save(session, f"{folder}/model.ckpt", global_step=7, write_meta_graph=False)


def save_shards(folder: Path, count: int) -> None:
    names = sorted(SHAPES)
    parts = [f"{folder}/part-{number}" for number in range(count)]
    for number, part in enumerate(parts):
        part_names = names[number::count]
        tf.raw_ops.SaveV2(
            prefix=part,
            tensor_names=part_names,
            shape_and_slices=[""] * len(part_names),
            tensors=[tf.constant(numbers(name, SHAPES[name])) for name in part_names],
        )
    prefix = f"{folder}/bert_model.ckpt"
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=parts, destination_prefix=prefix)


if __name__ == "__main__":
    save_shards(make_folder("shards"), 3)
    save(make_folder("saved"))
