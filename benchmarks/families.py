"""Speed of a training step of every family beside transformers, at the lengths of SST-2.

    python benchmarks/training.py --families

Both sides have the same random weights, batches, clipping and optimiser; what differs is the
network. Lengths are drawn as in SST-2's training sentences (mean 13 tokens with the marks, 3 to
66), in batches of 32: as drawn, where most of a batch is padding, and grouped by length as the
Trainer does it at its best. The sides take turns, and the times are those of the processor.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
import transformers
from torch import Tensor

from engine.config.families import FAMILIES
from engine.config.model import EncoderSpec
from engine.models.heads import Heads
from engine.models.network import Network
from engine.models.published import architecture, build_config, published_name
from engine.models.weight_files import join_fused

LAYERS, WIDTH, VOCABULARY, BATCH = 4, 256, 8_000, 32
WARM, STEPS = 2, 6
POOL = 16  # batches whose rows are sorted together where they are grouped by length
Given = tuple[Tensor, Tensor, Tensor, Tensor]  # tokens, segments, mask, labels
Side = Callable[[Given], Tensor]


def main(rounds: int, threads: int) -> None:
    """Print a table: one row a family."""
    torch.set_num_threads(threads)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    print(f"\n### families: {LAYERS} layers × {WIDTH}, batches of {BATCH}, {threads} thread(s)\n")
    print("| family | ms of a step | × as fast, as drawn | ms | × as fast, grouped by length |")
    print("| --- | --- | --- | --- | --- |", flush=True)
    seen = set[str]()
    for family in FAMILIES.values():
        if family.network in seen:
            continue  # the same network under another name
        seen.add(family.network)
        both = sides(family.name)
        cells = [cell for grouped in (False, True) for cell in compared(*both, grouped, rounds)]
        print(f"| {family.title} | {' | '.join(cells)} |", flush=True)


def compared(ours: Side, theirs: Side, grouped: bool, rounds: int) -> tuple[str, str]:
    """Our milliseconds of a step, and how many times as fast it is, with the range of rounds."""
    ratios, times = list[float](), list[float]()
    for number in range(rounds):
        order = (ours, theirs) if number % 2 == 0 else (theirs, ours)
        found = {side: seconds(side, grouped) for side in order}
        ratios.append(found[theirs] / found[ours])
        times.append(found[ours])
    low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
    return f"{1000 * statistics.median(times):.0f}", f"{middle:.2f} ({low:.2f}–{high:.2f})"


def sides(family: str) -> tuple[Side, Side]:
    """A step's loss by our network, and by that of transformers with the same weights."""
    kind = FAMILIES[family].spec
    more = {
        "deberta-v2": {"position_buckets": 256, "absolute_positions": False},
        "electra": {"embedding_size": WIDTH},
    }
    spec: EncoderSpec = kind(
        vocab_size=VOCABULARY,
        hidden_size=WIDTH,
        layers=LAYERS,
        heads=WIDTH // 64,
        intermediate_size=4 * WIDTH,
        **more.get(family, {}),
    )
    heads = Heads(outputs=2)
    torch.manual_seed(0)
    network = Network(spec, heads).train()
    network.reuse_token_gradient()  # as a run does
    config = build_config(spec, heads, ("bad", "good"), "float32")
    classes = FAMILIES[family].classes
    read = getattr(transformers, f"{classes}Config")(**{"pad_token_id": 1, **config})
    kind, entry = getattr(transformers, architecture(heads, family)), FAMILIES[family]
    named = {published_name(n, entry, heads): p.clone() for n, p in network.state_dict().items()}
    model, found = kind.from_pretrained(
        None, config=read, state_dict=join_fused(named, entry.fused), output_loading_info=True
    )
    model.train()
    if found["unexpected_keys"] or found["missing_keys"]:
        raise SystemExit(f"{family}: transformers has other tensors: {found}")
    has_segments = spec.segment_rows > 1
    ours_step, theirs_step = stepper(network), stepper(model)

    def ours(given: Given) -> Tensor:
        tokens, segments, mask, labels = given
        return ours_step(
            torch.nn.functional.cross_entropy(network.logits(tokens, segments, mask), labels)
        )

    def theirs(given: Given) -> Tensor:
        tokens, segments, mask, labels = given
        told = {"token_type_ids": segments} if has_segments else {}
        said = model(input_ids=tokens, attention_mask=mask.long(), labels=labels, **told)
        return theirs_step(said.loss)

    return ours, theirs


def stepper(network: torch.nn.Module) -> Callable[[Tensor], Tensor]:
    """What follows a loss: the way back, clipping, and a step of AdamW."""
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True)

    def step(loss: Tensor) -> Tensor:
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        return loss.detach()

    return step


def batches(grouped: bool) -> list[Given]:
    """The same for both sides; padding has the id 1, as families that count from it want it."""
    chance = np.random.default_rng(3)
    drawn = chance.lognormal(2.3, 0.65, BATCH * POOL)
    every = np.clip(np.round(drawn) + 2, 3, 66).astype(int).reshape(POOL, BATCH)
    if grouped:
        every = np.sort(every, axis=None).reshape(POOL, BATCH)[chance.permutation(POOL)]
    found = []
    for lengths in every[: WARM + STEPS]:
        mask = torch.from_numpy(np.arange(lengths.max()) < lengths[:, None])
        tokens = torch.from_numpy(chance.integers(5, VOCABULARY, mask.shape))
        labels = torch.from_numpy(chance.integers(0, 2, BATCH))
        found.append((tokens.where(mask, 1), torch.zeros_like(tokens), mask, labels))
    return found


def seconds(side: Side, grouped: bool) -> float:
    """Processor time of a step."""
    given = batches(grouped)
    for one in given[:WARM]:
        side(one)
    began = time.process_time()
    for one in given[WARM:]:
        side(one)
    return (time.process_time() - began) / STEPS
