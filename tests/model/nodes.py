"""The verbs: a dataset is an immutable tree of these. Lengths, ordinals, and where a shard really stands."""

import hashlib
import json
import math
from dataclasses import dataclass, fields, replace
from functools import lru_cache

ENDLESS = math.inf  # a length; an unknown one is None


class ModelError(Exception):
    """What the real package refuses, too."""


@dataclass(frozen=True)
class Read:
    size: int
    ordinal: int = 0


@dataclass(frozen=True)
class Generate:
    """The same samples as a read's, one after the other: from_generator, which can say where it stands or not."""

    size: int
    resumable: bool = False
    ordinal: int = 0


@dataclass(frozen=True)
class Map:
    """One random operator: appends word 0 of its key to the value."""

    input: "Node"
    ordinal: int = 0


@dataclass(frozen=True)
class Filter:
    """Drops the samples whose index is `remainder` modulo `modulus`."""

    input: "Node"
    modulus: int
    remainder: int


@dataclass(frozen=True)
class TakeWhile:
    """Ends before the first sample whose index is `remainder` modulo `modulus`."""

    input: "Node"
    modulus: int
    remainder: int


@dataclass(frozen=True)
class Unique:
    """The key is the index modulo `modulus`."""

    input: "Node"
    modulus: int


@dataclass(frozen=True)
class Scan:
    """The state is a number; see `scanned`."""

    input: "Node"
    initial: int


@dataclass(frozen=True)
class Unbatch:
    """Turns the sample of index i into i % modulus children. flat_map is a map and this."""

    input: "Node"
    modulus: int


@dataclass(frozen=True)
class Shuffle:
    input: "Node"
    seed: int
    window: int = 0  # 0: all of it, by permutation


@dataclass(frozen=True)
class Shard:
    input: "Node"
    rank: int = 0
    world: int = 1
    even: str = "wrap"  # or "drop", "pad"
    steps: int | None = None


@dataclass(frozen=True)
class Repeat:
    input: "Node"
    times: int = 0  # 0: for ever


@dataclass(frozen=True)
class Take:
    input: "Node"
    count: int


@dataclass(frozen=True)
class Skip:
    input: "Node"
    count: int


@dataclass(frozen=True)
class Concatenate:
    input: "Node"
    other: "Node"


@dataclass(frozen=True)
class Interleave:
    input: "Node"
    other: "Node"
    third: "Node"
    cycle: int
    block: int


@dataclass(frozen=True)
class Batch:
    input: "Node"
    size: int
    drop_last: bool = False
    padded: bool = False  # fields are scalars here, so it means the same


@dataclass(frozen=True)
class GroupBy:
    """bucket_by_length, or group_by_window when there are no boundaries. Length and key are index modulo `modulus`."""

    input: "Node"
    modulus: int
    boundaries: tuple[int, ...] | None
    sizes: tuple[int, ...]  # one for each bucket, or one for all
    token_budget: int = 0  # in place of sizes
    drop_last: bool = False


@dataclass(frozen=True)
class Pack:
    """A sample is a sequence of `sequence_length` tokens; a row is a tuple with its sample for each token."""

    input: "Node"
    length: int
    strategy: str  # "first_fit", "best_fit" or "concat_and_split"
    bins: int = 1
    most: int = 0  # sequences of a row; 0: any number
    drop_last: bool = False


@dataclass(frozen=True)
class OnError:
    """The samples whose index is in `bad` fail in an operator below."""

    input: "Node"
    policy: str  # "raise", "skip" or "replace"
    bad: frozenset[int]


Node = (
    Read | Generate | Map | Filter | TakeWhile | Unique | Scan | Unbatch | Shuffle | Shard | Repeat | Take | Skip
    | Concatenate | Interleave | Batch | GroupBy | Pack | OnError
)  # fmt: skip
INPUTS = ("input", "other", "third")
GATHERING = (Batch, GroupBy, Pack)  # whose elements are tuples of samples


def is_border(node: Node) -> bool:
    """What follows this node is a stream."""
    return (
        isinstance(node, (Generate, Filter, TakeWhile, Unique, Scan, Unbatch, GroupBy, Pack))
        or isinstance(node, Shuffle)
        and node.window > 0
        or isinstance(node, OnError)
        and node.policy == "skip"
    )


def inputs(node: Node) -> list[Node]:
    return [getattr(node, f.name) for f in fields(node) if f.name in INPUTS]


@lru_cache(maxsize=65536)
def is_indexed(node: Node) -> bool:
    return not is_border(node) and all(is_indexed(i) for i in inputs(node))


def spine(root: Node) -> list[Node]:
    """From the root down to the first source or join of datasets: where a shard may stand."""
    path = [root]
    while not isinstance(path[-1], (Read, Generate, Concatenate, Interleave)):
        path.append(path[-1].input)
    return path


def dealt(shard: Shard, total, base: int = 0):
    """Elements of this rank when `base` of `total` are consumed."""
    if total is None or total == ENDLESS:
        return total
    rest = total - min(total, base)
    return rest // shard.world if shard.even == "drop" else -(-rest // shard.world)


