"""Cache of loaded checkpoints."""

import shutil

import pytest
import torch

from engine.errors import StudioError
from engine.explore import model_cache
from engine.explore.model_cache import MAX_MODELS, ModelCache
from tests.engine.models.small import folder


def test_a_checkpoint_is_loaded_once(tiny_folder):
    own = ModelCache()
    assert own.take(tiny_folder) is own.take(tiny_folder)


def test_a_checkpoint_that_changed_on_the_disk_is_loaded_again(tmp_path, tiny_folder):
    place = tmp_path / "model"
    shutil.copytree(tiny_folder, place)
    own = ModelCache()
    before = own.take(place)
    shutil.rmtree(place)
    folder(place)
    after = own.take(place)
    assert before is not after
    assert after.network.task is None


def test_the_checkpoint_used_longest_ago_makes_room(tmp_path, tiny_folder, monkeypatch):
    loaded = []
    load = model_cache.load
    monkeypatch.setattr(
        model_cache,
        "load",
        lambda path, tokenizer: loaded.append(path.name) or load(path, tokenizer=tokenizer),
    )
    own, places = ModelCache(), [tmp_path / str(number) for number in range(MAX_MODELS + 1)]
    for place in places:
        shutil.copytree(tiny_folder, place)
    for place in (*places[:MAX_MODELS], places[0], places[MAX_MODELS], places[0], places[1]):
        own.take(place)
    assert loaded == [*(p.name for p in places), places[1].name]


def test_a_device_that_is_not_there_is_named(tiny_folder):
    if torch.cuda.is_available():
        pytest.skip("this machine has one")
    with pytest.raises(StudioError, match="“cuda”"):
        ModelCache("cuda").take(tiny_folder)


def test_a_folder_without_a_model_is_refused_in_words(tmp_path):
    with pytest.raises(StudioError):
        ModelCache().take(tmp_path / "nothing")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_answers_of_a_device_are_those_of_the_processor(tiny_folder):
    from engine.explore.attention import weights

    _, here = weights(ModelCache("cpu").take(tiny_folder), "a b c")
    _, there = weights(ModelCache("cuda").take(tiny_folder), "a b c")
    assert abs(here - there).max() < 1e-4
