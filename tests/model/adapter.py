"""The model's trees as calls of the real package: the one place that knows its names.

A sample of the package is {"index", "child"}; an element is compared as (index, child), a batch as a list of those.
Random draws are not compared here: the keys' own vectors are, in test_model.py.
"""

import numpy as np

from .nodes import (
    Batch,
    Concatenate,
    Filter,
    Map,
    Node,
    OnError,
    Read,
    Repeat,
    Shard,
    Shuffle,
    Skip,
    Take,
    Unbatch,
)


def build(hr, node: Node, read=None):
    """The dataset of the package that this tree means; `read` makes the one of a size."""
    match node:
        case Read():
            return read(node.size) if read else hr.range(node.size).map(_start, python=True)
        case Concatenate():
            return build(hr, node.input, read).concatenate(build(hr, node.other, read))
    below = build(hr, node.input, read)
    match node:
        case Map():
            return below.map(dict, python=True)
        case Filter():
            return below.filter(lambda s: s["index"] % node.modulus != node.remainder)
        case Unbatch():
            return below.map(lambda s: _children(s, node.modulus), python=True).unbatch()
        case Shuffle(window=0):
            return below.shuffle(seed=node.seed)
        case Shuffle():
            return below.shuffle(seed=node.seed, window=node.window)
        case Shard():
            steps = {} if node.steps is None else {"steps": node.steps}
            return below.shard(node.rank, node.world, even=node.even, **steps)
        case Repeat():
            return below.repeat(node.times) if node.times else below.repeat()
        case Take():
            return below.take(node.count)
        case Skip():
            return below.skip(node.count)
        case Batch():
            return below.batch(node.size, drop_last=node.drop_last)
        case OnError():
            return below.map(lambda s: _fail_on(s, node.bad), python=True).on_error(node.policy)
    raise TypeError(node)


def _start(x):
    value = next(iter(x.values())) if isinstance(x, dict) else x
    return {"index": np.int64(value), "child": np.int64(0)}


def _children(sample, modulus):
    count = int(sample["index"]) % modulus
    child = (np.int64(sample["child"]) << 16) + np.arange(1, count + 1)
    return {"index": sample["index"], "child": child & 0xFFFFFFFF}  # 32 bits, as ids have


def _fail_on(sample, bad):
    if int(sample["index"]) in bad:
        raise ValueError("a bad sample")
    return sample


def seen(element):
    """An element of the package, as compared."""
    index, child = element["index"], element["child"]
    if getattr(index, "ndim", 0) == 0:
        return int(index), int(child)
    return list(zip(index.tolist(), child.tolist()))


def expected(element):
    """An element of the model, as compared."""
    if isinstance(element, tuple):
        return [expected(e) for e in element]
    return element.id.index, element.id.child


def loader(dataset):
    """What iterates: each iter() is its next epoch; it loads states, its iterators give them."""
    return dataset.numpy()


def save(iteration) -> dict:
    return iteration.state_dict()


def load(loader, state) -> None:
    loader.load_state_dict(state)


def set_epoch(loader, epoch: int) -> None:
    loader.set_epoch(epoch)


def item(dataset, position: int):
    return dataset[position]
