"""Texts about a model, for the list and its page."""

from app.library import ModelEntry, VectorsEntry
from app.tasks import task_part
from app.translation import tr
from app.widgets.entries import Entry
from app.widgets.text import numbers, run_texts
from app.widgets.text.labels import TextStyle, visible
from app.widgets.text.run_texts import provenance
from engine.checkpoints.source import read_licence, read_source
from engine.config.families import FAMILIES
from engine.config.families.bert import FAMILY as BERT
from engine.config.sentence import SentenceSpec
from engine.messages.reports import CheckpointInfo
from engine.messages.word_vectors import VectorFacts

ICONS = {"included": "sparkles", "imported": "box", "elsewhere": "folder", "run": "activity"}
MAX_SHOWN_LABELS = 12
MAX_PROMPT_CHARACTERS = 200


def family_title(family: str) -> str:
    """Name of a family as in papers."""
    return FAMILIES[family].title if family in FAMILIES else family


def model_entry(model: ModelEntry) -> Entry:
    """Card of a model on the list."""
    if model.info is None:
        return Entry(
            model.path, model.name, model.problem, "triangle-alert", mark=tr("Damaged"), warns=True
        )
    parameters = numbers.large_count(model.info.parameters)
    figure, unit, size = parameters, tr("parameters"), ""
    if model.score is not None:
        figure = run_texts.metric_value(model.metric, model.score)
        unit = run_texts.evaluation_title(model.metric)
        size = tr("{0} parameters").format(parameters)
    return Entry(
        model.path,
        model.name,
        " · ".join(part for part in (*provenance(model), size, *_details(model.info)) if part),
        ICONS[model.origin],
        figure=figure,
        unit=unit,
        mark=_mark(model),
    )


def vectors_entry(vectors: VectorsEntry) -> Entry:
    """Card of word vectors on the list."""
    if vectors.facts is None:
        problem = vectors.problem
        mark = tr("Damaged")
        return Entry(vectors.path, vectors.name, problem, "triangle-alert", mark=mark, warns=True)
    facts = vectors.facts
    return Entry(
        vectors.path,
        vectors.name,
        " · ".join((vectors_text(facts), form_text(facts.form), numbers.size(facts.bytes))),
        "text",
        figure=numbers.large_count(facts.words),
        unit=tr("words"),
        mark=tr("Word vectors"),
    )


def vectors_text(facts: VectorFacts) -> str:
    """Number of words, and the size of their vectors."""
    text = tr("%Ln word(s) with {0} numbers each", facts.words)
    return text.format(numbers.count(facts.size))


def form_text(form: str) -> str:
    """Form of the file that word vectors were imported from."""
    names = {"glove": "GloVe", "text": tr("word2vec, text"), "binary": tr("word2vec, binary")}
    return names[form]


def vectors_facts(vectors: VectorsEntry) -> list[tuple[str, str]]:
    """Properties for the page of word vectors."""
    facts = vectors.facts
    rows = [(tr("Folder"), str(vectors.path))]
    if facts is None:
        return rows
    return [
        (tr("File"), visible(facts.file)),
        (tr("Form"), form_text(facts.form)),
        (tr("Words"), numbers.count(facts.words)),
        (tr("Vector size"), numbers.count(facts.size)),
        (tr("Case"), tr("cased") if facts.has_capitals else tr("uncased")),
        (tr("On disk"), numbers.size(facts.bytes)),
        *rows,
    ]


def _details(info: CheckpointInfo) -> list[str]:
    return [
        "" if info.family == BERT.name else family_title(info.family),
        size_text(info),
        tr("%Ln token(s)", info.vocab_size),
        ", ".join(head_titles(info)),
        info.dtype,
        numbers.size(info.bytes),
    ]


def _mark(model: ModelEntry) -> str:
    if model.origin == "included":
        return tr("Included with BERT Studio")
    if model.origin == "imported":
        return tr("Imported")
    if model.origin == "elsewhere":
        return tr("Used in place")
    return tr("Best checkpoint") if model.best else tr("Checkpoint")


def size_text(info: CheckpointInfo) -> str:
    """Size as in papers: L layers, H hidden size, A heads."""
    return f"L {info.layers}  H {info.hidden_size}  A {info.heads}"


def head_titles(info: CheckpointInfo) -> list[str]:
    """Heads of the checkpoint, without the pooler."""
    names = {
        "mlm": tr("masked language modelling (MLM)"),
        "nsp": tr("next-sentence prediction (NSP)"),
    }
    if info.task is not None:
        names[info.task] = task_part(info.task).outputs(len(info.labels))
    return [names[head] for head in info.task_heads if head in names]


