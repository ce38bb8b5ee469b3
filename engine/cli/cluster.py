"""Train a job on many machines: create its run folder, and print the start commands.

All ranks read the shared run folder, and rank 0 writes it. Drop the folder on the window to show
the run.
"""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from engine.errors import StudioError
from engine.runs.folder import RunFolder
from engine.runs.groups import expand
from engine.runs.job_file import read_job
from engine.runs.launch import CODE
from engine.system.terminal import echo

PORT = 29500  # torch's default
NOTICE_SECONDS = 300  # from the warning of Slurm to the time limit, to save
MAX_RESTARTS = 3  # after the death of a rank, from the last checkpoint


def cluster(
    job: Annotated[Path, typer.Argument(help="The job file.")],
    into: Annotated[Path, typer.Option(help="The run folder to create; all machines must see it.")],
    nodes: Annotated[int, typer.Option(min=1, help="Number of machines.")] = 1,
    processes: Annotated[
        int | None,
        typer.Option(
            min=1, max=1024, help="Processes per machine, one per GPU; default: as in the job."
        ),
    ] = None,
) -> None:
    """Create the run folder of a job and print the torchrun and Slurm commands that train it.

    The same command resumes a run that was stopped, also on another number of machines.
    """
    if getattr(sys, "frozen", False):
        raise StudioError(
            "torchrun needs the Python of a checkout, which this packaged program does not have.",
            "Install BERT Studio from its sources on the machines that are to train.",
        )
    spec = read_job(job)
    (first, *others) = expand(spec)
    if others or spec.search is not None:
        raise StudioError(
            "A job of several runs has a folder for each of them.",
            "Set training.seeds to 1, features.vectors to a single choice, and each field to"
            " one value.",
        )
    per_node = processes or first.hardware.processes
    if nodes * per_node > first.training.batch_size:
        raise StudioError(
            "A batch size of {batch_size} is too small for {nodes} processes.",
            "Use a larger batch size, or fewer processes.",
            batch_size=first.training.batch_size,
            nodes=nodes * per_node,
        )
    echo(*script(RunFolder.create(into.absolute(), first).path, nodes, per_node).splitlines())


def script(folder: Path, nodes: int, processes: int) -> str:
    """The torchrun command line for a run, and a Slurm script with it."""
    by_hand, by_slurm = "--standalone", "--standalone"
    if nodes > 1:
        first = '$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
        by_hand = f"--rdzv-backend c10d --rdzv-endpoint FIRST_MACHINE:{PORT}"
        by_slurm = f'--rdzv-backend c10d --rdzv-id "$SLURM_JOB_ID" --rdzv-endpoint "{first}:{PORT}"'
    heading = f"on each of {nodes} machines" if nodes > 1 else "on this machine"
    return f"""# Either {heading}:
{torchrun(folder, nodes, processes, by_hand)}

# Or as a file for sbatch:
#!/bin/bash
#SBATCH --job-name={shlex.quote(folder.name)}
#SBATCH --nodes={nodes} --ntasks-per-node=1 --gpus-per-node={processes}
#SBATCH --requeue --signal=TERM@{NOTICE_SECONDS}
srun {torchrun(folder, nodes, processes, by_slurm)}"""


def torchrun(folder: Path, nodes: int, processes: int, rendezvous: str) -> str:
    """The command line that starts the ranks of one machine; `rendezvous`: its options.

    By default, torchrun lets restarted ranks reuse the store of their predecessors, which has dead
    addresses.
    """
    settings = f"PYTHONPATH={shlex.quote(str(CODE))} TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"
    python = f"env {settings} {shlex.quote(sys.executable)}"
    sizes = f"--nnodes {nodes} --nproc-per-node {processes} --max-restarts {MAX_RESTARTS}"
    work = f"-m engine.worker train {shlex.quote(str(folder))}"
    return f"{python} -m torch.distributed.run {sizes} {rendezvous} {work}"
