"""Rows get labels by their descriptions, by command."""

import csv
import json

import numpy as np
import pytest

from engine.applying import apply as applying
from engine.applying.apply import apply
from engine.applying.chunks import chunk_folder
from engine.config.dataset import Mapping, Reading
from engine.config.zero_shot import TEMPLATE, describe
from engine.documents.nightly import Nightly
from engine.files.shipped import minilm
from engine.messages.applying import Apply, FileInput
from engine.models import checkpoint
from engine.tasks.describing import DescribedPredictor
from engine.tasks.zero_shot import LabelScorer
from tests.engine.tasks.nli_model import save_nli_model

LINES = ("sport: matches and players", "politics")
DESCRIBED = ("--describe", LINES[0], "--describe", LINES[1])
TEXTS = ["The team won the final", "The minister lost the vote", "The team won the final", " "]


def write_texts(folder):
    file = folder / "texts.csv"
    file.write_text("text\n" + "".join(f'"{text}"\n' for text in TEXTS), encoding="utf-8")
    return file


def test_a_file_gets_described_labels_by_either_kind_of_model(home, output, refusal, tmp_path):
    file, out = write_texts(tmp_path), tmp_path / "out.csv"
    nli = save_nli_model(tmp_path / "nli")
    for model in (minilm(), nli):
        command = ("predict", file, "--model", model, "--out", out, "--threshold", "99%")
        assert "4 rows written" in output(*command, *DESCRIBED)
        with open(out, encoding="utf-8", newline="") as written:
            rows = [*csv.DictReader(written)]
        assert [*rows[0]] == ["text", "label", "probability", "p(sport)", "p(politics)", "unsure"]
        p = LabelScorer(checkpoint.load(model), describe(LINES)).probabilities(TEXTS[:3])
        found = [[float(row[f"p({name})"]) for name in ("sport", "politics")] for row in rows[:3]]
        assert np.allclose(found, p, atol=1e-5) and not rows[3]["label"]
        assert [row["label"] for row in rows[:3]] == [("sport", "politics")[n] for n in p.argmax(1)]
    several = tmp_path / "several.jsonl"
    template = ("--several", "--template", "On {}.")
    output("predict", file, "--model", nli, "--out", several, *DESCRIBED, *template)
    sets = describe(LINES, "On {}.", several=True)
    p = LabelScorer(checkpoint.load(nli), sets).probabilities(TEXTS[:1])[0]
    first = json.loads(several.read_text("utf-8").splitlines()[0])
    assert [first["p(sport)"], first["p(politics)"]] == pytest.approx(p, abs=1e-5)
    every_night = Nightly(nli, file, tmp_path / "night.jsonl", described=sets).command()
    output(*every_night[every_night.index("predict") :])
    assert (tmp_path / "night.jsonl").read_bytes() == several.read_bytes()
    unnamed = save_nli_model(tmp_path / "unnamed", ())
    for options, problem in (
        (("--model", unnamed, *DESCRIBED), "have no names (LABEL_0, LABEL_1, LABEL_2)"),
        (("--model", nli, "--several"), "found by descriptions"),
        (("--model", nli, *DESCRIBED, "--template", "no slot"), "needs {} once"),
        (("--model", nli, *DESCRIBED[:2]), "nothing to choose from"),
        (("--model", minilm(), *DESCRIBED, "--several"), "exactly one"),
        (("--model", minilm(), *DESCRIBED, "--coverage", "90%"), "Leave out --coverage"),
    ):
        assert problem in refusal("predict", file, "--out", out, *options)


def test_a_killed_application_goes_on_and_reads_each_text_once(tmp_path, monkeypatch):
    nli, file = save_nli_model(tmp_path / "nli"), write_texts(tmp_path)
    given = FileInput(path=file, reading=Reading(format="csv"), mapping=Mapping(text="text"))
    described = describe(LINES, TEMPLATE)
    question = Apply(checkpoint=nli, given=given, out=tmp_path / "out.csv", described=described)
    monkeypatch.setattr(applying, "CHUNK_ROWS", 4)  # two rows, as each is read for two labels
    scored, compute = list[str](), LabelScorer.probabilities

    def counted(self, texts, progress):
        if TEXTS[3] in texts and len(scored) > 3:
            raise KeyboardInterrupt
        scored.extend(texts)
        return compute(self, texts, progress)

    monkeypatch.setattr(LabelScorer, "probabilities", counted)
    assert apply(question, DescribedPredictor(nli, described)).rows == 4
    assert scored == [TEXTS[0], TEXTS[1], TEXTS[3]]
    expected = question.out.read_bytes()
    question.out.unlink()
    with pytest.raises(KeyboardInterrupt):
        apply(question, DescribedPredictor(nli, described))
    assert len([*chunk_folder(question.out).glob("*.parquet")]) == 1
    scored.clear()
    resumed = question.model_copy(update={"resume": True})
    apply(resumed, DescribedPredictor(nli, described))
    assert question.out.read_bytes() == expected and scored == [TEXTS[2], TEXTS[3]]
