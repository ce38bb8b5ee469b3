"""Export of a checkpoint to a folder in another format, verified by loading and comparing it."""

import platform
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from engine.checkpoints.source import CARD, copy_licence
from engine.config.export import PRECISIONS, Form
from engine.documents.card import licensed_folder, model_card
from engine.errors import StudioError
from engine.export.comparing import compare, export_error
from engine.export.examples import Examples, examples
from engine.export.onnx_graph import quantise, write_graph
from engine.export.reloading import Reloaded, fingerprint, reload
from engine.export.running import Request, predict, torch_run
from engine.files.atomic_write import apply_user_umask, atomic_folder, check_new_folder, verify
from engine.files.untrusted import plain_file
from engine.messages.exporting import Export, Exported
from engine.messages.question import Working
from engine.messages.reports import ExportReport
from engine.models import checkpoint
from engine.models.checkpoint import Checkpoint
from engine.models.narrower import count_pruned_heads, remove_pruned_heads
from engine.models.outputs import head_outputs
from engine.models.tf1 import write_tf1
from engine.phrases import phrase

STAGES = (
    phrase("Loading the model"),
    phrase("Running the model"),
    phrase("Writing the export"),
    phrase("Reloading the export in a separate process"),
)
MAX_VALUES = 50_000_000  # per output over all texts; 200 MB
MAX_TOKENS = 16  # compared tokens per text
DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16}
LIBRARIES = ("torch", "tokenizers", "safetensors", "numpy", "onnx", "onnxscript", "onnxruntime")

REPORT_TEXT, REPORT_DATA = "export-report.txt", "export-report.json"
FORMAT_TITLES = {
    "hf": "Hugging Face layout (safetensors)",
    "tf1": "TensorFlow 1 checkpoint (Google's BERT code)",
    "onnx": "ONNX graph",
}
MAX_TEXT_CHARACTERS = 200  # shown
LABEL_WIDTH = 14

Emit = Callable[[Working], object]


def export(question: Export, scratch: Path | None = None, emit: Emit = lambda _: None) -> Exported:
    """Carry out an Export; `scratch` is a folder for temporary files.

    Raises:
        BrokenExport: if the export cannot be loaded, or its outputs differ.
        StudioError: if the checkpoint, the format or the target folder is unsuitable.
        In both cases nothing is left at `question.into`.
    """
    _check(question)
    report_stage = _stage_reporter(question, emit)
    report_stage(0)
    verify(question.checkpoint)
    loaded = checkpoint.load(question.checkpoint)
    _check_head(loaded, question.form)
    with _io_errors(question.into), TemporaryDirectory(dir=scratch, prefix="export-") as temporary:
        report_stage(1)
        chosen = examples(question.checkpoint, question.texts, loaded.network.heads.scores_choices)
        request = _verification_request(question, loaded, chosen)
        predictions = predict(torch_run(loaded.network), loaded.tokenizer, request)
        with atomic_folder(question.into) as new_folder:
            report_stage(2)
            _write(new_folder, loaded, question, Path(temporary))
            report_stage(3)
            request = request.model_copy(update={"folder": new_folder})
            reloaded, export_predictions = reload(request, Path(temporary))
            weights_equal = _check_reloaded(reloaded, loaded, question)
            compared = compare(
                predictions, export_predictions, request.outputs, question.form, question.precision
            )
            report = ExportReport(
                checkpoint=question.checkpoint.name,
                form=question.form,
                precision=question.precision,
                heads=loaded.info.task_heads,
                tensors=len(loaded.report.loaded),
                parameters=loaded.info.parameters,
                labels=loaded.labels,
                notes=loaded.report.remarks(),
                pruned_heads=count_pruned_heads(loaded.network) if question.form == "onnx" else 0,
                weights_equal=weights_equal,
                texts=chosen.names,
                sources=chosen.sources,
                comparisons=compared,
                versions=_versions(),
            )
            write_report(new_folder, report)
            _check(question)  # again: the target may have been created in the meantime
        apply_user_umask(question.into)
    size = sum(file.stat().st_size for file in question.into.iterdir())
    return Exported(to=question.number, folder=question.into, bytes=size, report=report)


def _check(question: Export) -> None:
    possible = PRECISIONS[question.form]
    if question.precision not in possible:
        raise StudioError(
            "The format {form} does not support {precision}.",
            "It supports {possible}.",
            form=question.form,
            precision=question.precision,
            possible=" or ".join(possible),
        )
    check_new_folder(question.into)


def _check_head(loaded: Checkpoint, form: Form) -> None:
    """Raise StudioError for a probe or a pooling that the format cannot represent."""
    heads = loaded.network.heads
    if heads.pools and form == "tf1":
        raise StudioError(
            "The TensorFlow 1 format cannot store how a sentence encoder pools.",
            "Choose the Hugging Face layout, which sentence-transformers reads.",
        )
    if heads.scores_windows and form == "tf1":
        raise StudioError(
            "The TensorFlow 1 format cannot store the attention over windows.",
            "Choose the Hugging Face layout.",
        )
    probe = heads.features
    if probe is not None and form == "tf1":
        raise StudioError(
            "The TensorFlow 1 format cannot store a probe on a frozen encoder.",
            "Choose the Hugging Face layout.",
        )
    if probe is not None and form == "onnx" and probe.probe == "bilstm":
        raise StudioError(
            "A BiLSTM probe cannot be exported to ONNX.",
            "Choose the Hugging Face layout, or train a linear probe.",
        )


def _stage_reporter(question: Export, emit: Emit) -> Callable[[int], object]:
    return lambda number: emit(
        Working(to=question.number, stage=STAGES[number], done=number, total=len(STAGES))
    )


