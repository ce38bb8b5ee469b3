"""The report of an export, written into its folder as text and JSON."""

from pathlib import Path

from engine.messages.reports import ExportReport

TEXT, DATA = "export-report.txt", "export-report.json"
FORMS = {
    "hf": "Hugging Face layout (safetensors)",
    "tf1": "TensorFlow 1 checkpoint (Google's BERT code)",
    "onnx": "ONNX graph",
}
MOST_SHOWN = 200  # characters of a text
WIDTH = 14


def write_report(folder: Path, report: ExportReport) -> None:
    (folder / TEXT).write_text("\n".join(_lines(report)) + "\n", encoding="utf-8")
    (folder / DATA).write_text(report.model_dump_json(indent=1) + "\n", encoding="utf-8")


def _lines(report: ExportReport) -> list[str]:
    facts = {
        "Checkpoint": report.checkpoint,
        "Form": f"{FORMS[report.form]}, {report.precision}",
        "Written": report.at.isoformat(timespec="seconds"),
        "Heads": ", ".join(report.heads) or "none",
        "Weights": f"{report.tensors} tensors, {report.parameters:,} parameters",
        "Labels": ", ".join(report.labels) or "none",
    }
    if report.pruned_heads:
        facts["Pruned heads"] = f"{report.pruned_heads}, left out: their layers are narrower"
    how = f"{len(report.texts)} texts ({', '.join(report.sources)}), alone and in padded batches"
    checked = [
        f"The files were reloaded in a separate process and verified with {how}.",
        "Tokens and labels are identical to the model's.",
    ]
    if report.weights_equal:
        rounded = "" if report.precision == "float32" else f", rounded to {report.precision}"
        checked.append(f"All weights are those of the model{rounded}, bit for bit.")
    return [
        "BERT Studio export report",
        "",
        *(f"{name:{WIDTH}}{value}" for name, value in facts.items()),
        *(f"{'Note':{WIDTH}}{note}" for note in report.notes),
        "",
        *checked,
        *(one.sentence() for one in report.comparisons),
        "",
        "Versions",
        *(f"  {name:{WIDTH}}{number}" for name, number in report.versions.items()),
        "",
        "Texts",
        *(f"  {number:3}  {_shown(text)}" for number, text in enumerate(report.texts, 1)),
    ]


def _shown(text: str) -> str:
    line = " ".join(text.split()) or "(empty)"
    return line if len(line) <= MOST_SHOWN else f"{line[:MOST_SHOWN]} …"
