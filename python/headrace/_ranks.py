"""Rank and world size of this process, from the environment variables of launchers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping

from ._errors import mismatch

# Launchers, and their variables for rank and world size.
LAUNCHERS = {
    "torchrun": ("RANK", "WORLD_SIZE"),
    "Open MPI": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    "MPICH, Intel MPI, PMI": ("PMI_RANK", "PMI_SIZE"),
    "PALS": ("PALS_RANKID", "PALS_NRANKS"),
    "Horovod": ("HOROVOD_RANK", "HOROVOD_SIZE"),
    "Slurm": ("SLURM_PROCID", "SLURM_NTASKS"),
}


def from_environment(environment: Mapping[str, str] = os.environ) -> tuple[int, int]:
    """Return (rank, world); (0, 1) without a launcher.

    Raises:
        ValueError: two launchers disagree, RANK is set without WORLD_SIZE, or a variable is not a number.
    """
    if "RANK" in environment and "WORLD_SIZE" not in environment:
        raise ValueError(
            f"shard: expected WORLD_SIZE beside RANK={environment['RANK']}, got none; "
            "set both or neither, or name them: shard(rank, world)"
        )
    found: dict[str, tuple[int, int]] = {}
    for launcher, names in LAUNCHERS.items():
        if all(name in environment for name in names):
            rank, world = (_number(environment, name) for name in names)
            found[launcher] = rank, world
    if "Slurm" in found and _is_inside_slurm(environment, found):
        _, tasks = found.pop("Slurm")
        if not found and tasks > 1:
            warnings.warn(
                f"shard: expected a step of Slurm, got a batch script of {tasks} tasks: this is one process and reads "
                "everything. Start it with srun to have all tasks, or set shard(rank, world)",
                stacklevel=3,
            )
    # A single task is ignored if another launcher has several: `torchrun` under `srun -n1` has its own world.
    several = {launcher: pair for launcher, pair in found.items() if pair != (0, 1)} or found
    if len(set(several.values())) > 1:
        said = ", ".join(
            f"{launcher} has rank {rank} of {world}" for launcher, (rank, world) in several.items()
        )
        raise ValueError(f"shard: the launchers disagree: {said}; set shard(rank, world)")
    return next(iter(several.values()), (0, 1))


def _is_inside_slurm(environment: Mapping[str, str], found: Mapping[str, tuple[int, int]]) -> bool:
    """Whether Slurm started what started this process: then its rank is not that of this process."""
    # A batch script has Slurm's variables, but no step: `mpirun` in it started this process.
    is_in_batch_script = "SLURM_JOB_ID" in environment and "SLURM_STEP_ID" not in environment
    # Only torchrun sets these: `srun torchrun` has one Slurm task a node, and a rank for each of its workers.
    is_of_torchrun = "torchrun" in found and all(n in environment for n in ("GROUP_RANK", "LOCAL_WORLD_SIZE"))
    return is_in_batch_script or is_of_torchrun


def _number(environment: Mapping[str, str], name: str) -> int:
    try:
        return int(environment[name])
    except ValueError:
        raise mismatch(
            ValueError, "shard", expected="a number", got=f"{environment[name]!r}", option=name
        ) from None
