"""Rank and world size of this process, from the environment variables of launchers."""

from __future__ import annotations

import os
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
        ValueError: two launchers disagree, or a variable is not a number.
    """
    found: dict[str, tuple[int, int]] = {}
    for launcher, names in LAUNCHERS.items():
        if all(name in environment for name in names):
            rank, world = (_number(environment, name) for name in names)
            found[launcher] = rank, world
    # A single task is ignored if another launcher has several: `torchrun` under `srun -n1` has its own world.
    several = {launcher: pair for launcher, pair in found.items() if pair != (0, 1)} or found
    if len(set(several.values())) > 1:
        said = ", ".join(
            f"{launcher} has rank {rank} of {world}" for launcher, (rank, world) in several.items()
        )
        raise ValueError(f"shard: the launchers disagree: {said}; set shard(rank, world)")
    return next(iter(several.values()), (0, 1))


def _number(environment: Mapping[str, str], name: str) -> int:
    try:
        return int(environment[name])
    except ValueError:
        raise mismatch(
            ValueError, "shard", expected="a number", got=f"{environment[name]!r}", option=name
        ) from None
