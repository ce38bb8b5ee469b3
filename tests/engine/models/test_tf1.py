"""TensorFlow checkpoints are read, and written as by TensorFlow."""

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
from tests.engine.models.hostile_tf1 import CASES, DATA, INDEX, rebuilt
from tests.engine.models.small import LABELS, network, tokenizer
from tests.engine.models.test_checkpoint import assert_same, parameters, specs
from tests.often import tries

WRITTEN = Path(__file__).parent / "data" / "tf1"  # by TensorFlow; see make.py there
ALL_HEADS = Heads(mlm=True, nsp=True, outputs=3)
MUTANTS = 40  # of each kind of file


def numbers(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Tensor that make.py wrote under this name."""
    count = np.arange(np.prod(shape, dtype=int))
    spread = (zlib.crc32(name.encode()) + 7919 * count) % 2001 - 1000
    return (spread / 1024).astype(np.float32).reshape(shape)


def tf1_folder(path: Path, heads: Heads = ALL_HEADS) -> Path:
    path.mkdir(parents=True)
    write_tf1(path, network(heads), tokenizer(path.parent), LABELS if heads.outputs else ())
    return path


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> Path:
    return tf1_folder(tmp_path_factory.mktemp("good") / "model")


# ── what TensorFlow wrote ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["saved", "shards"])
def test_tensorflow_checkpoints_are_loaded_bit_for_bit(name):
    loaded = load(WRITTEN / name)
    assert loaded.network.heads == Heads(mlm=True, nsp=True, pooler=True)
    for ours, parameter in parameters(loaded.network).items():
        google = google_name(published.published_name(ours))
        turned = is_transposed(google)
        shape = tuple(parameter.shape)
        stored = numbers(google, shape[::-1] if turned else shape)
        assert np.array_equal(parameter.detach().numpy(), stored.T if turned else stored), ours
    assert loaded.report.missing == loaded.report.notes == ()
    assert loaded.dtype == "float32"
    assert loaded.info == checkpoint_info(WRITTEN / name)


def test_optimiser_tensors_are_unused(tmp_path):
    left_over = load(WRITTEN / "saved").report.unexpected
    weights = [name for name in left_over if not name.endswith(("/adam_m", "/adam_v"))]
    assert weights == ["global_step"]
    assert len(left_over) == 2 * len(load(WRITTEN / "saved").report.loaded) + 1
    assert load(WRITTEN / "shards").report.unexpected == ()


def test_we_write_what_tensorflow_wrote(tmp_path):
    """The same names, types, shapes and checksums, from a network that was read from its file."""
    loaded = load(WRITTEN / "shards")
    write_tf1(tmp_path, loaded.network, loaded.tokenizer)
    theirs, ours = open_bundle(WRITTEN / "shards", INDEX), open_bundle(tmp_path, INDEX)
    assert list(theirs.entries) == list(ours.entries)
    for name, entry in theirs.entries.items():
        mine = ours.entries[name]
        written = (entry.dtype, entry.shape, entry.size, entry.checksum)
        assert (mine.dtype, mine.shape, mine.size, mine.checksum) == written, name
    config = json.loads((tmp_path / "bert_config.json").read_text())
    assert config.items() >= json.loads((WRITTEN / "shards/bert_config.json").read_text()).items()
    vocabulary = (tmp_path / "vocab.txt").read_bytes()
    assert vocabulary == (WRITTEN / "shards" / "vocab.txt").read_bytes()


def test_no_changed_byte_of_an_index_is_overlooked(tmp_path):
    """Any changed byte is refused or changes nothing."""
    folder = shutil.copytree(WRITTEN / "shards", tmp_path / "shards")
    whole, expected = (folder / INDEX).read_bytes(), open_bundle(folder, INDEX)
    problems = []
    for index in range(len(whole)):
        mutant = bytearray(whole)
        mutant[index] ^= 1 << index % 8
        (folder / INDEX).write_bytes(mutant)
        try:
            assert open_bundle(folder, INDEX) == expected, index
        except BadCheckpoint as error:
            problems.append(error.problem)
    assert len(problems) > len(whole) - 80  # the footer is padded; nothing reads the empty block
    assert_readable(problems)


# ── there and back ───────────────────────────────────────────────────────────────────────────


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


def test_every_published_name_has_one_of_googles():
    for ours in parameters(network(ALL_HEADS)):
        name = published.published_name(ours)
        assert published_name(google_name(name)) == name
    for other in ("global_step", "bert/pooler/dense/kernel/adam_m", "bert.pooler.dense.weight"):
        assert published_name(other) is None


def test_an_import_makes_it_a_checkpoint_of_ours(good, tmp_path):
    info, report = import_checkpoint(good, tmp_path / "into")
    assert info == checkpoint_info(tmp_path / "into") == load(tmp_path / "into").info
    assert_same(load(tmp_path / "into").network, load(good).network)
    assert (info, report) == (examine(tmp_path / "into")[0], examine(good)[1])


def test_a_config_of_transformers_will_do(good, tmp_path):
    folder = shutil.copytree(good, tmp_path / "model")
    (folder / "bert_config.json").rename(folder / "config.json")
    assert_same(load(folder).network, load(good).network)


def test_a_config_of_google_will_do_for_weights_of_torch(tmp_path):
    folder = small.folder(tmp_path / "model")
    (folder / "config.json").rename(folder / "bert_config.json")
    assert_same(load(folder).network, network())


def test_of_two_checkpoints_the_one_is_read_that_the_saver_names(good, tmp_path):
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


def test_a_class_head_may_be_for_tokens_and_this_is_reported(good, tmp_path):
    assert any("text classifier" in note for note in load(good).report.notes)
    plain = tf1_folder(tmp_path / "plain", Heads(mlm=True))
    assert load(plain).report.notes == ()


def test_a_change_of_any_file_is_seen(good, tmp_path):
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
    folder = shutil.copytree(WRITTEN / "shards", tmp_path / name)
    pieces = [*small.WORDS[:5], *words, "##x"]
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    assert load(folder).tokenizer.lowercase == lowercase == checkpoint_info(folder).lowercase
    monkeypatch.chdir(folder)
    assert load(Path()).tokenizer.lowercase == lowercase


def test_unwritable_networks_are_refused(tmp_path):
    model: Network = network()
    odd = Tokenizer(WordPiece(tokens=(*small.WORDS, "a\nb")))
    with pytest.raises(StudioError, match="line break"):
        write_tf1(tmp_path, model, odd)
    with torch.no_grad():
        model.encoder.layers[0].attention.query.weight[0, 0] = torch.inf
    with pytest.raises(StudioError, match="NaN or infinite"):
        write_tf1(tmp_path, model, tokenizer(tmp_path))
    assert not list(tmp_path.iterdir())


def assert_readable(problems: list[str]) -> None:
    assert all(problem.isprintable() and len(problem) <= 300 for problem in problems)


# ── damage ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(os.name != "posix", reason="pipes and links as POSIX has them")
@pytest.mark.parametrize("name", CASES)
def test_a_hostile_checkpoint_is_refused(good, tmp_path, name):
    spoil, says = CASES[name]
    folder = shutil.copytree(good, tmp_path / "model")
    spoil(folder)
    with pytest.raises(BadCheckpoint) as raised:
        load(folder)
    problem = raised.value.problem
    assert says in problem
    assert_readable([problem])
    assert problem.endswith(".")
    assert raised.value.advice.endswith(".")
    with pytest.raises(BadCheckpoint):
        import_checkpoint(folder, tmp_path / "into")
    assert not (tmp_path / "into").exists()


@pytest.mark.parametrize("name", [INDEX, DATA])
def test_a_changed_byte_is_refused_or_changes_nothing(good, tmp_path, name):
    folder = shutil.copytree(good, tmp_path / "model")
    same = load(good).network
    whole = (folder / name).read_bytes()
    chance = random.Random(name)
    problems = []
    for _ in range(MUTANTS):
        mutant = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            mutant[chance.randrange(len(mutant))] ^= 1 << chance.randrange(8)
        (folder / name).write_bytes(mutant[: len(mutant) - chance.choice([0, 0, 0, 1, 100])])
        try:
            assert_same(load(folder).network, same)
        except BadCheckpoint as error:
            problems.append(error.problem)
    assert len(problems) > MUTANTS * 0.9
    assert_readable(problems)


def test_an_index_that_lies_with_good_checksums_is_loaded_or_refused(good, tmp_path):
    folder = shutil.copytree(good, tmp_path / "model")
    chance = random.Random(3)
    problems = []

    def lie(entries: dict[bytes, bytes]) -> None:
        name = chance.choice(list(entries))
        value = bytearray(entries[name])
        for _ in range(chance.randint(1, 3)):
            value[chance.randrange(len(value))] = chance.randrange(256)
        entries[name] = bytes(value)

    for _ in range(3 * MUTANTS):
        shutil.copy(good / INDEX, folder)
        rebuilt(folder, lie)
        try:
            load(folder)
        except BadCheckpoint as error:
            problems.append(error.problem)
        else:
            checkpoint_info(folder)
    assert len(problems) > MUTANTS
    assert_readable(problems)


def test_a_file_that_shrinks_while_it_is_loaded_is_an_error_and_no_crash(good, tmp_path):
    folder = shutil.copytree(good, tmp_path / "model")
    bundle = open_bundle(folder, INDEX)
    os.truncate(folder / DATA, 10)
    with pytest.raises(BadCheckpoint, match="does not match"):
        bundle.read("output_bias")
    (folder / DATA).unlink()
    with pytest.raises(BadCheckpoint, match="cannot be read"):
        bundle.read("output_bias")
