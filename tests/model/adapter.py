"""Translates the model's trees to calls of the real package; only this file uses its names.

A sample of the package is {"index", "child", "carried", "also"}; an element is compared as a tuple of those, a batch as a list of such.
Random draws are not compared here: the keys' own vectors are, in test_model.py.
"""

import numpy as np

from .nodes import (
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
    TakeWhile,
    Unbatch,
    Unique,
    Window,
    Zip,
    inputs,
)
from .stream import scanned

FIELDS = ("index", "child", "carried", "also")


def build(hr, node: Node, read=None, marks: bool = False):
    """The package's dataset for this tree; `read` makes a source of a given size.

    With `marks`, samples also have "valid", which with_validity() added to their source.
    """
    if marks and isinstance(node, (Read, Generate)):
        return build(hr, node, read).with_validity().map(_number_of_mark, python=True)
    match node:
        case Read():
            return read(node.size) if read else hr.range(node.size).map(_start, python=True)
        case Generate():
            make = _Counter(node.size) if node.resumable else lambda: map(_start, range(node.size))
            return hr.from_generator(make, signature=hr.from_dataset([_start(0)]).schema)
        case Concatenate():
            return build(hr, node.input, read, marks).concatenate(build(hr, node.other, read, marks))
        case Interleave():
            branches = [build(hr, branch, read, marks) for branch in inputs(node)]
            return hr.interleave(branches, cycle_length=node.cycle, block_length=node.block)
        case Readers():
            readers = [build(hr, reader, read, marks) for reader in node.readers]
            return build(hr, node.input).interleave(
                lambda file: readers[int(file["index"])],
                cycle_length=node.cycle,
                block_length=node.block,
            )
        case Zip():
            first, other = (build(hr, branch, read, marks) for branch in (node.input, node.other))
            return first.zip(other).map(_zipped, python=True)
        case Mix() | Choose():
            both = [build(hr, branch, read, marks) for branch in (node.input, node.other)]
            if isinstance(node, Choose):
                return hr.choose(both, np.array(node.choices, dtype=np.int64), stop=node.stop)
            return hr.mix(both, weights=node.schedule, seed=node.seed, stop=node.stop)
    below = build(hr, node.input, read, marks)
    match node:
        case Map():
            return below.map(dict, python=True)
        case Filter():
            return below.filter(lambda s: s["index"] % node.modulus != node.remainder)
        case TakeWhile():
            return below.take_while(lambda s: s["index"] % node.modulus != node.remainder, python=True)
        case Unique():
            return below.unique(lambda s: s["index"] % node.modulus, python=True)
        case Scan():
            return below.scan(node.initial, _scan, python=True)
        case GroupBy(boundaries=None):
            size, last = node.sizes[0], node.drop_last
            return below.group_by_window(
                lambda s: s["index"] % node.modulus, size, drop_last=last, python=True
            )
        case GroupBy():
            return below.bucket_by_length(
                lambda s: s["index"] % node.modulus,
                boundaries=node.boundaries,
                batch_sizes=(node.sizes[0] if len(node.sizes) == 1 else node.sizes) or None,
                token_budget=node.token_budget or None,
                drop_last=node.drop_last,
                python=True,
            )
        case Pack():
            rows = below.map(_sequence, python=True).pack(
                node.length,
                strategy=node.strategy,
                bins=node.bins,
                max_sequences=node.most or None,
                drop_last=node.drop_last,
                fill=-1,
            )
            return rows.map(_tokens, python=True)
        case Unbatch():
            return below.map(lambda s: _children(s, node.modulus), python=True).unbatch()
        case Shuffle(window=0) if node.blocks:
            return below.shuffle(seed=node.seed, blocks=node.blocks, reshuffle_each_epoch=node.again)
        case Shuffle(window=0):
            return below.shuffle(seed=node.seed, reshuffle_each_epoch=node.again)
        case Shuffle():
            return below.shuffle(seed=node.seed, window=node.window, reshuffle_each_epoch=node.again)
        case Shard():
            steps = {} if node.steps is None else {"steps": node.steps}
            return below.shard(node.rank, node.world, even=node.even, **steps)
        case Part():
            return below.shard(node.rank, node.world, even=node.even, fixed=True, contiguous=node.contiguous)
        case Repeat():
            return below.repeat(node.times) if node.times else below.repeat()
        case Take():
            return below.take(node.count)
        case Skip():
            return below.skip(node.count)
        case Batch(padded=True):
            return below.padded_batch(node.size, drop_last=node.drop_last)
        case Batch():
            return below.batch(node.size, drop_last=node.drop_last)
        case Window():
            return below.window(node.size, shift=node.shift, stride=node.stride, drop_last=node.drop_last)
        case Sample():
            return below.sample(node.weights, num=node.num, replacement=node.replacement, seed=node.seed)
        case SortBy():
            return below.sort_by(node.keys, descending=node.descending)
        case Select():
            return below.select(node.indices)
        case OnError():
            return below.map(lambda s: _fail_on(s, node.bad), python=True).on_error(node.policy)
    raise TypeError(node)


