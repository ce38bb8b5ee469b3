"""TensorFlow checkpoints are read, and written as TensorFlow does."""

import json
import os
import random
import shutil
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from engine.checkpoints.info import checkpoint_info
from engine.checkpoints.tf1.bundle import open_bundle
from engine.checkpoints.tf1.names import google_name, is_transposed, published_name
from engine.errors import BadCheckpoint, StudioError
from engine.models import published
from engine.models.checkpoint import examine, import_checkpoint, load
from engine.models.heads import Heads
from engine.models.network import Network
from engine.models.tf1 import write_tf1
from engine.tokenizers.tokenizer import Tokenizer
from engine.tokenizers.wordpiece import WordPiece
from tests.engine.models import small
from tests.engine.models.hostile_tf1 import CASES, DATA, INDEX, rebuild_index
from tests.engine.models.small import LABELS, network, tokenizer
from tests.engine.models.test_checkpoint import assert_same, parameters, specs
from tests.often import tries

TF1 = Path(__file__).parent / "data" / "tf1"  # written by make.py there
ALL_HEADS = Heads(mlm=True, nsp=True, outputs=3)
MUTANTS = 40  # of each kind of file


def numbers(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Tensor that make.py wrote under this name."""
    count = np.arange(np.prod(shape, dtype=int))
    values = (zlib.crc32(name.encode()) + 7919 * count) % 2001 - 1000
    return (values / 1024).astype(np.float32).reshape(shape)


def tf1_folder(path: Path, heads: Heads = ALL_HEADS) -> Path:
    path.mkdir(parents=True)
    write_tf1(path, network(heads), tokenizer(path.parent), LABELS if heads.outputs else ())
    return path


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> Path:
    return tf1_folder(tmp_path_factory.mktemp("good") / "model")


# ── checkpoints of TensorFlow ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["saved", "shards"])
def test_tensorflow_checkpoints_are_loaded_bit_for_bit(name):
    loaded = load(TF1 / name)
    assert loaded.network.heads == Heads(mlm=True, nsp=True, pooler=True)
    for ours, parameter in parameters(loaded.network).items():
        google = google_name(published.published_name(ours))
        transposed = is_transposed(google)
        shape = tuple(parameter.shape)
        stored = numbers(google, shape[::-1] if transposed else shape)
        assert np.array_equal(parameter.detach().numpy(), stored.T if transposed else stored), ours
    assert loaded.report.missing == loaded.report.notes == ()
    assert loaded.dtype == "float32"
    assert loaded.info == checkpoint_info(TF1 / name)


def test_optimiser_tensors_are_unused(tmp_path):
    unexpected = load(TF1 / "saved").report.unexpected
    weights = [name for name in unexpected if not name.endswith(("/adam_m", "/adam_v"))]
    assert weights == ["global_step"]
    assert len(unexpected) == 2 * len(load(TF1 / "saved").report.loaded) + 1
    assert load(TF1 / "shards").report.unexpected == ()


def test_written_files_equal_those_of_tensorflow(tmp_path):
    """Names, types, shapes and checksums are equal after reading and writing."""
    loaded = load(TF1 / "shards")
    write_tf1(tmp_path, loaded.network, loaded.tokenizer)
    theirs, ours = open_bundle(TF1 / "shards", INDEX), open_bundle(tmp_path, INDEX)
    assert list(theirs.entries) == list(ours.entries)
    for name, entry in theirs.entries.items():
        actual = ours.entries[name]
        expected = (entry.dtype, entry.shape, entry.size, entry.checksum)
        assert (actual.dtype, actual.shape, actual.size, actual.checksum) == expected, name
    config = json.loads((tmp_path / "bert_config.json").read_text())
    assert config.items() >= json.loads((TF1 / "shards/bert_config.json").read_text()).items()
    vocabulary = (tmp_path / "vocab.txt").read_bytes()
    assert vocabulary == (TF1 / "shards" / "vocab.txt").read_bytes()


def test_no_changed_byte_of_an_index_is_overlooked(tmp_path):
    """Any changed byte is refused or changes nothing."""
    folder = shutil.copytree(TF1 / "shards", tmp_path / "shards")
    original, expected = (folder / INDEX).read_bytes(), open_bundle(folder, INDEX)
    problems = []
    for index in range(len(original)):
        mutant = bytearray(original)
        mutant[index] ^= 1 << index % 8
        (folder / INDEX).write_bytes(mutant)
        try:
            assert open_bundle(folder, INDEX) == expected, index
        except BadCheckpoint as error:
            problems.append(error.problem)
    assert len(problems) > len(original) - 80  # the footer is padded; nothing reads the empty block
    assert_readable(problems)


# ── round trip ───────────────────────────────────────────────────────────────────────────────


@tries(25, suppress_health_check=[HealthCheck.too_slow])
@given(spec=specs(), mlm=st.booleans(), nsp=st.booleans(), classes=st.sampled_from([0, 2, 5]))
def test_any_network_is_restored(tmp_path_factory, spec, mlm, nsp, classes):
    model = network(Heads(mlm, nsp, classes), spec)
    folder = tmp_path_factory.mktemp("any")
    words = tokenizer(folder)
    write_tf1(folder, model, words)
    loaded = load(folder)
    assert_same(loaded.network, model)
    assert (loaded.spec, loaded.network.heads) == (spec, model.heads)
    assert loaded.tokenizer.fingerprint == words.fingerprint
    assert loaded.report.missing == loaded.report.unexpected == ()
    assert loaded.info == checkpoint_info(folder)
    assert sorted(loaded.report.loaded) == sorted(parameters(model))
    shutil.rmtree(folder)


def test_published_names_map_to_google_names_and_back():
    for ours in parameters(network(ALL_HEADS)):
        name = published.published_name(ours)
        assert published_name(google_name(name)) == name
    for other in ("global_step", "bert/pooler/dense/kernel/adam_m", "bert.pooler.dense.weight"):
        assert published_name(other) is None


def test_an_import_converts_to_our_format(good, tmp_path):
    info, report = import_checkpoint(good, tmp_path / "into")
    assert info == checkpoint_info(tmp_path / "into") == load(tmp_path / "into").info
    assert_same(load(tmp_path / "into").network, load(good).network)
    assert (info, report) == (examine(tmp_path / "into")[0], examine(good)[1])


def test_a_config_of_transformers_is_accepted(good, tmp_path):
    folder = shutil.copytree(good, tmp_path / "model")
    (folder / "bert_config.json").rename(folder / "config.json")
    assert_same(load(folder).network, load(good).network)


def test_a_config_of_google_is_accepted_for_torch_weights(tmp_path):
    folder = small.folder(tmp_path / "model")
    (folder / "config.json").rename(folder / "bert_config.json")
    assert_same(load(folder).network, network())


def test_the_checkpoint_file_selects_one_of_two_checkpoints(good, tmp_path):
    folder = shutil.copytree(good, tmp_path / "model")
    model = network(ALL_HEADS, seed=2)
    (tmp_path / "later").mkdir()
    write_tf1(tmp_path / "later", model, tokenizer(tmp_path), LABELS)
    for name in (INDEX, DATA):
        later = name.replace("bert_model.ckpt", "model.ckpt-20")
        shutil.move(tmp_path / "later" / name, folder / later)
    (folder / "checkpoint").write_text(
        'model_checkpoint_path: "/home/them/run/model.ckpt-20"\n'
        'all_model_checkpoint_paths: "/home/them/run/bert_model.ckpt"\n'
    )
    assert_same(load(folder).network, model)
    assert not any("checkpoint" in note for note in load(folder).report.notes)


@pytest.mark.parametrize("note", ['model_checkpoint_path: "a/model.ckpt-3"', "no such note"])
def test_a_single_checkpoint_is_read_under_any_name(good, tmp_path, note):
    folder = shutil.copytree(good, tmp_path / "model")
    (folder / "checkpoint").write_text(note)
    notes = load(folder).report.notes
    warning = "“checkpoint” lists model.ckpt-3, which is missing; bert_model.ckpt.index was loaded."
    assert any(warning in item for item in notes) == note.startswith("model")


def test_an_ambiguous_class_head_is_reported(good, tmp_path):
    assert load(good).report.notes == ()  # its config states the task
    open_folder = shutil.copytree(good, tmp_path / "open")
    config = json.loads((good / "bert_config.json").read_text())
    stated = ("architectures", "bert_studio_task", "problem_type")
    kept = {name: value for name, value in config.items() if name not in stated}
    (open_folder / "bert_config.json").write_text(json.dumps(kept))
    assert any("for texts or for tokens" in note for note in load(open_folder).report.notes)
    plain = tf1_folder(tmp_path / "plain", Heads(mlm=True))
    assert load(plain).report.notes == ()


def test_the_info_follows_changes_of_any_file(good, tmp_path):
    folder = shutil.copytree(good, tmp_path / "cased_model")
    (folder / "tokenizer_config.json").unlink()
    (folder / "tokenizer.json").unlink()
    assert not checkpoint_info(folder).lowercase
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    assert checkpoint_info(folder).lowercase
    (folder / DATA).unlink()
    with pytest.raises(BadCheckpoint, match="is missing"):
        checkpoint_info(folder)


@pytest.mark.parametrize(
    "name, words, lowercase",
    [
        ("uncased_L-12_H-768_A-12", "abcDE", True),
        ("cased_L-12_H-768_A-12", "abcde", False),
        ("multi_cased_L-12_H-768_A-12", "abcde", False),
        ("BERT-Base-Uncased", "abcDE", True),
        ("showcased", "abcde", True),
        ("chinese_L-12_H-768_A-12", "abcde", True),
        ("my model", "abcDE", False),
    ],
)
def test_the_name_or_the_pieces_decide_on_lowercasing(
    tmp_path, monkeypatch, name, words, lowercase
):
    folder = shutil.copytree(TF1 / "shards", tmp_path / name)
    pieces = [*small.WORDS[:5], *words, "##x"]
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    assert load(folder).tokenizer.lowercase == lowercase == checkpoint_info(folder).lowercase
    monkeypatch.chdir(folder)
    assert load(Path()).tokenizer.lowercase == lowercase


def test_unwritable_networks_are_refused(tmp_path):
    model: Network = network()
    unwritable = Tokenizer(WordPiece(tokens=(*small.WORDS, "a\nb")))
    with pytest.raises(StudioError, match="line break"):
        write_tf1(tmp_path, model, unwritable)
    with torch.no_grad():
        model.encoder.layers[0].attention.query.weight[0, 0] = torch.inf
    with pytest.raises(StudioError, match="NaN or infinite"):
        write_tf1(tmp_path, model, tokenizer(tmp_path))
    assert not list(tmp_path.iterdir())


def assert_readable(problems: list[str]) -> None:
    assert all(problem.isprintable() and len(problem) <= 300 for problem in problems)


# ── damage ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes and links")
@pytest.mark.parametrize("name", CASES)
def test_a_hostile_checkpoint_is_refused(good, tmp_path, name):
    spoil, message = CASES[name]
    folder = shutil.copytree(good, tmp_path / "model")
    spoil(folder)
    with pytest.raises(BadCheckpoint) as raised:
        load(folder)
    problem = raised.value.problem
    assert message in problem
    assert_readable([problem])
    assert problem.endswith(".")
    assert raised.value.advice.endswith(".")
    with pytest.raises(BadCheckpoint):
        import_checkpoint(folder, tmp_path / "into")
    assert not (tmp_path / "into").exists()


@pytest.mark.parametrize("name", [INDEX, DATA])
def test_a_changed_byte_is_refused_or_changes_nothing(good, tmp_path, name):
    folder = shutil.copytree(good, tmp_path / "model")
    expected = load(good).network
    original = (folder / name).read_bytes()
    rng = random.Random(name)
    problems = []
    for _ in range(MUTANTS):
        mutant = bytearray(original)
        for _ in range(rng.randint(1, 4)):
            mutant[rng.randrange(len(mutant))] ^= 1 << rng.randrange(8)
        (folder / name).write_bytes(mutant[: len(mutant) - rng.choice([0, 0, 0, 1, 100])])
        try:
            assert_same(load(folder).network, expected)
        except BadCheckpoint as error:
            problems.append(error.problem)
    assert len(problems) > MUTANTS * 0.9
    assert_readable(problems)


def test_a_corrupt_index_with_valid_checksums_is_loaded_or_refused(good, tmp_path):
    folder = shutil.copytree(good, tmp_path / "model")
    rng = random.Random(3)
    problems = []

    def corrupt(entries: dict[bytes, bytes]) -> None:
        name = rng.choice(list(entries))
        value = bytearray(entries[name])
        for _ in range(rng.randint(1, 3)):
            value[rng.randrange(len(value))] = rng.randrange(256)
        entries[name] = bytes(value)

    for _ in range(2 * MUTANTS):
        shutil.copy(good / INDEX, folder)
        rebuild_index(folder, corrupt)
        try:
            load(folder)
        except BadCheckpoint as error:
            problems.append(error.problem)
        else:
            checkpoint_info(folder)
    assert len(problems) > MUTANTS
    assert_readable(problems)


def test_a_file_truncated_while_loading_is_refused(good, tmp_path):
    folder = shutil.copytree(good, tmp_path / "model")
    bundle = open_bundle(folder, INDEX)
    os.truncate(folder / DATA, 10)
    with pytest.raises(BadCheckpoint, match="does not match"):
        bundle.read("output_bias")
    (folder / DATA).unlink()
    with pytest.raises(BadCheckpoint, match="cannot be read"):
        bundle.read("output_bias")
