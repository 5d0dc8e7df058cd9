"""The verbs: a dataset is an immutable tree of these. Lengths, ordinals, and where a shard acts."""

import hashlib
import json
import math
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from .mixture import Mixture, Turns
from .random import word_of

ENDLESS = math.inf  # a length; an unknown one is None


class ModelError(Exception):
    """An error that the real package raises, too."""


@dataclass(frozen=True)
class Read:
    size: int
    ordinal: int = 0


@dataclass(frozen=True)
class Generate:
    """The same samples as a read's, one after the other: from_generator, which may report its position or not."""

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
    window: int = 0  # 0: all elements, by permutation
    blocks: int = 0  # other than 0: shuffles blocks, then the elements of every n blocks
    again: bool = True  # False: every epoch has the order of epoch 0


@dataclass(frozen=True)
class Shard:
    input: "Node"
    rank: int = 0
    world: int = 1
    even: str = "wrap"  # or "drop", "pad"
    steps: int | None = None


@dataclass(frozen=True)
class Part:
    """shard(fixed=True): the same positions of what is before it in every epoch."""

    input: "Node"
    rank: int = 0
    world: int = 1
    even: str = "wrap"
    contiguous: bool = False
    whole: bool = False  # of files: a rank has no more than its own


@dataclass(frozen=True)
class Repeat:
    input: "Node"
    times: int = 0  # 0: forever


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
class Readers:
    """interleave(f) of a dataset of files: `input` has a number of one of `readers` for each file.

    Which files come, and in which order, may differ between epochs. A Shard or Part in `input` deals whole files.
    """

    input: "Node"
    readers: tuple["Node", ...]
    cycle: int
    block: int


@dataclass(frozen=True)
class Zip:
    """Joined elements: the first one, which records the other."""

    input: "Node"
    other: "Node"


@dataclass(frozen=True)
class Mix:
    input: "Node"
    other: "Node"
    schedule: tuple[tuple[int, tuple[float, ...]], ...]  # from these positions on, these weights
    seed: int = 0
    stop: str = "first_exhausted"  # or "all_exhausted", "cycle"


@dataclass(frozen=True)
class Choose:
    input: "Node"
    other: "Node"
    choices: tuple[int, ...]
    stop: str = "first_exhausted"


@dataclass(frozen=True)
class Window:
    input: "Node"
    size: int
    shift: int
    stride: int = 1
    drop_last: bool = False


@dataclass(frozen=True)
class Sample:
    input: "Node"
    weights: tuple[float, ...]
    num: int | None = None
    replacement: bool = True
    seed: int = 0


@dataclass(frozen=True)
class SortBy:
    input: "Node"
    keys: tuple[float, ...]
    descending: bool = False


@dataclass(frozen=True)
class Select:
    input: "Node"
    indices: tuple[int, ...]


@dataclass(frozen=True)
class Batch:
    input: "Node"
    size: int
    drop_last: bool = False
    padded: bool = False  # fields are scalars here, so it makes no difference


@dataclass(frozen=True)
class GroupBy:
    """bucket_by_length, or group_by_window when there are no boundaries. Length and key are index modulo `modulus`."""

    input: "Node"
    modulus: int
    boundaries: tuple[int, ...] | None
    sizes: tuple[int, ...]  # one for each bucket, or one for all
    token_budget: int = 0  # instead of sizes
    drop_last: bool = False


@dataclass(frozen=True)
class Pack:
    """A sample is a sequence of `sequence_length` tokens; a row is a tuple with its sample for each token."""

    input: "Node"
    length: int
    strategy: str  # "first_fit", "best_fit" or "concat_and_split"
    bins: int = 1
    most: int = 0  # maximum sequences in a row; 0: no limit
    drop_last: bool = False


@dataclass(frozen=True)
class OnError:
    """The samples whose index is in `bad` fail in an operator below."""

    input: "Node"
    policy: str  # "raise", "skip" or "replace"
    bad: frozenset[int]


