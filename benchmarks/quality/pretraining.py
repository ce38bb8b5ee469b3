"""Pre-training with masked words and next sentence whose outcome is known.

    python -m benchmarks quality pretraining sample-text CORPUS WORK
    python -m benchmarks quality pretraining rxnfp CHECKPOINT WORK

`sample-text` memorizes the sample of Google's README. `rxnfp` continues from a published checkpoint
and compares its first losses with those of transformers on the same batches. The headless commands
are printed; run folders stay in WORK.
"""

import json
import os
import shlex
import shutil
from pathlib import Path

from benchmarks import harness

SAMPLE_STEPS, RXNFP_STEPS = 600, 60
FIRST = 5  # steps whose losses are compared


def main(options: list[str]) -> None:
    parser = harness.parser("quality pretraining", __doc__)
    parser.add_argument("what", choices=("sample-text", "rxnfp"))
    parser.add_argument("source", type=Path, help="the folder of the corpus or the checkpoint")
    parser.add_argument("work", type=Path, help="a folder for what is made")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args(options)
    arguments.work.mkdir(parents=True, exist_ok=True)
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    run = sample_text if arguments.what == "sample-text" else rxnfp
    run(arguments.source, arguments.work, arguments.threads)


# ── the sample text ──────────────────────────────────────────────────────────────────────────


def sample_text(corpus: Path, work: Path, threads: int) -> None:
    """Memorize the text: evaluated on its training data, as in Google's README."""
    text = corpus / "sample_text.txt"
    run = train(
        work / "sample-text",
        ["--data", text, "--validation", text, "--task", "pretraining", "--size", "tiny"],
        [
            "--tokenizer",
            harness.PROJECT / "resources" / "starter",
            "--steps",
            SAMPLE_STEPS,
            "--batch-size",
            16,
        ],
        ["--learning-rate", "1e-3", "--max-length", 128, "--threads", threads],
        ["--set", "task.nsp=true", "--set", "task.masking=static"],
        ["--set", "task.dupe_factor=5", "--set", "training.dropout=0"],
        ["--set", f"training.evaluate_every={SAMPLE_STEPS // 6}"],
    )
    values_by_name = curves(run)
    print("| step | loss | MLM loss | NSP loss | MLM accuracy | NSP accuracy |")
    print("| --- | --- | --- | --- | --- | --- |")
    names = ("loss", "loss_mlm", "loss_nsp", "accuracy")
    for step in sorted(values_by_name["validation_loss"]):
        values = [values_by_name[f"validation_{name}"][step] for name in (*names, "nsp_accuracy")]
        print(f"| {step} | {' | '.join(f'{value:.4f}' for value in values)} |")


# ── reactions ────────────────────────────────────────────────────────────────────────────────

CHAINS = ("C", "CC", "CCC", "CCCC", "CC(C)C", "CCCCC", "CC(C)CC", "OCC", "COCC", "FC(F)(F)C")
RINGS = (
    *("c1ccccc1", "c1ccc(C)cc1", "c1ccc(F)cc1", "c1ccc(Cl)cc1", "c1ccc(OC)cc1", "c1ccncc1"),
    *("c1cccnc1", "c1ccsc1", "c1ccc(C#N)cc1", "c1ccc(C(F)(F)F)cc1"),
)
KINDS = {
    "esterification": ("{0}C(=O)O.O{1}>>{0}C(=O)O{1}", CHAINS, CHAINS),
    "amide": ("{0}C(=O)O.N{1}>>{0}C(=O)N{1}", CHAINS, RINGS),
    "acylation": ("{0}C(=O)Cl.N{1}>>{0}C(=O)N{1}", CHAINS, RINGS),
    "ether": ("{0}Br.O{1}>>{0}O{1}", CHAINS, RINGS),
    "amine": ("{0}Br.N{1}>>{0}N{1}", CHAINS, RINGS),
    "Suzuki": ("Br{0}.OB(O){1}>>{1}-{0}", RINGS, RINGS),
}


def reactions() -> str:
    """Textbook reactions as SMILES, one per line, in documents with the same first reactant."""
    documents = []
    for form, firsts, seconds in KINDS.values():
        documents += [
            "\n".join(form.format(first, second) for second in seconds) for first in firsts
        ]
    return "\n\n".join(documents) + "\n"


