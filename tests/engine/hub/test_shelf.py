"""Each entry of the shelf can be loaded and is consistent, also with measurements."""

import re

import pytest

from engine.checkpoints.outline import outline, parameters
from engine.config.families import FAMILIES
from engine.config.families.bert import bert
from engine.hub.cost import estimate_cost, matmul_rate, operations, verdict
from engine.hub.shelf import GROUPS, LANGUAGES, MAX_NAMED, OFFERED, SHELF, find_entry
from engine.system.precision import Speeds, ThreadSpeeds

LICENCES = {"apache-2.0", "mit", "cc-by-sa-4.0", "cc-by-4.0"}
LANGUAGE = re.compile(r"[a-z]{2,3}")


@pytest.mark.parametrize("entry", OFFERED, ids=lambda entry: entry.name)
def test_an_entry_is_consistent(entry):
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", entry.name)
    assert entry.group in GROUPS and entry.licence in LICENCES
    assert entry.languages and all(LANGUAGE.fullmatch(code) for code in entry.languages)
    named = entry.languages if len(entry.languages) <= MAX_NAMED else ()
    assert {*named} <= {*LANGUAGES, "mul"}
    assert entry.title and entry.good_for and entry.family in FAMILIES
    heads = ("pooler",) if entry.pooled else ()
    size = 2 if entry.half else 4
    low = size * parameters(outline(entry.spec, heads))
    high = size * parameters(outline(entry.spec, (*heads, "mlm")))
    assert 0.985 * low <= entry.bytes <= 1.015 * high  # published size against computed sizes
    assert 0 < entry.max_length <= 8192


def test_an_entry_is_found_by_either_name():
    assert len({entry.name for entry in SHELF}) == len(SHELF)
    assert {entry.group for entry in OFFERED} == set(GROUPS)
    assert (
        find_entry("google-bert/bert-base-uncased") is find_entry("BERT-base-uncased") is not None
    )
    assert find_entry("nothing/like-it") is None


def test_the_memory_estimate_matches_measured_runs():
    """Peaks of `python -m benchmarks memory`: classification, batches of 32."""
    for layers, width, expected in ((4, 256, 0.75e9), (12, 768, 2.92e9)):
        cost = estimate_cost(bert(layers, width))
        assert cost.training_bytes == pytest.approx(expected, rel=0.15)


def test_operations_count_the_matrix_products():
    spec, tokens = bert(12, 768), 128
    layers = sum(block.parameters for block in outline(spec)[1:])
    maps = 4 * spec.layers * tokens * tokens * spec.hidden_size
    assert operations(spec, tokens) == pytest.approx(2 * layers * tokens + maps, rel=0.01)


def test_the_fit_depends_on_free_memory():
    assert [verdict(needed, 100) for needed in (50, 90, 101)] == ["fits", "tight", "too large"]


def test_the_measured_speed_is_used():
    pace = ThreadSpeeds("here", 1, {"1": 5e9, "2": 8e9})
    assert matmul_rate(pace, Speeds("cpu here", fp32=6e9)) == 8e9
    assert matmul_rate(None, Speeds("cuda here", fp32=9e13)) < 9e13
    assert 1e8 < matmul_rate(None, None) < 1e14
    spec = bert(2, 128)
    slow, quick = (estimate_cost(spec, rate).seconds for rate in (1e9, 2e9))
    assert slow is not None and quick is not None and slow == pytest.approx(2 * quick)
    assert estimate_cost(spec).seconds is None