def _start(x):
    value = next(iter(x.values())) if isinstance(x, dict) else x
    return {"index": np.int64(value), "child": np.int64(0), "carried": np.int64(0), "also": np.int64(0)}


def _number_of_mark(sample):
    return {**sample, "valid": np.int64(sample["valid"])}


class _Counter:
    """An iterable whose iterators report their position."""

    def __init__(self, size: int):
        self.size = size

    def __iter__(self):
        return _Counting(self.size)


class _Counting:
    def __init__(self, size: int):
        self.size, self.position = size, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.position >= self.size:
            raise StopIteration
        self.position += 1
        return _start(self.position - 1)

    def state_dict(self) -> dict:
        return {"position": self.position}

    def load_state_dict(self, state: dict) -> None:
        self.position = state["position"]


def _scan(state, sample):
    new = np.int64(scanned(int(state), int(sample["index"]), int(sample["carried"])))
    return new, {**sample, "carried": new}


def _sequence(sample):
    """Tokens that identify their sample."""
    return {name: np.full(1 + int(sample["index"]) % 4, value) for name, value in sample.items()}


def _tokens(row):
    """A packed row without its padding, checked."""
    segments, positions = row["index_segment_ids"], row["index_positions"]
    held = segments > 0
    filled = (
        not held.any() or (row["index"][~held] == -1).all()
    )  # all of it when the function is tried on a sample
    assert filled and (positions[~held] == 0).all()
    for segment in range(1, segments.max() + 1):
        assert positions[segments == segment].tolist() == list(range((segments == segment).sum()))
    return {name: row[name][held] for name in (*FIELDS, "valid") if name in row}


def _zipped(pair):
    first, other = pair
    mixed = first["also"] * 31 + other["index"] * 17 + other["child"] * 7 + other["also"] * 3 + 1
    return {**first, "also": mixed & 0x3FFFFFFF}


def _children(sample, modulus):
    count = int(sample["index"]) % modulus
    child = (np.int64(sample["child"]) << 16) + np.arange(1, count + 1)
    return {**sample, "child": child & 0xFFFFFFFF}  # 32 bits, as in ids


def _fail_on(sample, bad):
    if int(sample["index"]) in bad:
        raise ValueError("a bad sample")
    return sample


def seen(element, also: tuple[str, ...] = ()):
    """An element of the package, as compared."""
    fields = [element[name] for name in (*FIELDS, *also)]
    if getattr(fields[0], "ndim", 0) == 0:
        return tuple(map(int, fields))
    return list(zip(*(field.tolist() for field in fields)))


def expected(element):
    """An element of the model, as compared."""
    if isinstance(element, tuple):
        return [expected(e) for e in element]
    return element.id.index, element.id.child, element.carried, element.also


def expected_with_marks(element):
    """The same with whether each sample is valid."""
    if isinstance(element, tuple):
        return [expected_with_marks(e) for e in element]
    return *expected(element), int(element.valid)


def loader(dataset):
    """An iterable of epochs: each iter() is the next epoch; it loads states, its iterators return them."""
    return dataset.numpy()


def save(iteration) -> dict:
    return iteration.state_dict()


def load(loader, state) -> None:
    loader.load_state_dict(state)


def set_epoch(loader, epoch: int) -> None:
    loader.set_epoch(epoch)


def item(dataset, position: int):
    return dataset[position]