def origin_text(model: ModelEntry) -> str:
    """Origin of the model, in a sentence."""
    if model.origin == "included":
        if model.info is not None and "mlm" in model.info.task_heads:
            return tr(
                "Included with BERT Studio: a small English BERT that predicts masked tokens."
            )
        return tr("Included with BERT Studio: an English encoder for fine-tuning.")
    if model.origin == "imported":
        return tr("Imported into your home folder.")
    if model.origin == "elsewhere":
        return tr("Used in place, without a copy: {0}").format(model.path)
    if model.best:
        return tr("The best checkpoint of its run, at step {0}.").format(numbers.count(model.step))
    return tr("A checkpoint of a run, at step {0}.").format(numbers.count(model.step))


def model_facts(model: ModelEntry) -> list[tuple[str, str] | tuple[str, str, TextStyle]]:
    """Properties for the model's page."""
    info = model.info
    if info is None:
        return [(tr("Folder"), str(model.path))]
    heads = head_titles(info)
    score = run_texts.metric_value(model.metric, model.score) if model.score is not None else ""
    run: list[tuple[str, str]] = [
        (tr("Data set"), model.data),
        (run_texts.metric_heading(model.metric), score),
        (tr("Saved"), numbers.moment(model.saved) if model.saved else ""),
    ]
    facts: list[tuple[str, str] | tuple[str, str, TextStyle]] = [
        *((name, value) for name, value in run if value),
        (tr("Family"), family_title(info.family)),
        (tr("Parameters"), numbers.count(info.parameters)),
        (tr("Layers (L)"), numbers.count(info.layers)),
        (tr("Hidden size (H)"), numbers.count(info.hidden_size)),
        (tr("Attention heads (A)"), numbers.count(info.heads)),
        (tr("Intermediate size"), numbers.count(info.intermediate_size)),
        (tr("Max. positions"), tr("%Ln token(s)", info.max_positions)),
        (tr("Vocabulary"), tr("%Ln token(s)", info.vocab_size)),
        (tr("Case"), tr("uncased") if info.lowercase else tr("cased")),
        (tr("Output heads"), "\n".join(heads) if heads else tr("none (encoder only)")),
    ]
    if info.sentence is None and info.max_length < info.max_positions:
        facts.append((tr("Max. length"), tr("%Ln token(s)", info.max_length)))
    if info.sentence is not None:
        facts += _sentence_facts(info.sentence, info.hidden_size)
    if info.causal:
        facts.append((tr("Attention"), tr("causal (left to right)")))
    if info.labels:
        facts.append((tr("Classes"), _labels(info.labels)))
    facts += [
        (tr("Precision"), info.dtype),
        (tr("Weights"), numbers.size(info.bytes)),
        (tr("Folder"), str(model.path)),
    ]
    if (source := read_source(model.path)) is not None:
        template = tr("{0} on {1}, revision {2}")
        facts.append(
            (tr("Source"), template.format(source.model, source.host, source.revision[:12]))
        )
    if (licence := read_licence(model.path)) or source is not None:
        facts.append((tr("Licence"), licence or tr("not stated")))
    return facts


def _sentence_facts(sentence: SentenceSpec, hidden_size: int) -> list[tuple[str, str]]:
    names = pooling_names()
    dense = " → ".join(numbers.count(layer.outputs) for layer in sentence.dense)
    max_length = sentence.max_length
    facts = [
        (tr("Pooling"), ", ".join(names[mode] for mode in sentence.pooling)),
        (tr("Dense layers"), dense),
        (tr("Normalised"), tr("yes, to length 1") if sentence.normalize else tr("no")),
        (tr("Vector size"), numbers.count(sentence.size(hidden_size))),
        (tr("Max. length"), "" if max_length is None else tr("%Ln token(s)", max_length)),
        (tr("Prompt"), visible(sentence.prompt[:MAX_PROMPT_CHARACTERS])),
    ]
    return [(name, value) for name, value in facts if value]


def pooling_names() -> dict[str, str]:
    """Names of pooling modes for users."""
    return {
        "cls": "[CLS]",
        "max": tr("maximum of the tokens"),
        "mean": tr("mean of the tokens"),
        "mean_sqrt_len_tokens": tr("sum of the tokens ÷ √ length"),
    }


def _labels(labels: tuple[str, ...]) -> str:
    names = [label[:80] for label in labels[:MAX_SHOWN_LABELS]]
    rest = len(labels) - len(names)
    return "\n".join([*names, tr("and %Ln more", rest)] if rest else names)
