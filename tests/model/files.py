"""interleave(f) of a dataset of files: which readers an epoch opens, and how many elements each rank has of them."""

from dataclasses import replace
from functools import lru_cache

from .indexed import Element, at, invalid, turns
from .nodes import (
    ENDLESS,
    ModelError,
    Node,
    Part,
    Read,
    Readers,
    Shard,
    is_indexed,
    length,
    opens_the_same,
    spine,
    varies,
    with_inputs,
)


def listed(root: Node) -> Node:
    """Interleaves of files over the list of those that may come in any epoch: what is fixed below them is read once."""
    root = with_inputs(root, listed)
    if not isinstance(root, Readers):
        return root
    numbers: list[int] = []

    def cut(files: Node) -> Node:
        if varies(files) or any(isinstance(n, (Shard, Part)) for n in spine(files)):
            return replace(files, input=cut(files.input))
        if not is_indexed(files) or length(files) in (None, ENDLESS):
            raise ModelError("interleave: wants a list of files")
        numbers.extend(at(files, position, 0).id.index for position in range(length(files)))
        return Read(len(numbers))

    order = cut(root.input)
    if not numbers:
        raise ModelError("interleave: wants at least one file")
    moving = next((n for n in spine(order) if isinstance(n, Shard)), None)
    if moving is not None:  # it deals what all other verbs give
        order = replace(moving, input=_without(order, moving))
    return replace(root, input=order, readers=tuple(root.readers[number] for number in numbers))


def _without(files: Node, gone: Node) -> Node:
    return files.input if files is gone else replace(files, input=_without(files.input, gone))


def share_of(node: Readers) -> Shard | Part | None:
    return next((n for n in spine(node.input) if isinstance(n, (Shard, Part))), None)


def as_rank(files: Node, rank: int) -> Node:
    if isinstance(files, (Shard, Part)):
        return replace(files, rank=rank)
    return replace(files, input=as_rank(files.input, rank))


@lru_cache(maxsize=4096)
def openings(node: Readers, epoch: int, rank: int | None = None) -> tuple[Element, ...]:
    """The files of a rank in their order, this one's when not given: each has the number of its reader."""
    files = node.input if rank is None else as_rank(node.input, rank)
    if isinstance(files, Shard):
        positions = range(files.rank, length(files.input), files.world)
        return tuple(at(files.input, position, epoch) for position in positions)
    return tuple(at(files, position, epoch) for position in range(length(files)))


def reader_of(node: Readers, opening: Element) -> Node:
    return node.readers[opening.id.index]


def own(node: Readers, epoch: int) -> int:
    return sum(length(reader_of(node, o)) for o in openings(node, epoch))


@lru_cache(maxsize=4096)
def share(node: Readers, epoch: int) -> tuple[int, int]:
    """Elements of this rank's files, and how many it delivers so that all ranks deliver as many."""
    shard = share_of(node)
    if shard is None:
        return own(node, epoch), own(node, epoch)
    each = [
        sum(length(reader_of(node, o)) for o in openings(node, epoch, rank)) for rank in range(shard.world)
    ]
    if shard.even != "drop" and 0 in each and any(each):
        raise ModelError("shard: a rank has no samples, and others have some")
    return each[shard.rank], min(each) if shard.even == "drop" else max(each)


def check_ranks(node: Readers) -> None:
    shard = share_of(node)
    each = [len(openings(node, 0, rank)) for rank in range(shard.world)] if shard else [1]
    if 0 in each and any(each):
        raise ModelError("shard: a rank has no files, and others have some")


def length_of_readers(node: Readers):
    """None where it is not known, or differs between epochs."""
    check_ranks(node)
    each = [length(reader) for reader in node.readers]
    counted = None not in each and (all(map(is_indexed, node.readers)) or share_of(node) is None)
    if not counted or not (opens_the_same(node) or len(set(each)) == 1):
        return None
    return share(node, 0)[1]


def element(node: Readers, position: int, epoch: int, occurrence: int = 0, key=None):
    """The element at this rank's position of an epoch. REQUIRES: readers with random access."""
    opened = openings(node, epoch)
    again, position = divmod(position, own(node, epoch))
    which, index = turns(tuple(length(reader_of(node, o)) for o in opened), node.cycle, node.block)[position]
    file = opened[which].id
    found = at(
        reader_of(node, opened[which]),
        index,
        file.epoch,
        occurrence + again + file.occurrence & 0xFFFFFFFF,
        key,
    )
    shard = share_of(node)
    return found if not again or shard.even != "pad" else invalid(found)