@lru_cache(maxsize=65536)
def length(node: Node):
    """Elements of one epoch on this rank: an int, ENDLESS, or None when it cannot be known."""
    match node:
        case Read():
            return node.size
        case Map() | Shuffle() | Scan():
            return length(node.input)
        case Generate() | Filter() | TakeWhile() | Unique() | Unbatch() | GroupBy() | Pack():
            return None
        case OnError():
            return None if node.policy == "skip" else length(node.input)
        case Shard():
            return dealt(node, length(node.input))
        case Concatenate():
            return None if None in (a := length(node.input), b := length(node.other)) else a + b
        case Interleave():
            each = [length(i) for i in inputs(node)]
            return None if None in each else sum(each)
    below = length(node.input)
    match node:
        case Repeat(times=0):
            return ENDLESS if below != 0 else 0
        case Repeat():
            return None if below is None else below * node.times
        case Take():
            return 0 if node.count == 0 else None if below is None else min(below, node.count)
        case Skip():
            return None if below is None else max(0, below - node.count)
        case Batch():
            if below is None or below == ENDLESS:
                return below
            return below // node.size if node.drop_last else -(-below // node.size)
    raise TypeError(node)


def with_inputs(node: Node, change) -> Node:
    """The same node over changed inputs."""
    return replace(node, **{f.name: change(getattr(node, f.name)) for f in fields(node) if f.name in INPUTS})


def number(root: Node) -> Node:
    """Give reads and operators their ordinals: depth first, inputs before the node, in dataflow order.

    A map or a filter is one operator here; in the package each call that it traces to takes an ordinal.
    """
    counts = {"read": 0, "operator": 0}

    def visit(node: Node) -> Node:
        made = with_inputs(node, visit)
        kind = (
            "read"
            if isinstance(made, (Read, Generate))
            else "operator"
            if isinstance(made, (Map, Filter))
            else None
        )
        if kind:
            made = made if isinstance(made, Filter) else replace(made, ordinal=counts[kind])
            counts[kind] += 1
        return made

    return visit(root)


def is_batched(node: Node) -> bool:
    return isinstance(node, GATHERING) or not isinstance(node, (Read, Generate)) and is_batched(node.input)


def check(node: Node) -> None:
    """Refuse what has no meaning."""
    for i in inputs(node):
        check(i)
    batched = [is_batched(i) for i in inputs(node)]
    joins = isinstance(node, (Concatenate, Interleave))
    if joins and any(isinstance(n, Shard) for i in inputs(node) for n in spine(i)):
        raise ModelError("shard stands in one branch of a join; put it after")
    if joins and len(set(batched)) > 1:
        raise ModelError("one branch of a join has batches, another samples")
    if isinstance(node, Shard) and any(isinstance(n, Shard) for n in spine(node.input)):
        raise ModelError("shard: the dataset is sharded already")
    permuted = isinstance(node, Shuffle) and not node.window
    if permuted and not (is_indexed(node.input) and length(node.input) != ENDLESS):
        raise ModelError("shuffle: wants random access and an exact length; use window=")
    if isinstance(node, OnError) and node.policy == "replace" and not is_indexed(node.input):
        raise ModelError('on_error: "replace" wants random access')
    if isinstance(node, (Map, Filter, TakeWhile, Unique, Scan, Unbatch, GroupBy, Pack)) and batched[0]:
        raise ModelError("the model has operators over samples only, not over batches")


def plan(root: Node) -> Node:
    """The tree as it means: numbered, checked, on_error over samples, and exactly one shard, where it deals.

    A shard rises through everything but a batch or a border: it is the last of the index verbs of its segment.
    No shard at all is rank 0 of 1 above the read, or above the topmost concatenate.
    """
    root = _sink_on_error(number(root))
    check(root)
    path = spine(root)
    shard, node = Shard(path[-1]), path[-1]
    held = not any(isinstance(n, Shard) for n in path)
    for above in reversed(path[:-1]):
        if isinstance(above, Shard):
            shard, held = above, True
            continue
        if held and (isinstance(above, Batch) or is_border(above)):
            node, held = replace(shard, input=node), False
        node = replace(above, input=node)
    node = replace(shard, input=node) if held else node
    if length(node) is None and shard.world > 1 and shard.steps is None:
        raise ModelError("shard: the length cannot be known, so ranks need steps= to stay equal")
    if length(node) is not None and shard.steps is not None:
        raise ModelError("shard: steps= is for lengths that cannot be known; use take")
    return node


def _sink_on_error(node: Node) -> Node:
    """on_error above a batch covers its samples, so it acts just below the batch."""
    node = with_inputs(node, _sink_on_error)
    if not isinstance(node, OnError):
        return node

    def sink(covered: Node) -> Node:
        return with_inputs(covered, sink) if is_batched(covered) else replace(node, input=covered)

    return sink(node.input)


def find_shard(root: Node) -> Shard:
    """REQUIRES: a planned root."""
    return next(n for n in spine(root) if isinstance(n, Shard))


def to_json(node: Node) -> dict:
    """{"verb": "take", "count": 3, "input": {...}}; the words are those of a saved plan."""
    words = {OnError: "on_error", Generate: "from_generator", TakeWhile: "take_while"}
    verb = words.get(type(node), type(node).__name__.lower())
    if isinstance(node, GroupBy):
        verb = "group_by_window" if node.boundaries is None else "bucket_by_length"
    out = {"verb": verb}
    for f in fields(node):
        value = getattr(node, f.name)
        if f.name == "ordinal" or f.name in INPUTS:
            continue
        out[f.name] = sorted(value) if isinstance(value, frozenset) else value
    below = [to_json(i) for i in inputs(node)]
    if len(below) == 1:
        out["input"] = below[0]
    elif below:
        out["inputs"] = below
    return out


def fingerprint(root: Node) -> str:
    """What a state must agree with: the tree without rank and world."""

    def strip(value):
        if isinstance(value, dict):
            return {k: strip(v) for k, v in value.items() if k not in ("rank", "world")}
        return [strip(v) for v in value] if isinstance(value, list) else value

    text = json.dumps(strip(to_json(root)), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
