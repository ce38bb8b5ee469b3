"""Smaller networks from a trained one: fewer layers, narrower feed-forward blocks, fewer tokens.

What is kept has its old weights, so the result is a start for training, not yet a good model.

Shapes: D hidden size, I intermediate size, V vocabulary, N tokens.
"""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from engine.errors import StudioError
from engine.models.checkpoint import Checkpoint
from engine.models.encoder import Layer
from engine.models.fast.token_embedding import TokenEmbedding
from engine.models.network import Network
from engine.tokenizers.tokenizer import Tokenizer
from engine.tokenizers.wordpiece import PREFIX, WordPiece

Input = tuple[Sequence[int], Sequence[int]]  # token ids and segments


def make_smaller(
    loaded: Checkpoint, layers: int, intermediate_size: int, sample: Iterable[Input]
) -> Checkpoint:
    """Copy with fewer layers and a smaller intermediate size, without the heads of pre-training.

    Layers at even distances are kept, the first one among them (Sanh et al. 2019, §3). Of each
    feed-forward block, the neurons are kept with the largest mean absolute activation on `sample`
    times the norm of their output weights, Σ |h| · ‖w‖.

    Raises StudioError if the layers of the family share weights or differ by their position.
    """
    spec = loaded.spec
    if not can_lose_layers(loaded) and layers != spec.layers:
        raise StudioError(
            "The layers of this model share their weights or differ by their position, so none "
            "can be left out.",
            "Choose another model as the start.",
        )
    network = copy.deepcopy(loaded.network)
    network.mlm = network.nsp = None
    encoder = network.encoder
    encoder.layers = nn.ModuleList(encoder.layers[index] for index in kept(spec.layers, layers))
    if intermediate_size < spec.intermediate_size:
        narrow_feed_forward(network, intermediate_size, sample)
    spec = spec.model_copy(update={"layers": layers, "intermediate_size": intermediate_size})
    network.spec = spec
    return replace(loaded, spec=spec, network=network)


def can_lose_layers(loaded: Checkpoint) -> bool:
    """True if every layer has its own weights and they are alike."""
    parts = loaded.spec.parts
    return not loaded.spec.shares_layers and parts.window is None and parts.first_norm


def kept(layers: int, count: int) -> list[int]:
    """Indices of `count` layers at even distances, the first one among them."""
    return [index * layers // count for index in range(count)]


@torch.no_grad()
def narrow_feed_forward(network: Network, size: int, sample: Iterable[Input]) -> None:
    """Keep the `size` most important neurons of each feed-forward block."""
    blocks = [layer.feed_forward for layer in network.encoder.layers if isinstance(layer, Layer)]
    activity = [torch.zeros(block.narrow.in_features) for block in blocks]

    def record(index: int, hidden: Tensor) -> None:
        activity[index] += hidden.abs().flatten(0, -2).sum(0)  # [I]

    hooks = [
        block.narrow.register_forward_pre_hook(lambda _, x, index=index: record(index, x[0]))
        for index, block in enumerate(blocks)
    ]
    for ids, segments in sample:
        network.encoder(torch.tensor([ids]), torch.tensor([segments]))
    for hook in hooks:
        hook.remove()
    for block, active in zip(blocks, activity, strict=True):
        importance = active * block.narrow.weight.norm(dim=0)
        rows = importance.topk(size).indices.sort().values
        wide = [getattr(block, name) for name in ("wide", "gate") if hasattr(block, name)]
        for linear in wide:
            linear.weight = nn.Parameter(linear.weight[rows])
            linear.bias = None if linear.bias is None else nn.Parameter(linear.bias[rows])
            linear.out_features = size
        block.narrow.weight = nn.Parameter(block.narrow.weight[:, rows].contiguous())
        block.narrow.in_features = size


def can_lose_tokens(tokenizer: Tokenizer) -> bool:
    """True for WordPiece with marks, which splits the word of a removed token into shorter ones."""
    vocabulary = tokenizer.vocabulary
    return isinstance(vocabulary, WordPiece) and vocabulary.marked


def needed_tokens(tokenizer: Tokenizer, counts: np.ndarray) -> np.ndarray:
    """Ids of the tokens that occur, of single characters, and of those that are never split.

    Texts of these tokens are tokenized as before, since the longest match is still among them.

    Args:
        counts: of each token in the training texts, int64 [V].
    """
    keep = counts > 0
    for index, token in enumerate(tokenizer.tokens):
        if len(token.removeprefix(PREFIX)) == 1 or token in tokenizer.vocabulary.unsplit:
            keep[index] = True
    kept_ids: np.ndarray = np.flatnonzero(keep)
    return kept_ids


@torch.no_grad()
def cut_vocabulary(loaded: Checkpoint, ids: np.ndarray) -> Checkpoint:
    """Copy with these tokens only, int64 [N] ascending, without the heads of pre-training."""
    vocabulary = loaded.tokenizer.vocabulary
    assert isinstance(vocabulary, WordPiece)
    tokens = tuple(vocabulary.tokens[index] for index in ids)
    base = vocabulary.base_size
    shorter = replace(
        vocabulary, tokens=tokens, base_size=None if base is None else int((ids < base).sum())
    )
    network = copy.deepcopy(loaded.network)
    network.mlm = network.nsp = None
    old = network.encoder.embeddings.token
    rows = TokenEmbedding(len(ids), old.embedding_dim)
    rows.weight = nn.Parameter(old.weight[torch.from_numpy(ids)])
    network.encoder.embeddings.token = rows
    spec = loaded.spec.model_copy(update={"vocab_size": len(ids)})
    network.spec = spec
    return replace(loaded, spec=spec, network=network, tokenizer=Tokenizer(shorter))
