"""Recommended settings and their reasons."""

import math
from dataclasses import replace

import pytest

from engine.config.families.bert import bert
from engine.config.features import Features
from engine.config.recommended import (
    EPOCHS,
    LARGEST,
    PROBE_RATES,
    RATES,
    RECIPE_FIELDS,
    Situation,
    layer_weights,
    recommend,
    with_probe_rate,
)
from engine.config.tasks import TASKS
from engine.config.training import TrainingSpec

TEXT = TASKS["text_classification"].info
TINY, SMALL, BASE = bert(2, 128), bert(4, 256), bert(12, 768)


def test_layer_weights_count_the_matrices():
    assert layer_weights(BASE) == 12 * 12 * 768**2 == 84_934_656


@pytest.mark.parametrize("kind", TASKS)
def test_an_unmeasured_size_gets_the_values_of_the_paper(kind):
    info = TASKS[kind].info
    recommended = recommend(Situation(info, network=BASE, rows=500))
    assert recommended.training == info.training
    if info.head is not None:
        assert recommended.reasons["learning_rate"].startswith("As in the paper")
    assert recommend(Situation(info)).training == info.training, "as does an unknown size"


def test_smaller_networks_and_adapters_learn_at_higher_rates():
    rates = [
        recommend(Situation(TEXT, network=network)).training.learning_rate
        for network in (TINY, SMALL, bert(6, 384), BASE)
    ]
    assert rates == sorted(rates, reverse=True) and rates[1] > rates[-1] == 5e-5
    adapted = recommend(Situation(TEXT, network=SMALL, lora=True)).training.learning_rate
    assert adapted > rates[1]


def test_fewer_rows_get_more_epochs_and_the_reason_gives_the_updates():
    rows = (50, 3_000, 100_000)
    recommended = [recommend(Situation(TEXT, network=SMALL, rows=count)) for count in rows]
    epochs = [item.training.epochs for item in recommended]
    assert epochs == sorted(epochs, reverse=True) and len({*epochs}) == 3
    updates = 94 * int(epochs[1])
    assert (
        recommended[1].reasons["epochs"].endswith(f"epochs over 3,000 rows are {updates} updates.")
    )


def test_an_unmeasured_rate_is_described_as_such():
    reasons = [
        recommend(Situation(TEXT, network=bert(6, 384), lora=lora)).reasons["learning_rate"]
        for lora in (False, True)
    ]
    assert reasons[0].startswith("Measured")
    assert reasons[1].startswith("Between the measured rate")


@pytest.mark.parametrize("kind", TASKS)
def test_the_quick_recipe_changes_named_fields_where_it_was_measured(kind):
    """Its settings are valid for every task; layers that share weights cannot be frozen."""
    info, changed = TASKS[kind].info, set(RECIPE_FIELDS)
    for network in (None, SMALL, bert(6, 384), BASE):
        for lora, shares in ((False, False), (False, True), (True, False)):
            paper = Situation(info, network=network, rows=3_000, lora=lora, shares_layers=shares)
            quick = replace(paper, recipe="quick")
            values = recommend(quick).training
            before = recommend(paper).training
            if quick.quick is None:
                assert values == before
                continue
            assert network == bert(6, 384) and not lora and not shares
            assert info.head is not None
            different = {name for name, value in values if value != getattr(before, name)}
            assert different <= changed and values.epochs < before.epochs
            assert values.cache_frozen_layers and 0 < values.frozen_layers < network.layers
            TrainingSpec.model_validate(values.model_dump())


def test_another_probe_gets_its_rate_unless_the_user_set_one():
    lstm, linear = Features(vectors="last"), Features(vectors="last", probe="linear")
    assert lstm.learning_rate == PROBE_RATES[lstm.probe]
    probe = with_probe_rate(lstm, linear)
    assert probe == linear.model_copy(update={"learning_rate": PROBE_RATES["linear"]})
    restored = probe.model_copy(update={"probe": "bilstm"})
    assert with_probe_rate(probe, restored) == lstm
    custom = lstm.model_copy(update={"learning_rate": 2e-3})
    other = custom.model_copy(update={"probe": "linear"})
    assert with_probe_rate(custom, other) == other


@pytest.mark.parametrize("typical, length", [(3, 16), (45, 48), (64, 64), (65, 80), (900, 256)])
def test_the_length_fits_typical_inputs_and_the_network(typical, length):
    network = SMALL.model_copy(update={"max_positions": 256})
    recommended = recommend(Situation(TEXT, network=network, typical_length=typical))
    assert recommended.training.max_length == length
    assert recommended.reasons["max_length"] == (
        f"99 % of the inputs in the sample have at most {typical} tokens."
    )


def test_windows_and_blocks_keep_their_usual_length():
    for kind, length in (("question_answering", 384), ("pretraining", 128)):
        info = TASKS[kind].info
        recommended = recommend(Situation(info, network=SMALL, typical_length=900))
        assert recommended.training.max_length == length


def test_the_tables_are_in_ascending_order():
    assert RATES.keys() == EPOCHS.keys()
    for rates in RATES.values():
        assert [rate.max_weights for rate in rates] == sorted(r.max_weights for r in rates)
        assert rates[-1].max_weights == LARGEST
    for epochs in EPOCHS.values():
        assert [rule.max_rows for rule in epochs] == sorted(r.max_rows for r in epochs)
        assert epochs[-1].max_rows == math.inf
