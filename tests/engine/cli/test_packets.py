"""`bert-studio hand-out`, `import` of a packet, `hand-in` and `take-in`, between homes."""

import shutil

import pytest

from engine.cli import main
from engine.data.datasets.store import open_dataset
from engine.files.home import Home
from tests.engine.data.importing import write_lines


@pytest.fixture
def answers(tmp_path, home, output):
    """A data set with a codebook, and two labels."""
    rows = [f"answer {n} about {'bread' if n % 2 else 'rent'}" for n in range(30)]
    output("import", write_lines(tmp_path / "answers.csv", "text", *rows))
    book = write_lines(tmp_path / "book.csv", "label,definition", "food,to eat", "home,to live")
    output("codebook", "answers", "--from", book)
    new = write_lines(tmp_path / "new.csv", "row,new_label", "0,home", "1,food")
    output("relabel", "answers", new)
    return rows


def code_rows(output, tmp_path, name: str, coder: str) -> None:
    """Label all rows of a coder's data set by their texts."""
    dataset = open_dataset(Home().datasets / name / "1")
    labels = ["food" if "bread" in text else "home" for text in dataset.column("text").to_pylist()]
    lines = [f"{row},{label}" for row, label in enumerate(labels)]
    output("relabel", name, write_lines(tmp_path / "codes.csv", "row,new_label", *lines))


def test_packets_there_and_back_between_homes(
    answers, home, output, json_output, refusal, tmp_path, monkeypatch
):
    packet, files = tmp_path / "out.packet", []
    out = json_output(
        *("hand-out", "answers", "--to", packet, "--coders", "Anna,Ben", "--rows", 15),
        *("--overlap", 5, "--from", "all"),
    )
    assert out["rows"] == 25 and out["coders"] == {"Anna": 15, "Ben": 15}
    for coder in ("Anna", "Ben"):
        monkeypatch.setenv("BERT_STUDIO_HOME", str(tmp_path / coder))
        name = f"answers-{coder}"
        assert json_output("import", packet, "--coder", coder)["rows"]["train"] == 15
        assert name in output("import", packet, "--coder", coder), "opened again"
        assert "No row is coded yet" in refusal("hand-in", name, "--to", tmp_path / "a.packet")
        code_rows(output, tmp_path, name, coder)
        files.append(tmp_path / f"{coder}.packet")
        assert "15 of 15 rows coded" in output("hand-in", name, "--to", files[-1])
    monkeypatch.setenv("BERT_STUDIO_HOME", str(home.root))
    shutil.copy(files[0], tmp_path / "cut.packet")
    (tmp_path / "cut.packet").write_bytes(files[0].read_bytes()[:-20])
    assert "damaged" in refusal("take-in", "answers", files[1], tmp_path / "cut.packet")
    assert open_dataset(home.datasets / "answers" / "3").spec.mapping.coders == ()
    taken = json_output("take-in", "answers", *files)
    assert taken["is_new"] and taken["version"] == 4 and taken["conflicts"] == []
    version = open_dataset(home.datasets / "answers" / "4")
    assert version.spec.mapping.coders == ("Anna", "Ben")
    labels = zip(answers, version.column("label").to_pylist(), strict=True)
    assert all(label == ("food" if "bread" in text else "home") for text, label in labels if label)
    assert "Nothing is new" in output("take-in", "answers", *files)
    assert json_output("agreement", "answers")["overall"]["rows"] == 5
    assert "has handed this packet in already" in refusal("import", files[0])


def test_rows_that_are_with_coders_are_not_handed_out_again(
    answers, json_output, output, refusal, tmp_path
):
    packet = tmp_path / "p.packet"
    assert output("handed-out", "answers") == "no row is with a coder\n"
    send = ("hand-out", "answers", "--to", packet, "--coders")
    first = json_output(*send, "Anna,Ben", "--rows", 12, "--overlap", 4)
    assert first["rows"] == 20
    parts = json_output("handed-out", "answers")
    assert [part["coder"] for part in parts] == ["Anna", "Ben"]
    assert "Ben: 12 rows, since 20" in output("handed-out", "answers")
    reserved = {row for part in parts for row in part["rows"]}
    assert len(reserved) == 20 and reserved.isdisjoint({0, 1}), "those have a label"
    assert json_output(*send, "Cem")["rows"] == 8
    assert "All of these rows are with coders" in refusal(*send, "Dora")
    assert json_output(*send, "Dora", "--again")["rows"] == 28
    assert json_output("handed-out", "answers", "--call-back", "Dora,Anna")["called_back"] == 28
    assert json_output(*send, "Eva")["rows"] == 8, "those only Anna had"
    assert "No row is with Dora" in refusal("handed-out", "answers", "--call-back", "Dora")


