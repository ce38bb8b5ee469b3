"""Tiny networks, batches and checkpoint folders."""

from pathlib import Path

import torch
from torch import Tensor

from engine.config.families.bert import BertSpec
from engine.models.checkpoint import write
from engine.models.heads import Heads
from engine.models.network import Network
from engine.tokenizers.tokenizer import Tokenizer

SPEC = BertSpec(
    vocab_size=40, hidden_size=16, layers=2, heads=2, intermediate_size=32, max_positions=24
)
ALL = Heads(mlm=True, nsp=True)
LABELS = ("bad", "good", "so-so")
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopq", "##a", "##b", "##c")


def sized(tokenizer: Tokenizer, **changes: object) -> BertSpec:
    """The spec of a tiny network for a vocabulary."""
    return SPEC.model_copy(update={"vocab_size": tokenizer.size, "max_positions": 48} | changes)


def network(heads: Heads = ALL, spec: BertSpec = SPEC, seed: int = 1) -> Network:
    """A network whose fresh weights are spread enough to reveal mistakes."""
    torch.manual_seed(seed)
    model = Network(spec.model_copy(update={"initializer_range": 0.2}), heads)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    model.spec = spec
    return model.eval()


def tokenizer(folder: Path, words: tuple[str, ...] = WORDS) -> Tokenizer:
    """A vocabulary smaller than that of the network."""
    path = folder / "words.txt"
    path.write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    result = Tokenizer.from_vocabulary(path, lowercase=True)
    path.unlink()
    return result


def folder(path: Path, heads: Heads = ALL, spec: BertSpec = SPEC, **options: object) -> Path:
    """A checkpoint folder of a tiny network."""
    path.mkdir(parents=True)
    labels = LABELS if heads.outputs else ()
    write(path, network(heads, spec), tokenizer(path), labels, **options)
    return path


def batch(
    spec: BertSpec = SPEC, sequences: int = 3, tokens: int = 11
) -> tuple[Tensor, Tensor, Tensor]:
    """Tokens, segments and attention mask; all but the first sequence are padded."""
    generator = torch.Generator().manual_seed(5)
    shape = (sequences, tokens)
    ids = torch.randint(0, spec.vocab_size, shape, generator=generator)
    segments = torch.randint(0, 2, shape, generator=generator)
    lengths = torch.tensor([tokens - 3 * number for number in range(sequences)]).clamp(min=1)
    return ids, segments, torch.arange(tokens)[None] < lengths[:, None]
