"""Which of how many processes this is, from what launchers leave in the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping

# Who starts processes, and the variables in which each of them finds its rank and how many there are.
LAUNCHERS = {
    "torchrun": ("RANK", "WORLD_SIZE"),
    "Open MPI": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    "MPICH, Intel MPI, PMI": ("PMI_RANK", "PMI_SIZE"),
    "PALS": ("PALS_RANKID", "PALS_NRANKS"),
    "Horovod": ("HOROVOD_RANK", "HOROVOD_SIZE"),
    "Slurm": ("SLURM_PROCID", "SLURM_NTASKS"),
}


def from_environment(environment: Mapping[str, str] = os.environ) -> tuple[int, int]:
    """Return (rank, world): 0 of 1 without a launcher.

    Raises:
        ValueError: two launchers disagree, or a variable holds no number.
    """
    found: dict[str, tuple[int, int]] = {}
    for launcher, names in LAUNCHERS.items():
        if all(name in environment for name in names):
            rank, world = (_number(environment, name) for name in names)
            found[launcher] = rank, world
    # A job of one task within an allocation says nothing: `torchrun` under `srun -n1` has a world of its own.
    several = {launcher: pair for launcher, pair in found.items() if pair != (0, 1)} or found
    if len(set(several.values())) > 1:
        said = ", ".join(f"{launcher} says {rank} of {world}" for launcher, (rank, world) in several.items())
        raise ValueError(f"shard: wants launchers that agree, got: {said}; give shard(rank, world)")
    return next(iter(several.values()), (0, 1))


def _number(environment: Mapping[str, str], name: str) -> int:
    try:
        return int(environment[name])
    except ValueError:
        raise ValueError(f"shard: {name} wants a number, got {environment[name]!r}") from None
