"""Random datasets of files, and readers of them."""

from dataclasses import replace

from .chains import random_chain
from .nodes import (
    ENDLESS,
    Batch,
    Filter,
    Map,
    Node,
    Part,
    Read,
    Readers,
    Repeat,
    Sample,
    Scan,
    Select,
    Shard,
    Shuffle,
    Skip,
    SortBy,
    Take,
    Unbatch,
    is_batched,
    is_indexed,
    length,
    spine,
    varies,
)

EVENS = ["wrap", "drop", "pad"]


def random_files(rng, most: int = 9) -> Node:
    """A list of files, with verbs that choose and move them."""
    node: Node = Read(rng.randint(1, most))
    for _ in range(rng.randint(0, 3)):
        node = random_order_verb(rng, node)
    return node


def random_order_verb(rng, node: Node) -> Node:
    total = length(node)
    fixed = ["sample", "sort_by", "select"] if total and not varies(node) else []
    match rng.choice(["shuffle", "shuffle", "shuffle", "take", "skip", "repeat", *fixed]):
        case "shuffle":
            return Shuffle(node, rng.randint(0, 99), again=rng.random() < 0.8)
        case "take":
            return Take(node, rng.randint(1, 8))
        case "skip":
            return Skip(node, rng.randint(0, 2))
        case "repeat":
            return Repeat(node, rng.randint(1, 2)) if total < 10 else node
        case "sample":
            weights = tuple(rng.choice([0, 1, 2.5]) for _ in range(total - 1)) + (1.0,)
            again = rng.random() < 0.5
            return Sample(node, weights, None, again, rng.randint(0, 99))
        case "sort_by":
            return SortBy(node, tuple(rng.randint(0, 5) for _ in range(total)), rng.random() < 0.5)
        case "select":
            return Select(node, tuple(rng.randrange(total) for _ in range(rng.randint(1, 6))))


def random_readers(rng, files: Node, borders: bool) -> Readers:
    """Readers of the files: as long as each other, of any length, or streams."""
    count = max(n.size for n in spine(files) if isinstance(n, Read))
    kind = rng.choice(["equal", "any", "any", "chains"])
    if kind == "equal":
        size = rng.randint(1, 5)
        made = [Read(size) for _ in range(count)]
    elif kind == "any":
        made = [Read(rng.randint(1, 6)) for _ in range(count)]
    else:
        made = [
            random_chain(rng, borders=borders, errors=False, verbs=rng.randint(0, 2)) for _ in range(count)
        ]
        made = [m if not is_batched(m) and length(m) != ENDLESS else Read(3) for m in made]
    return Readers(files, tuple(made), rng.randint(1, 5), rng.randint(1, 3))


def with_dealt_files(rng, node: Node) -> Node:
    """The chain with a shard or part at a random place among the verbs of its files."""
    if not isinstance(node, Readers):
        return replace(node, input=with_dealt_files(rng, node.input))
    places = spine(node.input)
    even = rng.choice(EVENS)
    numbered = [i for i, n in enumerate(places) if isinstance(n, (Sample, SortBy, Select))]
    fixed = [n for n in places[: 1 + min(numbered, default=len(places))] if not varies(n)]
    below = rng.choice(places)
    made: Node = Shard(below, even=even)
    if fixed and rng.random() < 0.4:
        below = rng.choice(fixed)
        made = Part(below, even=even, contiguous=rng.random() < 0.5)
    for above in reversed(places[: places.index(below)]):
        made = replace(above, input=made)
    return replace(node, input=made)


def random_verb_above(rng, node: Node) -> Node:
    choices = ["take", "skip", "batch"]
    if not is_batched(node):
        choices += ["map", "filter", "unbatch", "scan", "window", "window"]
    total = length(node)
    if total is not None and total < 40:
        choices += ["repeat"]
    if is_indexed(node):
        choices += ["shuffle", "shuffle"]
    match rng.choice(choices):
        case "take":
            return Take(node, rng.randint(0, 15))
        case "skip":
            return Skip(node, rng.randint(0, 4))
        case "batch":
            return Batch(node, rng.randint(1, 4), rng.random() < 0.3) if not is_batched(node) else node
        case "map":
            return Map(node)
        case "filter":
            return Filter(node, 2, rng.randrange(2))
        case "unbatch":
            return Unbatch(node, rng.randint(2, 3))
        case "scan":
            return Scan(node, rng.randint(0, 5))
        case "window":
            return Shuffle(node, rng.randint(0, 99), rng.randint(1, 6), again=rng.random() < 0.8)
        case "repeat":
            return Repeat(node, rng.randint(1, 2))
        case "shuffle":
            return Shuffle(node, rng.randint(0, 99), again=rng.random() < 0.8)


def random_program(rng) -> Node:
    """Verbs over an interleave of files, without a shard."""
    node: Node = random_readers(rng, random_files(rng), borders=rng.random() < 0.3)
    for _ in range(rng.randint(0, 3)):
        node = random_verb_above(rng, node)
    return node


def with_rank(node: Node, rank: int, world: int, steps: int | None) -> Node:
    """The chain with its shard, wherever it is, of this rank."""
    if isinstance(node, Shard):
        return replace(node, rank=rank, world=world, steps=steps)
    if isinstance(node, Part):
        return replace(node, rank=rank, world=world)
    return replace(node, input=with_rank(node.input, rank, world, steps))
