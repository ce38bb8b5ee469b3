"""Speed of a training step of every family against transformers, at the lengths of SST-2.

Both sides have the same random weights, batches, clipping and optimiser. Lengths are drawn like the
training sentences of SST-2 (3 to 66 tokens, mean 13), in batches of 32: in random order, so that
most of a batch is padding, and grouped by length like the Trainer's best setting. Times are CPU
seconds.
"""

import statistics
from collections.abc import Callable

import numpy as np
import torch
import transformers
from torch import Tensor

from benchmarks import harness
from engine.config.families import FAMILIES
from engine.config.model import EncoderSpec
from engine.models.heads import Heads
from engine.models.network import Network
from engine.models.published import architecture, build_config, published_name
from engine.models.weight_files import join_fused

LAYERS, WIDTH, VOCABULARY, BATCH = 4, 256, 8_000, 32
WARM, STEPS = 2, 6
POOL = 16  # batches whose rows are sorted together
Batch = tuple[Tensor, Tensor, Tensor, Tensor]  # tokens, segments, mask, labels
Side = Callable[[Batch], Tensor]


def main(rounds: int, threads: int) -> None:
    """Print a table with one row per family."""
    torch.set_num_threads(threads)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    print(f"\n### families: {LAYERS} layers × {WIDTH}, batches of {BATCH}, {threads} thread(s)\n")
    heads = ("ms per step", "× as fast, random order", "ms", "× as fast, grouped by length")
    print(harness.table_head("family", *heads), flush=True)
    seen = set[str]()
    for family in FAMILIES.values():
        if family.network in seen:
            continue  # the same network under another name
        seen.add(family.network)
        both = sides(family.name)
        cells = [cell for grouped in (False, True) for cell in compare(*both, grouped, rounds)]
        harness.print_row(family.title, *cells)


def compare(ours: Side, theirs: Side, grouped: bool, rounds: int) -> tuple[str, str]:
    """Milliseconds of our step, and its speed-up with the range over rounds."""
    ratios, times = list[float](), list[float]()
    for number in range(rounds):
        order = (ours, theirs) if number % 2 == 0 else (theirs, ours)
        cpu = {side: seconds(side, grouped) for side in order}
        ratios.append(cpu[theirs] / cpu[ours])
        times.append(cpu[ours])
    return f"{1000 * statistics.median(times):.0f}", harness.median_range(ratios)


def sides(family: str) -> tuple[Side, Side]:
    """Steps of our network and of the transformers model with the same weights."""
    kind = FAMILIES[family].spec
    extra_settings = {
        "deberta-v2": {"position_buckets": 256, "absolute_positions": False},
        "electra": {"embedding_size": WIDTH},
    }
    spec: EncoderSpec = kind(
        vocab_size=VOCABULARY,
        hidden_size=WIDTH,
        layers=LAYERS,
        heads=WIDTH // 64,
        intermediate_size=4 * WIDTH,
        **extra_settings.get(family, {}),
    )
    heads = Heads(outputs=2)
    torch.manual_seed(0)
    network = Network(spec, heads).train()
    network.use_sparse_token_gradient()  # as in a run
    config = build_config(spec, heads, ("bad", "good"), "float32")
    classes = FAMILIES[family].classes
    read = getattr(transformers, f"{classes}Config")(**{"pad_token_id": 1, **config})
    kind, entry = getattr(transformers, architecture(heads, family)), FAMILIES[family]
    tensors = {published_name(n, entry, heads): p.clone() for n, p in network.state_dict().items()}
    model, info = kind.from_pretrained(
        None, config=read, state_dict=join_fused(tensors, entry.fused), output_loading_info=True
    )
    model.train()
    if info["unexpected_keys"] or info["missing_keys"]:
        raise SystemExit(f"{family}: transformers has other tensors: {info}")
    has_segments = spec.segment_rows > 1
    ours_step, theirs_step = stepper(network), stepper(model)

    def ours(batch: Batch) -> Tensor:
        tokens, segments, mask, labels = batch
        return ours_step(
            torch.nn.functional.cross_entropy(network.logits(tokens, segments, mask), labels)
        )

    def theirs(batch: Batch) -> Tensor:
        tokens, segments, mask, labels = batch
        extra = {"token_type_ids": segments} if has_segments else {}
        output = model(input_ids=tokens, attention_mask=mask.long(), labels=labels, **extra)
        return theirs_step(output.loss)

    return ours, theirs


def stepper(network: torch.nn.Module) -> Callable[[Tensor], Tensor]:
    """Backward pass, clipping and a step of AdamW."""
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True)

    def step(loss: Tensor) -> Tensor:
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        return loss.detach()

    return step


def batches(grouped: bool) -> list[Batch]:
    """Batches of both sides; the padding id is 1, which some families count positions from."""
    rng = np.random.default_rng(3)
    drawn = rng.lognormal(2.3, 0.65, BATCH * POOL)
    all_lengths = np.clip(np.round(drawn) + 2, 3, 66).astype(int).reshape(POOL, BATCH)
    if grouped:
        all_lengths = np.sort(all_lengths, axis=None).reshape(POOL, BATCH)[rng.permutation(POOL)]
    result = []
    for lengths in all_lengths[: WARM + STEPS]:
        mask = torch.from_numpy(np.arange(lengths.max()) < lengths[:, None])
        tokens = torch.from_numpy(rng.integers(5, VOCABULARY, mask.shape))
        labels = torch.from_numpy(rng.integers(0, 2, BATCH))
        result.append((tokens.where(mask, 1), torch.zeros_like(tokens), mask, labels))
    return result


def seconds(side: Side, grouped: bool) -> float:
    """CPU seconds of a step."""
    all_batches = batches(grouped)
    for batch in all_batches[:WARM]:
        side(batch)
    _, cpu = harness.timed(lambda: [side(batch) for batch in all_batches[WARM:]])
    return cpu / STEPS
