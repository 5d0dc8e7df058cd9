"""Indexed trees on one rank: counts, elements and how much of the epoch is consumed, by arithmetic.

`start` is a number of samples (batches, if the shard is above a batch) consumed over all ranks before the loader
began: the resumed base. Above the shard only batch and repeat support a start other than 0; see `world_bound`.
REQUIRES everywhere: nodes of a planned tree on the way from the root to its shard.
"""

import math

from .indexed import at, epoch_of_pass, sorted_order, window_rows, wrapped_at
from .nodes import (
    ENDLESS,
    Batch,
    Node,
    Repeat,
    Sample,
    Select,
    Shard,
    Shuffle,
    Skip,
    SortBy,
    Take,
    Window,
    dealt,
    find_shard,
    length,
    seed_of,
    spine,
)
from .order import permutation
from .sampling import draw, weighted_order


def world_bound(root: Node) -> bool:
    """Whether a verb above the shard counts this rank's batches, so that another world gives another epoch."""
    return any(
        isinstance(n, (Take, Skip, Window, Sample, Select, SortBy)) or isinstance(n, Shuffle) and not n.window
        for n in above_shard(root)
    )


def above_shard(root: Node) -> list[Node]:
    path = spine(root)
    return path[: path.index(find_shard(root))]


def unit(nodes: list[Node]) -> int:
    """Samples of one element: the product of the batch sizes; a short last batch counts as full."""
    return math.prod(n.size for n in nodes if isinstance(n, (Batch, Window)))


def total(node: Node):
    """The number consumed by one epoch of this node over all ranks."""
    match node:
        case Shard():
            return length(node.input)
        case Repeat():
            below = total(node.input)
            return 0 if below == 0 else below * (node.times or ENDLESS)
    return total(node.input)


def passes(node: Repeat, start: int) -> tuple[int, int]:
    """The pass that contains `start`, and the position in it."""
    below = total(node.input)
    return (0, start) if below in (0, ENDLESS) else divmod(start, below)


def count(node: Node, start: int = 0):
    """Elements that this rank still has to deliver."""
    match node:
        case Shard():
            return dealt(node, length(node.input), start)
        case Batch():
            rows = count(node.input, start)
            return rows if rows == ENDLESS else rows // node.size if node.drop_last else -(-rows // node.size)
        case Repeat():
            done, base = passes(node, start)
            if node.times and done >= node.times:
                return 0
            later = count(node.input)
            if node.times == 0:
                return ENDLESS if later else count(node.input, base)
            left = node.times - done - 1
            return count(node.input, base) + (later * left if left else 0)
    return length(node)


def element(node: Node, position: int, epoch: int, start: int = 0):
    """The element that this rank delivers after `position` others."""
    match node:
        case Shard():
            g = start + position * node.world + node.rank
            return wrapped_at(node, g, epoch, lambda p, occurrence: at(node.input, p, epoch, occurrence))
        case Batch():
            rows = range(position * node.size, min((position + 1) * node.size, count(node.input, start)))
            return tuple(element(node.input, row, epoch, start) for row in rows)
        case Repeat():
            done, base = passes(node, start)
            first = count(node.input, base)
            if position >= first:
                later, position = divmod(position - first, count(node.input))
                done, base = done + 1 + later, 0
            return element(node.input, position, epoch_of_pass(epoch, node.times, done), base)
        case Take():
            return element(node.input, position, epoch)
        case Skip():
            return element(node.input, position + node.count, epoch)
        case Shuffle():
            return element(
                node.input,
                permutation(seed_of(node), epoch if node.again else 0, count(node.input))(position),
                epoch,
            )
        case Window():
            return tuple(
                element(node.input, row, epoch) for row in window_rows(node, position, count(node.input))
            )
        case Select():
            return element(node.input, node.indices[position], epoch)
        case Sample(replacement=True):
            return element(node.input, draw(node.weights, seed_of(node), epoch, position), epoch)
        case Sample():
            return element(node.input, weighted_order(node.weights, seed_of(node), epoch)[position], epoch)
        case SortBy():
            return element(node.input, sorted_order(node)[position], epoch)
    raise TypeError(node)


def consumed(node: Node, delivered: int, start: int = 0) -> int:
    """The number consumed over all ranks when each has delivered `delivered` since `start`. A rank that is done has consumed all."""
    if delivered == count(node, start):
        return total(node)
    match node:
        case Shard():
            return min(total(node), start + node.world * delivered)
        case Batch():
            return consumed(node.input, delivered * node.size, start)
        case Repeat():
            done, base = passes(node, start)
            first = count(node.input, base)
            if delivered < first:
                return done * _finite(total(node.input)) + consumed(node.input, delivered, base)
            later, delivered = divmod(delivered - first, count(node.input))
            return (done + 1 + later) * total(node.input) + consumed(node.input, delivered)
    raise TypeError(node)


def _finite(total_below) -> int:
    return 0 if total_below == ENDLESS else total_below  # an endless pass is the first one
