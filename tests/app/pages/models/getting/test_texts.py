"""The facts of a model before its download depend on the machine."""

from app.machine import Machine
from app.pages.models.getting import texts
from app.pages.models.getting.state import GettingState, machine_facts
from engine.desktop.load import GpuLoad
from engine.hub.shelf import find_entry

GB = 10**9
MACHINE = Machine(
    "Linux 6", "a processor", 8, 64 * GB, 32 * GB, 99 * GB, ("A GPU",), "2.13.0+cu130"
)


def gpu(total: int | None, used: int | None = 0) -> GpuLoad:
    return GpuLoad(name="A GPU", busy=0.1, memory=used, memory_total=total)


def test_a_model_must_fit_the_gpu_used_for_training(qtbot, studio):
    state, entry = GettingState(studio), find_entry("FacebookAI/roberta-large")
    assert entry is not None and texts.training_verdict(state, entry) is None
    state.machine = machine_facts(MACHINE, [])
    assert texts.training_verdict(state, entry) == "fits"
    assert dict(fact[:2] for fact in texts.shelf_facts(state, entry))["Fine-tuning"].endswith(
        "free"
    )
    state.machine = machine_facts(MACHINE, [gpu(6 * GB, 2 * GB), gpu(80 * GB)])
    assert state.machine.training_free == 4 * GB
    assert texts.training_verdict(state, entry) == "too large"
    facts = {fact[0]: fact[1:] for fact in texts.shelf_facts(state, entry)}
    assert facts["Fine-tuning"][0].endswith("4.0 GB free on A GPU")
    assert facts["Fine-tuning"][1] == "warn" and facts["Exploring"][1] == "body"
    assert facts["1,000 short texts"][0].endswith("on the CPU")
    assert machine_facts(MACHINE, [gpu(None)]).training_free == MACHINE.memory_free
