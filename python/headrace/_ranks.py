"""Rank and world size of this process: from torch.distributed, a device mesh, or the environment variables of launchers."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from . import _core
from ._errors import mismatch

# The names that dimensions of ranks with different data have in device meshes of PyTorch's libraries.
DATA_DIMS = ("dp", "dp_replicate", "dp_shard", "data", "fsdp", "replicate", "shard")


class Ranks(NamedTuple):
    """The rank of this process, and who says so.

    Attributes:
        rank: This process, from 0.
        world: The number of processes.
        launcher: Who decided: "torch.distributed", the name of a launcher such as "torchrun" or "Slurm", or "none".
        why: One sentence that explains it.
    """

    rank: int
    world: int
    launcher: str
    why: str


class DeviceMesh(Protocol):
    """A `torch.distributed.device_mesh.DeviceMesh`, or what has its methods."""

    @property
    def mesh_dim_names(self) -> Sequence[str] | None: ...

    def size(self, mesh_dim: int | None = None) -> int: ...

    def get_local_rank(self, mesh_dim: Any = None) -> int: ...


def ranks() -> Ranks:
    """Return the rank of this process and the number of processes, as `shard()` without arguments takes them.

    An initialised `torch.distributed` decides; else the variables of the launcher that is nearest to this process, such as torchrun,
    an MPI or Slurm. docs/ranks.md lists what each launch gives.

    Raises:
        ValueError: two launchers that are equally near disagree, a rank has no world size, or a variable is not a number.

    Warns:
        UserWarning: this is one process, and the environment looks as if several were meant.

    Example:
        >>> hr.ranks()
        Ranks(rank=0, world=1, launcher='none', why='No launcher has set its variables, so this is the only process.')
    """
    found, warning = asked()
    if warning:
        warnings.warn(warning, stacklevel=2)
    return found


def asked(environment: Mapping[str, str] | None = None) -> tuple[Ranks, str]:
    """Return the ranks and a warning, or ""; by the environment alone if it is given."""
    if environment is None and (by_torch := _of_torch()) is not None:
        return by_torch, ""
    *found, warning = _core.ranks(None if environment is None else environment.get)
    return Ranks(*found), warning


def _of_torch() -> Ranks | None:
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    rank, world = distributed.get_rank(), distributed.get_world_size()
    why = f"torch.distributed is initialised: this is rank {rank} of {world}."
    return Ranks(rank, world, "torch.distributed", why)


def of_mesh(mesh: DeviceMesh, dims: str | Iterable[str] | None) -> tuple[int, int]:
    """Return the coordinate and the size of a mesh over the dimensions whose ranks have different data.

    Raises:
        TypeError: it is no device mesh.
        ValueError: its dimensions have no such names, or this process is not part of it.
    """
    if not all(hasattr(mesh, name) for name in ("mesh_dim_names", "size")):
        raise mismatch(
            TypeError, "shard", expected="a DeviceMesh of torch.distributed", got=f"{mesh!r}", option="mesh"
        )
    names = list(mesh.mesh_dim_names or ())
    wanted = [dims] if isinstance(dims, str) else None if dims is None else list(dims)
    shown = ", ".join(map(repr, names)) or "no names: pass mesh_dim_names= to init_device_mesh()"
    if wanted is None:
        wanted = [name for name in names if name in DATA_DIMS]
        if not wanted:
            raise mismatch(
                ValueError,
                "shard",
                expected=f"a mesh with a dimension named {', '.join(map(repr, DATA_DIMS))}",
                got=shown,
                hint='say which dimensions have different data: shard(mesh=mesh, dims=("…",))',
            )
    elif not wanted or any(name not in names for name in wanted):
        raise mismatch(
            ValueError,
            "shard",
            expected="names of the mesh's dimensions",
            got=f"{wanted!r}; it has {shown}",
            option="dims",
        )
    rank, world = 0, 1
    for at, name in enumerate(names):  # in the mesh's order, the last one fastest
        if name in wanted:
            size = int(mesh.size(at))
            rank, world = rank * size + _coordinate(mesh, at), world * size
    return rank, world


def _coordinate(mesh: Any, at: int) -> int:
    if hasattr(mesh, "get_coordinate"):
        coordinate = mesh.get_coordinate()
        if coordinate is None:
            raise ValueError("shard: this process is not part of the mesh; pass the mesh that it is in")
        return int(coordinate[at])
    return int(mesh.get_local_rank(at))