def rxnfp(checkpoint: Path, work: Path, threads: int) -> None:
    """Continue the checkpoint: the first losses equal the published weights', then fall."""
    text = work / "reactions.txt"
    text.write_text(reactions(), encoding="utf-8")
    run = train(
        work / "rxnfp",
        ["--data", text, "--task", "pretraining", "--base-model", checkpoint],
        [
            "--steps",
            RXNFP_STEPS,
            "--batch-size",
            16,
            "--learning-rate",
            "5e-5",
            "--max-length",
            128,
        ],
        ["--threads", threads, "--set", "task.nsp=true"],
        ["--set", "training.dropout=0", "--set", f"training.evaluate_every={RXNFP_STEPS // 3}"],
    )
    values_by_name = curves(run)
    names = ("loss", "loss_mlm", "loss_nsp")
    print("| step | loss | MLM loss | NSP loss | transformers | | |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for step, reference in enumerate(transformers_losses(run, checkpoint), start=1):
        values = [values_by_name[name][step] for name in names]
        cells = " | ".join(f"{value:.5f}" for value in (*values, *reference))
        print(f"| {step} | {cells} |")
    print("| steps | loss | MLM loss | NSP loss |")
    print("| --- | --- | --- | --- |")
    for first in range(1, RXNFP_STEPS, 10):
        steps = range(first, first + 10)
        means = [sum(values_by_name[name][step] for step in steps) / 10 for name in names]
        print(f"| {first} to {first + 9} | {' | '.join(f'{mean:.4f}' for mean in means)} |")
    for step, right in sorted(values_by_name["validation_accuracy"].items()):
        print(f"validation, step {step}: {right:.4f} of the masked tokens right")


def transformers_losses(run: Path, checkpoint: Path) -> list[tuple[float, float, float]]:
    """Losses (total, MLM, NSP) of the published weights on the batches of the first steps.

    Only step 1 has to agree; after it our weights have changed.
    """
    import torch
    from transformers import BertConfig, BertForPreTraining

    from engine.runs.folder import RunFolder
    from engine.training.data.batch_preview import BatchPreview

    config = BertConfig.from_pretrained(checkpoint, attn_implementation="eager")
    model = BertForPreTraining.from_pretrained(checkpoint, config=config).eval()
    losses, preview = [], BatchPreview()
    for step in range(1, FIRST + 1):
        batch = preview.batch(RunFolder(run), step)
        assert batch.positions is not None and batch.nsp_targets is not None
        labels = torch.full_like(batch.tokens, -100)
        labels.view(-1)[batch.positions] = batch.targets
        mask = None if batch.attention_mask is None else batch.attention_mask.long()
        with torch.inference_mode():
            output = model(batch.tokens, attention_mask=mask, token_type_ids=batch.segments)
        words = torch.nn.functional.cross_entropy(
            output.prediction_logits.flatten(0, 1), labels.flatten()
        )
        pairs = torch.nn.functional.cross_entropy(output.seq_relationship_logits, batch.nsp_targets)
        losses.append((float(words + pairs), float(words), float(pairs)))
    return losses


# ── the commands ─────────────────────────────────────────────────────────────────────────────


def train(into: Path, *parts: list[object]) -> Path:
    """Compose a job and train it; what an earlier call made is replaced."""
    shutil.rmtree(into, ignore_errors=True)
    job = into.with_suffix(".json")
    options = [str(option) for part in parts for option in part]
    job.write_text(_bert_studio("job", *options), encoding="utf-8")
    _bert_studio("train", str(job), "--into", str(into))
    return into


def curves(run: Path) -> dict[str, dict[int, float]]:
    """The value of each step of each curve."""
    values: dict[str, dict[int, float]] = {}
    for line in (run / "events.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["kind"] == "measured":
            values.setdefault(event["name"], {})[event["step"]] = event["value"]
    return values


def _bert_studio(*arguments: str) -> str:
    print("$", shlex.join(["bert-studio", *arguments]), flush=True)
    return harness.run_studio(*arguments)