@contextmanager
def _io_errors(into: Path) -> Iterator[None]:
    """Turn an OSError into a StudioError about this export; atomic_folder reports a full disk."""
    try:
        yield
    except OSError as error:
        raise StudioError(
            "The export could not be written to {into}: {strerror}.",
            "Choose a folder that you can write to.",
            into=into,
            strerror=error.strerror or error,
        ) from error


def _verification_request(question: Export, loaded: Checkpoint, chosen: Examples) -> Request:
    outputs, spec = head_outputs(loaded.network.heads), loaded.spec
    max_size = max(spec.vocab_size, spec.hidden_size)
    affordable_tokens = MAX_VALUES // (len(chosen.examples) * max_size)
    sentence = loaded.network.heads.sentence
    prompt = "" if sentence is None else sentence.prompt  # the pooling may leave out its tokens
    return Request(
        form=question.form,
        folder=question.into,
        outputs=outputs,
        examples=tuple(
            tuple((prompt + text, pair) for text, pair in item) for item in chosen.examples
        ),
        max_length=spec.max_positions,
        max_tokens=min(max(affordable_tokens, 1), MAX_TOKENS),
    )


def _write(folder: Path, loaded: Checkpoint, question: Export, temporary: Path) -> None:
    content = (loaded.network, loaded.tokenizer, loaded.labels)
    extra = checkpoint.kept_entries(loaded)
    match question.form:
        case "hf":
            checkpoint.write(
                folder, *content, dtype=DTYPES.get(question.precision, torch.float32), extra=extra
            )
        case "tf1":
            write_tf1(folder, *content)
        case "onnx":
            checkpoint.write_config(folder, *content, extra=extra)
            network = remove_pruned_heads(loaded.network)
            if question.precision == "int8":
                unquantised = temporary / "float32"
                unquantised.mkdir()
                write_graph(unquantised, network)
                quantise(unquantised, folder)
                shutil.rmtree(unquantised)
            else:
                write_graph(folder, network)
    copy_licence(licensed_folder(question.checkpoint), folder)
    if (card := plain_file(question.checkpoint, CARD)) is not None:
        shutil.copyfile(card, folder / CARD)
    else:
        card_text = model_card(question.checkpoint, question.form, question.precision)
        (folder / CARD).write_text(card_text, encoding="utf-8")


def _check_reloaded(reloaded: Reloaded, loaded: Checkpoint, question: Export) -> bool | None:
    """Raise if labels, heads or weights differ; None if the format has no weights, else True."""
    head = loaded.network.heads.task
    all_names = () if head is None else head.output_names(loaded.labels)  # of a graph
    if loaded.labels and reloaded.labels not in (loaded.labels, all_names):
        raise export_error(phrase("its labels differ"))
    if reloaded.heads is not None and reloaded.heads != str(loaded.network.heads):
        raise export_error(phrase("its heads differ"))
    if reloaded.missing or reloaded.unexpected:
        names = ", ".join((*reloaded.missing, *reloaded.unexpected)[:3])
        raise export_error(phrase("it has missing or unexpected weights ({names})", names=names))
    if reloaded.weights is None:
        return None
    if reloaded.weights != fingerprint(loaded.network, DTYPES.get(question.precision)):
        raise export_error(phrase("its weights differ from the model"))
    return True


def _versions() -> dict[str, str]:
    return {
        "BERT Studio": version("bert-studio"),
        "Python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
    }


def write_report(folder: Path, report: ExportReport) -> None:
    (folder / REPORT_TEXT).write_text("\n".join(_lines(report)) + "\n", encoding="utf-8")
    (folder / REPORT_DATA).write_text(report.model_dump_json(indent=1) + "\n", encoding="utf-8")


def _lines(report: ExportReport) -> list[str]:
    facts = {
        "Checkpoint": report.checkpoint,
        "Format": f"{FORMAT_TITLES[report.form]}, {report.precision}",
        "Written": report.at.isoformat(timespec="seconds"),
        "Heads": ", ".join(report.heads) or "none",
        "Weights": f"{report.tensors} tensors, {report.parameters:,} parameters",
        "Labels": ", ".join(report.labels) or "none",
    }
    if report.pruned_heads:
        facts["Pruned heads"] = f"{report.pruned_heads}, left out: their layers are narrower"
    inputs = f"{len(report.texts)} texts ({', '.join(report.sources)}), alone and in padded batches"
    checked = [
        f"The files were reloaded in a separate process and verified with {inputs}.",
        "Tokens and labels are identical to the model's.",
    ]
    if report.weights_equal:
        rounded = "" if report.precision == "float32" else f", rounded to {report.precision}"
        checked.append(f"All weights are those of the model{rounded}, bit for bit.")
    return [
        "BERT Studio export report",
        "",
        *(f"{name:{LABEL_WIDTH}}{value}" for name, value in facts.items()),
        *(f"{'Note':{LABEL_WIDTH}}{note}" for note in report.notes),
        "",
        *checked,
        *(comparison.sentence() for comparison in report.comparisons),
        "",
        "Versions",
        *(f"  {name:{LABEL_WIDTH}}{number}" for name, number in report.versions.items()),
        "",
        "Texts",
        *(f"  {number:3}  {_shorten(text)}" for number, text in enumerate(report.texts, 1)),
    ]


def _shorten(text: str) -> str:
    line = " ".join(text.split()) or "(empty)"
    return line if len(line) <= MAX_TEXT_CHARACTERS else f"{line[:MAX_TEXT_CHARACTERS]} …"
