"""BERT Studio's side: the functions that the window and the commands call."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.answers import texts
from engine.config.families.bert import bert
from engine.data.datasets.rows import Rows
from engine.explore.attention import weights
from engine.explore.fill_mask import fill_mask
from engine.files.shipped import starter_model
from engine.messages.explore.fill_mask import FillMask
from engine.models.checkpoint import Checkpoint, load, save
from engine.models.heads import Heads
from engine.models.network import Network
from engine.serving.network import pack_network
from engine.serving.serving import Serving
from engine.tasks import checkpoint_learner, evaluating
from engine.tasks.inputs import encode_text
from engine.tokenizers.tokenizer import Tokenizer

WORDS, CLASSES = "words", "classes"  # names of the two checkpoints


def make(folder: Path, layers: int, rows: int) -> None:
    """BERT base with a head for masked words, and one with a head for two classes."""
    tokenizer = Tokenizer.from_folder(starter_model())
    spec = bert(layers, 768, vocabulary=30_522)
    for name, heads in ((WORDS, Heads(mlm=True)), (CLASSES, Heads(outputs=2))):
        if not (folder / name).exists():
            torch.manual_seed(0)
            labels = ("no", "yes") if heads.outputs else ()
            save(folder / name, Network(spec, heads), tokenizer, labels)
    alphabetic = [token for token in tokenizer.tokens if token.isascii() and token.isalpha()]
    words = [word for word in alphabetic if len(tokenizer.encode(word).ids) == 3]
    texts.write(folder, words, rows)


def make_answerer(folder: Path, work: str, kind: str) -> Callable[[], object]:
    if work.startswith("rows"):
        number, _, batches_by_length = kind.partition(" ")
        if batches_by_length:
            evaluating.uses_two_threads = lambda device: False  # one batch at a time
        classifier = served(load(folder / CLASSES), number)
        learner, rows = checkpoint_learner(classifier), Rows(texts.rows(folder))
        assert learner is not None
        return lambda: evaluating.collect_predictions(
            classifier, learner, rows, 512, 32
        ).predictions()
    number, _, with_maps = kind.partition(" ")
    checkpoint = served(load(folder / WORDS), number)
    if work == "words":
        question = FillMask(checkpoint=folder, text=texts.masked_text(folder, 16), top=5)
        return lambda: fill_mask(checkpoint, question)
    if work == "forward":
        text = texts.text(folder, 128)
        return lambda: weights(checkpoint, text) if with_maps else vectors(checkpoint, text)
    text = texts.text(folder, int(work.partition("-")[2]))
    return lambda: weights(checkpoint, text)


@torch.inference_mode()
def vectors(checkpoint: Checkpoint, text: str) -> Tensor:
    """Output vectors of a text, float [T, D]."""
    inputs = encode_text(checkpoint, text, None)
    last: Tensor = checkpoint.network.encoder(inputs.tokens, inputs.segments).last
    return last[0]


def served(checkpoint: Checkpoint, kind: str) -> Checkpoint:
    """The checkpoint in this precision, without the accuracy check."""
    exact = Serving(checkpoint).exact
    if kind == "float32":
        return exact
    return replace(exact, network=pack_network(exact.network, kind))


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("make", "answer"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("work", nargs="?")
    parser.add_argument("who", nargs="?")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--rows", type=int, default=texts.ROWS)
    parser.add_argument("--warm", type=int, default=2, help="untimed answers")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    if options.what == "make":
        make(options.folder, options.layers, options.rows)
    else:
        kind = options.who.partition(" ")[2]
        texts.answer_in_turn(make_answerer(options.folder, options.work, kind), options.warm)


if __name__ == "__main__":
    main(sys.argv[1:])