Node = (
    Read | Generate | Map | Filter | TakeWhile | Unique | Scan | Unbatch | Shuffle | Shard | Part | Repeat | Take | Skip
    | Concatenate | Interleave | Readers | Zip | Mix | Choose | Batch | Window | GroupBy | Pack | Sample | SortBy | Select
    | OnError
)  # fmt: skip
INPUTS = ("input", "other", "third")
UNIONS = (Concatenate, Interleave, Zip, Mix, Choose)
GATHERING = (Batch, Window, GroupBy, Pack)  # their elements are tuples of samples


def lots(node: "Node") -> list[int] | None:
    """The number of elements in each lot, in order; None if verbs moved or joined them."""
    match node:
        case Read():
            return [node.size] if node.size else []
        case Map() | Shard():
            return lots(node.input)
        case OnError(policy="replace"):
            return lots(node.input)
        case Concatenate():
            first, second = lots(node.input), lots(node.other)
            return None if first is None or second is None else first + second
        case Take() | Skip():
            below = lots(node.input)
            if below is None:
                return None
            begin, end = (0, node.count) if isinstance(node, Take) else (node.count, sum(below))
            ends = [sum(below[: i + 1]) for i in range(len(below))]
            cut = [min(e, end) - max(e - size, begin) for e, size in zip(ends, below, strict=True)]
            return [size for size in cut if size > 0]
    return None


def is_border(node: Node) -> bool:
    """Whether later nodes are streams."""
    if isinstance(node, Readers):
        anew = any(isinstance(n, Shard) for n in spine(node.input)) and varies(node.input)
        return anew or not all(map(is_indexed, node.readers)) or length(node) is None
    return (
        isinstance(node, (Generate, Filter, TakeWhile, Unique, Scan, Unbatch, GroupBy, Pack))
        or isinstance(node, Shuffle)
        and node.window > 0
        or isinstance(node, OnError)
        and node.policy == "skip"
    )


def inputs(node: Node) -> list[Node]:
    below = [getattr(node, f.name) for f in fields(node) if f.name in INPUTS]
    return [*node.readers, *below] if isinstance(node, Readers) else below


@lru_cache(maxsize=65536)
def is_indexed(node: Node) -> bool:
    return not is_border(node) and all(is_indexed(i) for i in inputs(node))


def spine(root: Node) -> list[Node]:
    """From the root down to the first source or union of datasets: the permitted places of a shard.

    Readers are such a union unless a shard deals their files.
    """
    path = [root]
    while not isinstance(path[-1], (Read, Generate, *UNIONS)):
        if isinstance(path[-1], Readers) and not deals_files(path[-1]):
            break
        path.append(path[-1].input)
    return path


def deals_files(node: Readers) -> bool:
    return any(isinstance(n, (Shard, Part)) for n in spine(node.input))


def opens_the_same(node: Readers) -> bool:
    """Whether this rank has the same files in every epoch."""
    if varies(node.input) and any(isinstance(n, Shard) for n in spine(node.input)):
        return False

    def chooses(files: Node) -> bool:
        some = isinstance(files, (Take, Skip, Select)) and varies(files.input)
        return some or isinstance(files, Sample) or any(map(chooses, inputs(files)))

    return not chooses(node.input)


def dealt(shard: Shard | Part, total, base: int = 0):
    """Remaining elements of this rank when `base` of `total` are consumed."""
    if total is None or total == ENDLESS:
        return total
    if isinstance(shard, Part) and shard.whole:
        return len(range(shard.rank, total, shard.world))
    rest = total - min(total, base)
    return rest // shard.world if shard.even == "drop" else -(-rest // shard.world)


