"""Trees with random access: `at` gives the element at a position of an epoch. Pure, without state."""

from dataclasses import dataclass, field, replace
from functools import lru_cache

from .nodes import (
    ENDLESS,
    Batch,
    Choose,
    Concatenate,
    Interleave,
    Map,
    Mix,
    ModelError,
    Node,
    OnError,
    Part,
    Read,
    Readers,
    Repeat,
    Sample,
    Select,
    Shuffle,
    Skip,
    SortBy,
    Take,
    Window,
    Zip,
    dealing,
    dealt,
    inputs,
    length,
    lots,
    seed_of,
)
from .order import permutation, shuffled_blocks
from .random import MASK32, MASK64, Key, SampleId
from .sampling import draw, weighted_order

FAILURES_IN_A_ROW = 100


@dataclass(frozen=True)
class Element:
    id: SampleId  # its identity
    key: SampleId  # determines its random draws: the same, except for a replaced sample
    value: tuple[int, ...]  # the index, then what each operator drew and each unbatch added
    valid: bool = True  # False: added by even="pad"
    carried: int = 0  # output of a scan
    also: int = 0  # the zipped element, as one number
    emitted: int = field(default=0, compare=False)  # children delivered before states were merged


# A batch is a tuple of elements.


def epoch_of_pass(epoch: int, times: int, number: int) -> int:
    """The epoch below a repeat."""
    return ((epoch << 32 if times == 0 else epoch * times) + number) & MASK64


def apply_map(node: Map, element: Element) -> Element:
    return replace(element, value=(*element.value, Key(0, node.ordinal, element.key).bits(0)))


def shuffled(node: Shuffle, epoch: int, position: int) -> int:
    if node.blocks:
        return blocks_of_epoch(node, epoch if node.again else 0)[position]
    return permutation(seed_of(node), epoch if node.again else 0, length(node.input))(position)


@lru_cache(maxsize=1024)
def blocks_of_epoch(node: Shuffle, epoch: int) -> list[int]:
    sizes = lots(node.input)
    assert sizes is not None
    return shuffled_blocks(seed_of(node), epoch, sizes, node.blocks)


def at(node: Node, position: int, epoch: int, occurrence: int = 0, key: SampleId | None = None):
    """The element at a global position. `key` replaces the element's own id in random draws: the id of a replaced sample's place."""
    match node:
        case Read():
            id = SampleId(position, epoch, node.ordinal, occurrence)
            return Element(id, key or id, (position,))
        case Map():
            return apply_map(node, at(node.input, position, epoch, occurrence, key))
        case Shuffle():
            return at(
                node.input,
                shuffled(node, epoch, position),
                epoch,
                occurrence,
                key,
            )
        case Repeat():
            below = length(node.input)
            passed, position = (0, position) if below == ENDLESS else divmod(position, below)
            return at(node.input, position, epoch_of_pass(epoch, node.times, passed), occurrence, key)
        case Take():
            return at(node.input, position, epoch, occurrence, key)
        case Skip():
            return at(node.input, position + node.count, epoch, occurrence, key)
        case Part():
            return part_at(node, position, lambda p, more: at(node.input, p, epoch, occurrence + more, key))
        case Concatenate():
            first = length(node.input)
            if position < first:
                return at(node.input, position, epoch, occurrence, key)
            return at(node.other, position - first, epoch, occurrence, key)
        case Interleave():
            which, index = turns(tuple(length(i) for i in inputs(node)), node.cycle, node.block)[position]
            return at(inputs(node)[which], index, epoch, occurrence, key)
        case Readers():
            from .files import element  # noqa: PLC0415 -- it evaluates orders with this function

            return element(node, position, epoch, occurrence, key)
        case Batch():
            rows = range(position * node.size, min((position + 1) * node.size, length(node.input)))
            return tuple(at(node.input, row, epoch, occurrence) for row in rows)
        case Zip():
            return zipped(
                at(node.input, position, epoch, occurrence, key), at(node.other, position, epoch, occurrence)
            )
        case Mix() | Choose():
            sizes = (length(node.input), length(node.other))
            source, index = dealing(node, sizes)[position]
            if node.stop == "cycle":
                passed, index = divmod(index, sizes[source])
                epoch = epoch_of_pass(epoch, 0, passed)
            return at(node.other if source else node.input, index, epoch, occurrence, key)
        case Window():
            rows = window_rows(node, position, length(node.input))
            return tuple(at(node.input, row, epoch, occurrence) for row in rows)
        case Sample():
            if not node.replacement:
                index = weighted_order(node.weights, seed_of(node), epoch)[position]
                return at(node.input, index, epoch, occurrence, key)
            index = draw(node.weights, seed_of(node), epoch, position)
            return at(node.input, index, epoch, occurrence + position & MASK32, key)
        case SortBy():
            return at(node.input, sorted_order(node)[position], epoch, occurrence, key)
        case Select():
            index = node.indices[position]
            before = node.indices[:position].count(index)
            return at(node.input, index, epoch, occurrence + before & MASK32, key)
        case OnError():
            return good_at(node, position, epoch, occurrence, key)
    raise TypeError(node)