def test_another_column_is_coded_and_handed_out(answers, json_output, output, refusal, tmp_path):
    tones = write_lines(tmp_path / "tones.csv", "label", "warm", "short")
    new = ("codebook", "answers", "--from", tones, "--new")
    assert "Column “tone” added for coding." in output(*new, "tone", "--kind", "labels")
    assert "cannot be the name" in refusal(*new, "tone")
    assert "no --target" in refusal("codebook", "answers", "--new", "other")
    send = ("hand-out", "answers", "--to", tmp_path / "p.packet", "--coders", "Anna")
    assert json_output(*send)["rows"] == 30
    assert json_output(*send, "--target", "label", "--rows", 5)["rows"] == 5
    for target, rows in ("tone", 30), ("label", 5):
        (part,) = json_output("handed-out", "answers", "--target", target)
        assert len(part["rows"]) == rows
    output("import", tmp_path / "p.packet")
    labels = write_lines(tmp_path / "codes.csv", "row,new_label", *(f"{n},food" for n in range(5)))
    output("relabel", "answers-Anna", labels)
    output("hand-in", "answers-Anna", "--to", tmp_path / "a.packet")
    taken = json_output("take-in", "answers", tmp_path / "a.packet")
    version = open_dataset(Home().datasets / "answers" / str(taken["version"]))
    assert version.spec.target_coders == {"label": ("Anna",)}
    assert version.spec.coded_column == "tone" and version.spec.mapping.coders == ()
    assert json_output("handed-out", "answers", "--target", "label") == []


def test_pairs_are_coded_and_handed_out(home, output, json_output, tmp_path):
    rows = (f"a cat {n} sat on the mat,an animal {n} sat" for n in range(20))
    file = write_lines(tmp_path / "pairs.csv", "premise,hypothesis", *rows)
    output("import", file)
    output("codebook", "pairs", "--from", write_lines(tmp_path / "b.csv", "label", "yes", "no"))
    output("hand-out", "pairs", "--to", tmp_path / "p.packet", "--coders", "Ann", "--rows", "9")
    output("import", tmp_path / "p.packet")
    assert open_dataset(home.datasets / "pairs-Ann" / "1").spec.mapping.pair == "hypothesis"
    codes = write_lines(tmp_path / "codes.csv", "row,new_label", *(f"{n},yes" for n in range(9)))
    output("relabel", "pairs-Ann", codes)
    output("hand-in", "pairs-Ann", "--to", tmp_path / "a.packet")
    assert json_output("take-in", "pairs", tmp_path / "a.packet")["conflicts"] == []
    version = open_dataset(home.datasets / "pairs" / "3")
    assert version.column("label").to_pylist().count("yes") == 9
    assert json_output("handed-out", "pairs") == []


def test_wrong_commands_are_refused(answers, refusal, tmp_path):
    packet = tmp_path / "p.packet"
    for options, part in (
        (("--to", tmp_path / "p.csv", "--coders", "A"), "does not have the suffix"),
        (("--to", packet, "--coders", " , "), "No coder is named"),
        (("--to", packet, "--coders", "A,B", "--rows", 20), "40 rows are needed, but there are 28"),
        (("--to", packet, "--coders", "A", "--blind", "--model", "minilm"), "not blind"),
    ):
        assert part in refusal("hand-out", "answers", *options)
    assert not packet.exists()
    assert main(["hand-out", "answers", "--to", str(packet), "--coders", "A,B", "--blind"]) == 0
    assert "is for A, B" in refusal("import", packet)
    assert "no codes yet" in refusal("take-in", "answers", packet)
    assert "missing.packet" in refusal("take-in", "answers", tmp_path / "missing.packet")


def test_a_model_suggests_labels_for_all_rows_of_a_packet(answers, output, tmp_path):
    packet = tmp_path / "p.packet"
    output("hand-out", "answers", "--to", packet, "--coders", "A", "--model", "minilm")
    from engine.data.datasets.packets import read_packet

    suggestions = [row.coding.suggestion for row in read_packet(packet).rows]
    assert len(suggestions) == 28 and {*suggestions} <= {"food", "home"}