def seed_of(node: Shuffle | Sample) -> int:
    """The seed of an order: behind a Part each rank has its own; rank 0 has the verb's."""
    rank = next((n.rank for n in spine(node) if isinstance(n, Part)), 0)
    if any(isinstance(n, Readers) and deals_files(n) for n in spine(node)):
        rank = rank or next((n.rank for n in spine(node) if isinstance(n, Shard)), 0)
    return word_of(node.seed, (rank, 0xFA27, 0, 0)) if rank else node.seed


@lru_cache(maxsize=65536)
def length(node: Node):
    """Elements of one epoch on this rank: an int, ENDLESS, or None when unknown."""
    match node:
        case Read():
            return node.size
        case Map() | Shuffle() | Scan():
            return length(node.input)
        case Generate() | Filter() | TakeWhile() | Unique() | Unbatch() | GroupBy() | Pack():
            return None
        case OnError():
            return None if node.policy == "skip" else length(node.input)
        case Shard() | Part():
            return dealt(node, length(node.input))
        case Concatenate():
            return None if None in (a := length(node.input), b := length(node.other)) else a + b
        case Interleave():
            each = [length(i) for i in inputs(node)]
            return None if None in each else sum(each)
        case Readers():
            from .files import length_of_readers  # noqa: PLC0415 -- it evaluates orders

            return length_of_readers(node)
        case Zip():
            both = (length(node.input), length(node.other))
            return 0 if 0 in both else None if None in both else min(both)
        case Mix() | Choose():
            return (
                None
                if None in (sizes := (length(node.input), length(node.other)))
                else dealt_out(node, sizes)
            )
        case Select():
            return len(node.indices)
        case Sample():
            drawable = sum(weight > 0 for weight in node.weights)
            return node.num if node.num is not None else len(node.weights) if node.replacement else drawable
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
        case SortBy():
            return below
        case Window():
            return below if below in (None, ENDLESS) else windows(node, below)
        case Batch():
            if below is None or below == ENDLESS:
                return below
            return below // node.size if node.drop_last else -(-below // node.size)
    raise TypeError(node)