@lru_cache(maxsize=4096)
def turns(lengths: tuple[int, ...], cycle: int, block: int) -> list[tuple[int, int]]:
    """The input and its element for each position: tf.data's interleave.

    An input that has no element in its turn loses the turn, and the next input takes its slot from the next round on.
    """
    slots: list[list[int] | None] = [None] * min(cycle, len(lengths))
    order, coming, at_slot = [], 0, 0
    while coming < len(lengths) or any(slots):
        if slots[at_slot] is None and coming < len(lengths):
            slots[at_slot], coming = [coming, 0], coming + 1
        for _ in range(block if slots[at_slot] else 0):
            which, index = slots[at_slot]
            if index == lengths[which]:
                slots[at_slot] = None
                break
            order.append((which, index))
            slots[at_slot][1] += 1
        at_slot = (at_slot + 1) % len(slots)
    return order


def zipped(first: Element, other: Element) -> Element:
    """The first element, with the identities of both as one number."""
    mixed = first.also * 31 + other.id.index * 17 + other.id.child * 7 + other.also * 3 + 1
    return replace(first, also=mixed & 0x3FFFFFFF, value=(*first.value, *other.value))


def window_rows(node: Window, position: int, rows: int) -> range:
    first = position * node.shift
    return range(first, min(rows, first + (node.size - 1) * node.stride + 1), node.stride)


def sorted_order(node: SortBy) -> list[int]:
    keys = [-key for key in node.keys] if node.descending else node.keys
    return sorted(range(len(keys)), key=lambda i: keys[i])


def good_at(node: OnError, position: int, epoch: int, occurrence: int, key: SampleId | None):
    """The element, or the next good one of the order below, cyclic in the epoch, with the draws of its place."""
    wanted = at(node.input, position, epoch, occurrence, key)
    if wanted.id.index not in node.bad:
        return wanted
    if node.policy == "raise":
        raise ModelError(f"sample {wanted.id.index} is bad")
    total = length(node.input)
    for ahead in range(1, FAILURES_IN_A_ROW):
        other = position + ahead if total == ENDLESS else (position + ahead) % total
        found = at(node.input, other, epoch, occurrence, wanted.key)
        if found.id.index not in node.bad:
            return found
    raise ModelError(f"{FAILURES_IN_A_ROW} failures in a row")


def invalid(element):
    """An element added by even="pad": the same element, marked."""
    if isinstance(element, tuple):
        return tuple(invalid(e) for e in element)
    return replace(element, valid=False)


def wrapped_at(shard, position: int, epoch: int, fetch):
    """The element of a global position at or beyond the end. `fetch(position, occurrence)` gets one within it."""
    total = length(shard.input)
    if position < total:
        return fetch(position, 0)
    element = fetch((position - total) % total, 1)
    return invalid(element) if shard.even == "pad" else element


def part_at(node: Part, position: int, fetch):
    """The element of a fixed part. Each rank has `total // world`; the first ranks have one of the rest, too."""
    total = length(node.input)
    each, rest = divmod(total, node.world)
    own = dealt(node, total) if node.whole else each + (node.rank < rest and node.even != "drop")
    if position >= own:
        element = fetch((node.rank - rest) % total, 1)
        return invalid(element) if node.even == "pad" else element
    if not node.contiguous:
        return fetch(position * node.world + node.rank, 0)
    others = min(node.rank, rest) if node.even != "drop" or node.whole else 0
    return fetch(each * node.rank + others + position, 0)
