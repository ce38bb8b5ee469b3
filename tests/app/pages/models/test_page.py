"""The Models page: list, one model, copies, deleting, importing with a real worker."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QPlainTextEdit

from app.drops import page_for
from app.exporting.view import ExportDialog
from app.library import ModelEntry
from app.pages.models.importing import Section
from app.pages.models.model.view import ModelView
from app.pages.models.state import model_folder
from app.pages.models.texts import head_titles, model_facts, pooling_names
from app.pages.models.view import ModelsPage
from app.palette import named_commands
from app.widgets.text.labels import Text
from engine.checkpoints.info import checkpoint_info
from engine.config.families.bert import PRESETS
from engine.config.job import FromCheckpoint, FromScratch
from engine.config.sentence import POOLING_MODES, DenseSpec, SentenceSpec
from engine.files.atomic_write import verify
from engine.files.home import folder_name
from engine.messages.reports import CheckpointInfo
from engine.models.heads import Heads
from engine.record.runs import add_run
from engine.runs.folder import RunFolder
from tests.app.accessible import assert_accessible
from tests.app.alt_keys import assert_distinct_keys
from tests.app.asking import question
from tests.app.pages.train.conftest import write_model
from tests.engine.export.conftest import in_process  # noqa: F401 - a fixture
from tests.engine.models.small import folder as small_checkpoint
from tests.engine.models.test_tf1 import TF1
from tests.engine.runs.fake_worker import job

TIMEOUT_MS = 60_000  # a worker loads torch first
MARKUP = '<img src="file:///CANARY.png"><b>x</b>&amp;'


def open_model(qtbot, page: ModelsPage, folder: Path) -> ModelView:
    """Open the page of a model and wait until its folder has been read."""
    page.arrive(folder)
    qtbot.waitUntil(lambda: page.model is not None)
    view = page.model
    qtbot.waitUntil(lambda: view.state.contents is not None)
    return view


def names(page: ModelsPage) -> list[str]:
    cards = page.list.list.cards
    return [cards.rows[row].title for row in range(cards.rowCount())]


# ── the list ─────────────────────────────────────────────────────────────────────────────────


def test_commands_of_models_with_one_name_are_distinguished(page, studio, copy_run):
    copy_run("votes", 0.7, data="speeches")
    copy_run("votes", 0.8, data="debates")
    for commands in (page.named_commands(), named_commands(studio)):
        hints = [c.hint for c in commands if c.kind == "Model" and "votes" in c.title]
        assert {hint.split(" · ")[:2] == ["speeches", "step 20"] for hint in hints} == {True, False}


def test_every_task_head_has_a_name():
    for head, text in {
        "text_classification": "3 label(s)",
        "multi_label": "3 label(s)",
        "token_classification": "3 tag(s)",
        "regression": "regression head",
        "question_answering": "question-answering head",
        "multiple_choice": "multiple-choice head",
    }.items():
        labels = ("a", "b", "c") if "3" in text else ()
        info = CheckpointInfo(
            layers=1, hidden_size=4, heads=1, intermediate_size=8, max_positions=8, max_length=8,
            vocab_size=9, parameters=9, task_heads=("pooler", head), labels=labels,
        )  # fmt: skip
        assert head_titles(info) == [text]


def test_the_list_describes_a_model_and_opens_it_by_keyboard(page, little, qtbot):
    cards = page.list.list.cards
    row = cards.find_row(little)
    text = cards.index(row, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    head = "masked language modelling (MLM)"
    for part in ("little", "Imported", "L 1  H 4  A 1", head, "float32"):
        assert part in text
    assert page.stack.currentWidget() is page.list
    view = page.list.list
    view.setFocus()
    view.setCurrentIndex(view.cards.index(view.cards.find_row(little), 0))
    qtbot.keyClick(view, Qt.Key.Key_Return)
    assert page.stack.currentWidget() is page.model
    qtbot.mouseClick(page.model.back, Qt.MouseButton.LeftButton)
    assert page.stack.currentWidget() is page.list


def test_checkpoints_of_runs_are_distinct_and_searchable(qtbot, page, studio, little, copy_run):
    copy_run("speeches · Starter", score=0.793)
    copy_run("films · Starter", score=0.6, data="films")
    studio.models_changed.emit()
    expected = {"little", "speeches · Starter", "films · Starter"}
    qtbot.waitUntil(lambda: expected <= {model.name for model in page.state.models})
    cards = {item.title: item for item in page.list.list.cards.rows}
    speeches = cards["speeches · Starter"]
    assert (speeches.figure, speeches.unit) == ("79.3 %", "accuracy")
    assert speeches.facts.startswith("speeches · step 20 · saved ")
    assert cards["little"].unit == "parameters" and cards["little"].facts.startswith("saved ")
    assert "parameters" in speeches.facts
    qtbot.keyClicks(page.list.search, "films step")
    assert [item.title for item in page.list.list.cards.rows] == ["films · Starter"]
    page.list.search.setText("nowhere")
    assert page.list.list.cards.rows == [] and not page.list.no_results.isHidden()
    page.list.search.clear()
    assert expected <= {item.title for item in page.list.list.cards.rows}
    page.open_model(speeches.key)
    facts = {name: value for name, value, *_ in model_facts(page.model.state.model)}
    assert facts["Data set"] == "speeches" and facts["Validation accuracy"] == "79.3 %"
    assert facts["Saved"]


def test_damaged_and_missing_folders_are_reported(qtbot, page, studio, tmp_path):
    broken = studio.home.models / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{")
    studio.models_changed.emit()
    qtbot.waitUntil(lambda: "broken" in names(page))
    view = open_model(qtbot, page, broken)
    assert not view.explore.isEnabled()
    assert view.delete.isEnabled(), "a damaged model can be deleted"
    page.arrive(tmp_path / "nowhere")
    qtbot.waitUntil(lambda: bool(studio.notices.shown))
    assert "no longer exists" in studio.notices.shown[-1].problem


# ── one model ────────────────────────────────────────────────────────────────────────────────


def test_the_page_of_a_model_shows_facts_parts_and_pooling(qtbot, page, little):
    view = open_model(qtbot, page, little)
    assert view.results is None, "it has no task"
    facts = {name: label.text() for name, label in view.overview.facts.values.items()}
    assert facts["Layers (L)"] == "1"
    assert facts["Output heads"] == "masked language modelling (MLM)"
    assert view.overview.parts.model().rowCount() == 3
    model = view.state.model
    sentence = SentenceSpec(
        pooling=("cls", "mean"),
        dense=(DenseSpec(inputs=32, outputs=8),),
        normalize=True,
        max_length=128,
        prompt="query: ",
    )
    info = model.info.model_copy(update={"sentence": sentence})
    facts = {name: value for name, value, *_ in model_facts(replace(model, info=info))}
    assert facts["Pooling"] == "[CLS], mean of the tokens"
    assert (facts["Dense layers"], facts["Vector size"]) == ("8", "8")
    assert facts["Normalised"] == "yes, to length 1" and facts["Max. length"].startswith("128 ")
    assert facts["Prompt"] == "query: "
    (model.path / "README.md").write_text("---\nlicense: mit\n---\n")
    short = model.info.model_copy(update={"max_length": 7})
    facts = {name: value for name, value, *_ in model_facts(replace(model, info=short))}
    assert facts["Licence"] == "mit" and facts["Max. length"].startswith("7 ")
    assert "Pooling" not in {name for name, *_ in model_facts(model)}
    assert set(pooling_names()) == set(POOLING_MODES)


def test_a_model_is_sent_to_other_pages_searched_and_tried_out(qtbot, page, studio, little):
    view = open_model(qtbot, page, little)
    for button, target in (
        (view.explore, ["explore", little]),
        (view.tune, ["train", {"model": little}]),
    ):
        with qtbot.waitSignal(studio.navigate) as signal:
            qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        assert signal.args == target
    view.tabs.setCurrentIndex(1)
    total = view.vocabulary.table.model().rowCount()
    qtbot.keyClicks(view.vocabulary.search, "[mask]")
    qtbot.waitUntil(lambda: view.vocabulary.table.model().rowCount() == 1)
    assert view.vocabulary.table.model().index(0, 1).data() == "[MASK]"
    view.vocabulary.search.setText("qqqqq")
    qtbot.waitUntil(lambda: "No token" in view.vocabulary.count.text())
    view.vocabulary.search.clear()
    qtbot.waitUntil(lambda: view.vocabulary.table.model().rowCount() == total)
    view.tabs.setCurrentIndex(2)
    view.tokenizer.text.clear()
    qtbot.keyClicks(view.tokenizer.text, "The FILM")
    qtbot.waitUntil(lambda: view.tokenizer.normalised.toPlainText() == "the film")
    assert view.tokenizer.words.toPlainText() == "the  |  film"
    assert next(token.text for token in view.tokenizer.tokens.shown) == "[CLS]"
    assert "2" in view.tokenizer.count.text()


def test_a_card_is_shown_literally(qtbot, page, little):
    card = f"# Title\n![x](file:///CANARY.png)\n{MARKUP}\n" + "y" * 50_000
    (little / "README.md").write_text(card)
    view = open_model(qtbot, page, little)
    view.tabs.setCurrentIndex(3)
    text = view.card.text
    assert isinstance(text, QPlainTextEdit)
    assert MARKUP in text.toPlainText()
    assert max(map(len, text.toPlainText().splitlines())) < 2_100
    view.grab()


def test_a_missing_vocabulary_is_reported_in_the_tabs(qtbot, page, little):
    for name in ("tokenizer.json", "vocab.txt"):
        (little / name).unlink(missing_ok=True)
    view = open_model(qtbot, page, little)
    assert "no vocabulary" in view.vocabulary.count.text()
    assert "no vocabulary" in view.tokenizer.problem.text()
    assert not view.tokenizer.text.isEnabled()


def test_names_with_markup_are_shown_literally(qtbot, page, studio):
    folder = studio.home.models / MARKUP.replace("/", "_")
    write_model(folder)
    config = json.loads((folder / "config.json").read_text())
    config["model_type"] = MARKUP
    (folder / "config.json").write_text(json.dumps(config))
    view = open_model(qtbot, page, folder)
    assert view.title.text() == folder.name
    texts = [label.text() for label in view.findChildren(Text)]
    assert any(MARKUP[:40] in text for text in texts), "the problem names the model type"
    assert_accessible(page)


def test_every_tab_is_accessible_in_both_themes(qtbot, page, set_theme, screen, little):
    view = open_model(qtbot, page, little)
    for theme in ("light", "dark"):
        set_theme(theme)
        for number in range(view.tabs.count()):
            view.tabs.setCurrentIndex(number)
            qtbot.wait(1)
            screen(page, f"model-{theme}-{number}")
    assert_accessible(page)


# ── deleting and exporting ─────────────────────────────────────────────────────────────────────


def test_deleting_asks_first_and_can_be_undone(qtbot, page, studio, little, trash):
    view = open_model(qtbot, page, little)
    qtbot.mouseClick(view.delete, Qt.MouseButton.LeftButton)
    dialog = question(qtbot)
    qtbot.mouseClick(dialog.buttons["delete"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.stack.currentWidget() is page.list)
    assert not little.exists()
    assert [entry.name for entry in trash.iterdir()] == ["little"]
    qtbot.waitUntil(lambda: "little" not in names(page))
    studio.notices.shown[-1].act()
    qtbot.waitUntil(lambda: "little" in names(page))
    assert checkpoint_info(little).layers == 1
    assert not list(trash.iterdir())


def test_deleting_lists_the_runs_that_need_the_model(qtbot, page, studio, little, tmp_path):
    base = job().model_copy(update={"base_model": FromCheckpoint(path=little)})
    from_scratch = FromScratch(model=PRESETS["tiny"], tokenizer=little / "vocab.txt")
    with studio.record.session() as session:
        for name, template, state in (
            ("done", base, "finished"),
            ("<b>waiting", base, "stopped"),
            ("its vocabulary", base.model_copy(update={"base_model": from_scratch}), "queued"),
            ("of another", job(), "stopped"),
        ):
            spec = template.model_copy(update={"name": name})
            add_run(session, RunFolder.create(tmp_path / folder_name(name), spec), spec, state)
    view = open_model(qtbot, page, little)
    qtbot.mouseClick(view.delete, Qt.MouseButton.LeftButton)
    dialog = question(qtbot)
    message = " ".join(text.text() for text in dialog.findChildren(Text))
    assert "trained from it will be kept." in message
    assert "can no longer be resumed: " in message
    assert "“<b>waiting”" in message and "“its vocabulary”" in message and "another" not in message
    dialog.close()


def test_a_model_that_was_not_imported_cannot_be_deleted(qtbot, studio, page, little):
    for origin, reason in (("included", "part of BERT Studio"), ("run", "run")):
        model = ModelEntry("other", little, checkpoint_info(little), origin)
        view = ModelView(studio, model, page.state.why_not_delete(model))
        qtbot.addWidget(view)
        assert not view.delete.isEnabled()
        assert reason in view.delete.accessibleDescription()
        qtbot.waitUntil(lambda view=view: view.state.contents is not None)


@pytest.mark.usefixtures("in_threads", "in_process")
def test_a_model_is_exported_in_a_dialog(qtbot, page, studio, tmp_path):
    model = small_checkpoint(studio.home.models / "small")
    studio.models_changed.emit()
    view = open_model(qtbot, page, model)
    qtbot.mouseClick(view.export, Qt.MouseButton.LeftButton)
    dialog = page.findChild(ExportDialog)
    assert dialog.state.name == "small"
    dialog.state.set_folder(tmp_path)
    qtbot.mouseClick(dialog.choices.start, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not dialog.state.is_running, timeout=TIMEOUT_MS)
    assert dialog.state.exported is not None, dialog.state.problem
    exported = tmp_path / "small-hf"
    verify(exported)
    assert checkpoint_info(exported) == checkpoint_info(model)
    dialog.close()


# ── importing ────────────────────────────────────────────────────────────────────────────────


def wait_for_import(qtbot, page: ModelsPage) -> None:
    qtbot.waitUntil(lambda: not page.state.is_importing, timeout=TIMEOUT_MS)


@pytest.mark.usefixtures("in_threads")
def test_a_dropped_folder_is_imported_with_a_report(qtbot, page, studio, tmp_path):
    source = small_checkpoint(tmp_path / "small", Heads(mlm=True, nsp=True))
    assert page.accept_drop([source / "config.json"])
    assert page.stack.currentWidget() is page.importing
    assert page.importing.progress.isVisible()
    wait_for_import(qtbot, page)
    assert page.importing.title.text() == "“small” was imported"
    loaded, missing, unused = page.importing.sections
    assert loaded.list.model().rowCount() > 30
    assert not loaded.list.isVisible()
    qtbot.waitUntil(loaded.toggle.isVisible)
    qtbot.wait(1)  # it is laid out by the event loop
    qtbot.mouseClick(loaded.toggle, Qt.MouseButton.LeftButton)
    assert loaded.list.isVisible()
    assert not missing.toggle.isEnabled()
    assert not unused.toggle.isEnabled()
    assert_accessible(page)
    assert page.importing.isVisible(), "the report stays until the user leaves it"
    page.importing.opened.emit(page.state.imported.folder)
    qtbot.waitUntil(lambda: page.model is not None)
    assert page.model.state.model.path == studio.home.models / "small"


@pytest.mark.usefixtures("in_threads")
def test_a_dropped_tensorflow_checkpoint_is_imported(qtbot, page, studio):
    source = TF1 / "saved"
    assert page_for([source]) == page_for([source / "bert_config.json"]) == "models"
    assert page.accept_drop([source / "bert_config.json"])
    wait_for_import(qtbot, page)
    loaded, _, unused = page.importing.sections
    assert loaded.list.model().rowCount() == 30
    assert unused.list.model().rowCount() == 61
    assert checkpoint_info(studio.home.models / "saved").task_heads[0] == "mlm"


@pytest.mark.usefixtures("in_threads")
def test_a_folder_without_a_model_is_refused_with_a_reason(qtbot, page, studio, tmp_path):
    source = tmp_path / "strange"
    source.mkdir()
    (source / "config.json").write_bytes(b"{")
    assert page.accept_drop([source])
    wait_for_import(qtbot, page)
    assert "could not be imported" in page.importing.title.text()
    assert "config.json" in page.state.problem.problem
    assert not page.state.problem.bug
    assert not (studio.home.models / "strange").exists()


@pytest.mark.usefixtures("in_threads")
def test_a_pickle_with_code_inside_is_refused(qtbot, page, studio, tmp_path):
    source = small_checkpoint(tmp_path / "evil")
    (source / "model.safetensors").unlink()
    (source / "manifest.json").unlink(missing_ok=True)
    canary = tmp_path / "canary"
    code = f"cposix\nsystem\nX{len(f'touch {canary}').to_bytes(4, 'little').decode('latin-1')}"
    payload = b"\x80\x02" + code.encode("latin-1") + f"touch {canary}".encode() + b"\x85R."
    (source / "pytorch_model.bin").write_bytes(payload)
    page.import_from(source)
    wait_for_import(qtbot, page)
    assert not page.state.problem.bug
    assert not canary.exists()
    assert not (studio.home.models / "evil").exists()


def test_leaving_an_import_stops_it(qtbot, page, studio, tmp_path):
    source = small_checkpoint(tmp_path / "small")
    page.import_from(source)
    qtbot.mouseClick(page.importing.back, Qt.MouseButton.LeftButton)
    assert not page.state.is_importing
    assert page.stack.currentWidget() is page.list
    entries = [entry.name for entry in studio.home.models.iterdir()]
    assert entries == ["little"]


def test_the_folder_dialog_returns_the_choice(qtbot, page, tmp_path):
    page.arrive({"import": True})
    dialog = page.findChild(QFileDialog)
    dialog.fileSelected.emit(str(tmp_path / "nothing here"))
    dialog.close()
    assert page.state.is_importing
    assert "nothing here" in page.importing.title.text()
    qtbot.mouseClick(page.importing.back, Qt.MouseButton.LeftButton)
    assert not page.state.is_importing


def test_a_worker_loads_while_a_model_is_chosen(page, tmp_path, studio, monkeypatch):
    (tmp_path / "reviews.csv").write_text("text,label\n")
    assert not page.accept_drop([tmp_path / "reviews.csv"])
    assert not page.accept_drop([])
    assert model_folder([tmp_path]) is None
    started: list[bool] = []
    monkeypatch.setattr(studio.standby, "start", lambda: started.append(True))
    page.hide()
    page.show()
    assert len(started) == 1
    page.choose_folder()
    assert len(started) == 2
    page.findChild(QFileDialog).close()


def test_a_long_section_is_cut(qtbot):
    section = Section("10,000 not used", "Help.", [f"{MARKUP}.{n}" for n in range(10_000)])
    qtbot.addWidget(section)
    section.show()
    section.toggle.click()
    assert section.list.model().rowCount() == 5_001
    assert section.list.model().index(0, 0).data() == f"{MARKUP}.0"


# ── results ──────────────────────────────────────────────────────────────────────────────────


def test_a_fine_tuned_model_can_be_evaluated_on_files(qtbot, studio, little):
    tuned = checkpoint_info(little).model_copy(update={"task_heads": ("text_classification",)})
    view = ModelView(studio, ModelEntry("mine", little, tuned, "imported"), "")
    qtbot.addWidget(view)
    results = view.results
    view.show()
    assert_distinct_keys(view)
    assert view.tabs.tabText(view.tabs.indexOf(results)) == "Re&sults"
    assert results.widget.score.text() == "Evalua&te on a file…"
    assert not results.widget.test_action.isVisible()
    qtbot.waitUntil(lambda: view.state.contents is not None)


def test_folders_of_other_forms_are_accepted_so_that_the_import_names_them(tmp_path):
    (tmp_path / "model.gguf").touch()
    assert page_for([tmp_path]) == "models" and model_folder([tmp_path]) == tmp_path
