"""Random pipelines for the tests, made from a seeded random.Random."""

from dataclasses import replace

from .nodes import (
    GATHERING,
    UNIONS,
    Batch,
    Choose,
    Concatenate,
    Filter,
    Generate,
    GroupBy,
    Interleave,
    Map,
    Mix,
    Node,
    OnError,
    Pack,
    Read,
    Repeat,
    Sample,
    Scan,
    Select,
    Shard,
    Shuffle,
    Skip,
    SortBy,
    Take,
    TakeWhile,
    Unbatch,
    Unique,
    Window,
    Zip,
    is_batched,
    is_indexed,
    length,
    lots,
    spine,
    varies,
)

LONGEST = 60  # maximum exact length, so that tests are fast


def random_chain(rng, borders: bool = True, errors: bool = True, verbs: int | None = None) -> Node:
    """A finite pipeline without a shard."""
    node: Node = Read(rng.randint(0, 13))
    if borders and rng.random() < 0.1:
        node = Generate(node.size, rng.random() < 0.5)
    for _ in range(rng.randint(0, 6) if verbs is None else verbs):
        node = random_verb(rng, node, borders, errors)
    return node


def random_verb(rng, node: Node, borders: bool, errors: bool) -> Node:
    total = length(node)
    choices = ["take", "skip", "batch"]
    if not is_batched(node):
        choices += ["gather", "zip"]
    if total is None or total * 3 <= LONGEST:
        choices += ["repeat", "concatenate", "interleave", "mix", "mix", "choose"]
    if is_indexed(node):
        choices += ["shuffle", "shuffle"]
        if lots(node) is not None and not any(isinstance(one, Shard) for one in spine(node)):
            choices += ["shuffle_blocks"]
        if total and not varies(node):
            choices += ["sample", "sort_by", "select"]
    if not is_batched(node):
        choices += ["map"] + ["filter", "unbatch"] * borders
        choices += ["take_while", "unique", "scan", "scan", "bucket", "group", "pack"] * borders
        if errors:
            choices += ["replace"] * is_indexed(node) + ["skip_errors"] * borders
    if borders:
        choices += ["window"]
    match rng.choice(choices):
        case "take":
            return Take(node, rng.randint(0, 15))
        case "skip":
            return Skip(node, rng.randint(0, 4))
        case "batch":
            return Batch(node, rng.randint(1, 4), rng.random() < 0.3, rng.random() < 0.3)
        case "repeat":
            return Repeat(node, rng.randint(1, 3))
        case "concatenate":
            return Concatenate(node, random_branch(rng, node, borders, errors))
        case "interleave":
            other, third = (random_branch(rng, node, borders, errors) for _ in range(2))
            return Interleave(node, other, third, rng.randint(1, 4), rng.randint(1, 3))
        case "take_while":
            modulus = rng.randint(5, 14)
            return TakeWhile(node, modulus, rng.randrange(modulus))
        case "unique":
            return Unique(node, rng.randint(2, 12))
        case "scan":
            return Scan(node, rng.randint(0, 5))
        case "group":
            return GroupBy(node, rng.randint(2, 4), None, (rng.randint(1, 4),), 0, rng.random() < 0.3)
        case "bucket":
            return random_bucket(rng, node)
        case "pack":
            return random_pack(rng, node)
        case "zip":
            return Zip(node, random_branch(rng, node, borders, errors))
        case "mix":
            return random_mix(rng, node, random_branch(rng, node, borders, errors))
        case "choose":
            return random_choice(rng, node, random_branch(rng, node, borders, errors))
        case "gather":
            return Window(node, rng.randint(1, 4), rng.randint(1, 5), rng.randint(1, 3), rng.random() < 0.3)
        case "sample":
            return random_sample(rng, node)
        case "sort_by":
            return SortBy(node, tuple(rng.randint(0, 5) for _ in range(total)), rng.random() < 0.5)
        case "select":
            return Select(node, tuple(rng.randrange(total) for _ in range(rng.randint(0, 12))))
        case "shuffle":
            return Shuffle(node, rng.randint(0, 99), again=rng.random() < 0.8)
        case "shuffle_blocks":
            return Shuffle(node, rng.randint(0, 99), blocks=rng.randint(1, 3), again=rng.random() < 0.8)
        case "window":
            return Shuffle(node, rng.randint(0, 99), rng.randint(1, 6), again=rng.random() < 0.8)
        case "map":
            return Map(node)
        case "filter":
            modulus = rng.randint(2, 4)
            return Filter(node, modulus, rng.randrange(modulus))
        case "unbatch":
            return Unbatch(node, rng.randint(2, 4))
        case "replace":
            return OnError(node, "replace", frozenset(rng.sample(range(1, 13), rng.randint(0, 3))))
        case "skip_errors":
            return OnError(node, "skip", frozenset(rng.sample(range(1, 13), rng.randint(0, 3))))