def windows(node: Window, rows: int) -> int:
    """Windows with at least one row, or with drop_last all rows."""
    first_of_last = rows - (node.size - 1) * node.stride if node.drop_last else rows
    return max(0, -(-first_of_last // node.shift))


def turns(node: Mix | Choose) -> Turns:
    if isinstance(node, Choose):
        return Turns(2, node.stop, choices=node.choices)
    return Turns(2, node.stop, Mixture(node.schedule, node.seed))


@lru_cache(maxsize=4096)
def dealing(node: Mix | Choose, sizes: tuple) -> list[tuple[int, int]]:
    """(input, index in it) at every position; an input that began again continues to count."""
    if node.stop == "cycle" and 0 in sizes and (isinstance(node, Mix) or set(node.choices) & empty_of(sizes)):
        raise ModelError("a dataset is empty and cannot begin again")
    dealer, counts, passes, out = turns(node), [0, 0], [0, 0], []
    while (source := dealer.next()) is not None:
        if counts[source] == sizes[source] * (1 + passes[source]):
            passes[source] += dealer.end(source)
            continue
        out.append((source, counts[source]))
        counts[source] += 1
        dealer.gave()
    return out


def empty_of(sizes: tuple) -> set[int]:
    return {i for i, size in enumerate(sizes) if size == 0}


def dealt_out(node: Mix | Choose, sizes: tuple):
    return ENDLESS if ENDLESS in sizes else len(dealing(node, sizes))


def with_inputs(node: Node, change) -> Node:
    """The same node over changed inputs."""
    if isinstance(node, Readers):
        node = replace(node, readers=tuple(map(change, node.readers)))
    return replace(node, **{f.name: change(getattr(node, f.name)) for f in fields(node) if f.name in INPUTS})


def number(root: Node) -> Node:
    """Number reads and operators: depth first, inputs before the node, in dataflow order.

    A map or a filter is one operator here; in the package each traced call takes an ordinal.
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
    if isinstance(node, Readers):
        return is_batched(node.readers[0])
    return isinstance(node, GATHERING) or not isinstance(node, (Read, Generate)) and is_batched(node.input)


def varies(node: Node) -> bool:
    """Whether the order differs between epochs."""
    moves = isinstance(node, Sample) or isinstance(node, Shuffle) and node.again
    return moves or any(varies(i) for i in inputs(node))


def check_numbers(node: Node) -> None:
    """For a planned tree, in which a shard was moved up to where it acts."""
    for i in inputs(node):
        check_numbers(i)
    if isinstance(node, Select):
        total = length(node.input)
        if not is_indexed(node.input) or varies(node.input) or any(i >= total for i in node.indices):
            raise ModelError("select: wants indices of elements of an order that stays")
    if not isinstance(node, (Sample, SortBy)):
        return
    numbers = node.weights if isinstance(node, Sample) else node.keys
    if not is_indexed(node.input) or length(node.input) != len(numbers) or varies(node.input):
        raise ModelError("sample, sort_by: want a number for each element of an order that stays")
    if not isinstance(node, Sample):
        return
    drawable = sum(weight > 0 for weight in numbers)
    if not drawable or not node.replacement and (node.num or 0) > drawable:
        raise ModelError("sample: wants as many elements as have a weight")


def check(node: Node) -> None:
    """Reject invalid trees."""
    for i in inputs(node):
        check(i)
    if isinstance(node, Readers):
        check_files(node)
        length(node)  # whether each rank has files
    batched = [is_batched(i) for i in inputs(node)]
    joins = isinstance(node, UNIONS)
    if joins and any(isinstance(n, (Shard, Part)) for i in inputs(node) for n in spine(i)):
        raise ModelError("shard stands in one branch of a join; put it after")
    if joins and len(set(batched)) > 1:
        raise ModelError("one branch of a join has batches, another samples")
    if isinstance(node, Zip) and batched[0]:
        raise ModelError("the model has zip over samples only")
    if isinstance(node, Shard) and any(isinstance(n, (Shard, Part)) for n in spine(node.input)):
        raise ModelError("shard: the dataset is sharded already")
    if isinstance(node, Part):
        if any(isinstance(n, (Shard, Part)) for n in spine(node.input)):
            raise ModelError("shard: the dataset is sharded already")
        if not is_indexed(node.input) or length(node.input) == ENDLESS or varies(node.input):
            raise ModelError("shard(fixed=True): wants the same order in every epoch, and its length")
    permuted = isinstance(node, Shuffle) and not node.window
    if permuted and not (is_indexed(node.input) and length(node.input) != ENDLESS):
        raise ModelError("shuffle: wants random access and an exact length; use window=")
    if isinstance(node, OnError) and node.policy == "replace" and not is_indexed(node.input):
        raise ModelError('on_error: "replace" wants random access')
    if isinstance(node, (Map, Filter, TakeWhile, Unique, Scan, Unbatch, GroupBy, Pack)) and batched[0]:
        raise ModelError("the model has operators over samples only, not over batches")


def check_files(node: Readers) -> None:
    if any(isinstance(n, (Shard, Part)) for reader in node.readers for n in spine(reader)):
        raise ModelError("shard stands in one branch of a join; put it after")
    if len(set(map(is_batched, node.readers))) > 1:
        raise ModelError("one branch of a join has batches, another samples")
    if not is_indexed(node.input) or length(node.input) == ENDLESS:
        raise ModelError("interleave: wants a list of files")

    def again(files: Node) -> bool:
        draws = isinstance(files, Sample) and files.replacement
        picks = isinstance(files, Select) and len(set(files.indices)) < len(files.indices)
        return isinstance(files, Repeat) or draws or picks or any(map(again, inputs(files)))

    if not all(is_indexed(i) for i in node.readers) and again(node.input):
        raise ModelError("interleave: a stream is opened once in an epoch")


def with_whole_files(node: Node) -> Node:
    """A shard of files whose order is the same in every epoch gives each rank a part of the files."""
    node = with_inputs(node, with_whole_files)
    if not isinstance(node, Readers):
        return node
    files = node.input
    counted = all(is_indexed(i) and length(i) is not None for i in node.readers)
    if isinstance(files, Shard) and not varies(files) and counted:
        files = Part(files.input, files.rank, files.world, files.even)
    return replace(node, input=_whole(files))


def is_even_each_epoch(node: Node) -> bool:
    """Whether an epoch has as many elements on all ranks, though their number may differ between epochs."""
    if isinstance(node, Readers):
        return all(map(is_indexed, node.readers))
    keeps = isinstance(node, (Map, Batch, Window, Shuffle, Scan, Take, Skip, Repeat)) or (
        isinstance(node, OnError) and node.policy != "skip"
    )
    return length(node) is not None or keeps and is_even_each_epoch(node.input)


def _whole(files: Node) -> Node:
    return replace(files, whole=True) if isinstance(files, Part) else with_inputs(files, _whole)


def plan(root: Node) -> Node:
    """The planned tree: numbered, checked, on_error over samples, and exactly one shard, where it acts.

    A shard moves up through everything except a batch, window or border: it is the last of the index verbs of its segment.
    No shard is the same as rank 0 of 1 above the read, or above the topmost union or part.
    """
    from .files import listed  # noqa: PLC0415 -- it evaluates orders

    steps = next((n.steps for n in spine(root) if isinstance(n, Shard)), None)
    root = _sink_on_error(number(with_whole_files(listed(root))))
    check(root)
    if steps is not None and not any(isinstance(n, Shard) for n in spine(root)):
        raise ModelError("shard: steps= is for lengths that cannot be known; use take")
    path = spine(root)
    end = next((i for i, n in enumerate(path) if isinstance(n, Part)), len(path) - 1)
    if isinstance(path[end], Part):  # of files: the readers are this rank's
        end = next((i for i, n in enumerate(path) if isinstance(n, Readers)), end)
    path = path[: end + 1]
    shard, node = Shard(path[-1]), path[-1]
    held = not any(isinstance(n, Shard) for n in path)
    for above in reversed(path[:-1]):
        if isinstance(above, Shard):
            shard, held = above, True
            continue
        if held and (isinstance(above, (*GATHERING, Readers)) or is_border(above)):
            node, held = replace(shard, input=node), False
        node = replace(above, input=node)
    node = replace(shard, input=node) if held else node
    check_numbers(node)
    if length(node) is None and shard.world > 1 and shard.steps is None and not is_even_each_epoch(node):
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
    """{"verb": "take", "count": 3, "input": {...}}; the keys are those of a saved plan."""
    words = {OnError: "on_error", Generate: "from_generator", TakeWhile: "take_while", SortBy: "sort_by"}
    verb = words.get(type(node), type(node).__name__.lower())
    if isinstance(node, GroupBy):
        verb = "group_by_window" if node.boundaries is None else "bucket_by_length"
    out = {"verb": verb}
    for f in fields(node):
        value = getattr(node, f.name)
        if f.name == "ordinal" or f.name in INPUTS:
            continue
        if f.name == "readers":
            continue
        out[f.name] = sorted(value) if isinstance(value, frozenset) else value
    below = [to_json(i) for i in inputs(node)]
    if len(below) == 1:
        out["input"] = below[0]
    elif below:
        out["inputs"] = below
    return out


def fingerprint(root: Node) -> str:
    """What a state must match: the tree without rank and world."""

    def strip(value):
        if isinstance(value, dict):
            return {k: strip(v) for k, v in value.items() if k not in ("rank", "world")}
        return [strip(v) for v in value] if isinstance(value, list) else value

    text = json.dumps(strip(to_json(root)), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
