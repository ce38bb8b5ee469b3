"""Load of the machine, of this process and its children, and of NVIDIA's GPUs."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from engine.desktop import load
from engine.desktop.load import GpuLoad, MachineWatch, gpu_loads

BUSY = "import time\nblock = bytearray(30_000_000)\nprint('here', flush=True)\nwhile True: pass"


def test_load_counts_a_process_and_its_children():
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None and child.stdout.readline() == b"here\n"
            watch = MachineWatch()
            total = watch.sample(os.getpid())
            watch.sample(child.pid)
            before = psutil.Process(child.pid).cpu_times().user
            while psutil.Process(child.pid).cpu_times().user < before + 0.1:
                pass
            load = watch.sample(child.pid)
        finally:
            child.kill()
    assert load.run_memory is not None and load.run_memory > 30_000_000
    assert total.run_memory is not None and total.run_memory > load.run_memory, "with its children"
    assert load.run_busy is not None and 0 < load.run_busy <= 1.1
    assert 0 <= load.busy <= 1 and 0 < load.memory < load.memory_total


def test_the_load_is_measured_from_any_thread():
    watch, start = MachineWatch(), time.process_time()
    while time.process_time() < start + 0.1:
        pass
    with ThreadPoolExecutor(1) as another:
        assert 0 < another.submit(watch.sample, os.getpid()).result().busy <= 1


def test_only_the_machine_is_measured_if_the_process_has_ended():
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    load = MachineWatch().sample(child.pid)
    assert load.run_memory is None and load.run_busy is None and load.memory > 0


OUTPUT = (
    "NVIDIA A100, 87, 1024, 81920, 61, 250.5\\nNVIDIA T4, [N/A], 10, 15360, 40, [Not Supported]\\n"
)


@pytest.mark.skipif(os.name == "nt", reason="a shell script replaces the driver")
@pytest.mark.parametrize("script, gpus", [(f"printf '{OUTPUT}'", 2), ("exit 9", 0)])
def test_gpus_are_read_from_nvidia_smi(tmp_path, monkeypatch, script, gpus):
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    loads = list(gpu_loads())
    assert len(loads) == gpus
    if loads:
        assert loads[0] == GpuLoad(
            name="NVIDIA A100",
            busy=0.87,
            memory=1 << 30,
            memory_total=80 << 30,
            temperature=61.0,
            power=250.5,
        )
        assert loads[1].busy is None and loads[1].power is None


def test_the_temperature_is_that_of_the_hottest_core(monkeypatch):
    class Sensor:
        def __init__(self, current: float) -> None:
            self.current = current

    sensors = {"nvme": [Sensor(70)], "coretemp": [Sensor(51), Sensor(58)]}
    monkeypatch.setattr(load.sys, "platform", "linux")
    monkeypatch.setattr(load.psutil, "sensors_temperatures", lambda: sensors, raising=False)
    assert load.processor_temperature() == 58
    sensors.pop("coretemp")
    assert load.processor_temperature() is None