def random_branch(rng, node: Node, borders: bool, errors: bool) -> Node:
    """A short chain of samples or batches, as the node's elements are."""
    other = random_chain(rng, borders, errors, rng.randint(0, 2))
    if is_batched(other) == is_batched(node):
        return other
    other = Read(rng.randint(0, 5))
    return Batch(other, rng.randint(1, 3)) if is_batched(node) else other


def random_bucket(rng, node: Node) -> Node:
    boundaries = tuple(sorted(rng.sample(range(1, 6), rng.randint(0, 3))))
    sizes = tuple(rng.randint(1, 4) for _ in range(rng.choice([1, len(boundaries) + 1])))
    budget = rng.randint(3, 12) if rng.random() < 0.5 else 0
    return GroupBy(node, 6, boundaries, () if budget else sizes, budget, rng.random() < 0.3)


def random_pack(rng, node: Node) -> Node:
    strategy = rng.choice(["first_fit", "best_fit", "concat_and_split"])
    most = rng.choice([0, 0, 1, 2, 3])
    return Pack(
        node, rng.randint(4, 8), strategy, rng.randint(1, 3), most, strategy[0] == "c" and rng.random() < 0.3
    )


def random_choice(rng, node: Node, other: Node) -> Node:
    choices = tuple(rng.randint(0, 1) for _ in range(rng.randint(0, 30)))
    return Choose(node, other, choices, random_stop(rng, node, other))


def random_sample(rng, node: Node) -> Node:
    weights = tuple(rng.choice([0, 0.25, 1, 1, 3.5]) for _ in range(length(node) - 1)) + (1.5,)
    drawable = sum(w > 0 for w in weights)
    replacement = rng.random() < 0.6
    num = rng.choice([None, rng.randint(0, 20 if replacement else drawable)])
    return Sample(node, weights, num, replacement, rng.randint(0, 99))


def random_mix(rng, node: Node, other: Node) -> Node:
    schedule = [(0, random_weights(rng))]
    while rng.random() < 0.3:
        schedule.append((schedule[-1][0] + rng.randint(1, 8), random_weights(rng)))
    return Mix(node, other, tuple(schedule), rng.randint(0, 99), random_stop(rng, node, other))


def random_weights(rng) -> tuple[float, ...]:
    return rng.choice([(1.0, 1.0), (2.0, 1.0), (0.7, 0.3), (1.0, 4.0), (1.0, 0.0), (1 / 3, 2 / 3)])


def random_stop(rng, node: Node, other: Node) -> str:
    may_be_empty = not length(node) or not length(other)
    return rng.choice(["first_exhausted", "all_exhausted"] + ["cycle"] * (not may_be_empty))


def insert_shard(rng, root: Node, even: str = "wrap", numbered: bool = False) -> Node:
    """The chain with shard(0, 1) at a random permitted place.

    Not below batches with a side input of numbers: another world has another number of batches.
    """
    numbered = numbered or isinstance(root, (Sample, Select, SortBy))
    ends = isinstance(root, (Read, Generate, *UNIONS)) or isinstance(root, GATHERING) and numbered
    if not ends and rng.random() < 0.6:
        return replace(root, input=insert_shard(rng, root.input, even, numbered))
    return Shard(root, even=even)


def with_shard(node: Node, rank: int, world: int, steps: int | None = None) -> Node:
    """The chain with its shard set."""
    if isinstance(node, Shard):
        return replace(node, rank=rank, world=world, steps=steps)
    return replace(node, input=with_shard(node.input, rank, world, steps))
