"""Checks of arguments: types, integer ranges, and argument names of other libraries.

The engine checks the values. Types and names are checked here, since nanobind would report them with the signature of an internal
function.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import operator
import re
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

import numpy as np

from . import _core
from ._errors import mismatch

Given = ParamSpec("Given")
Returned = TypeVar("Returned")

# Argument names of tf.data, PyTorch, DALI and WebDataset, and what to use instead.
_OTHERS_NAMES = {
    "batch_size": "batch(size)",
    "bs": "batch(size)",
    "buffer_size": "shuffle(window=…), or omit it: by default shuffle permutes all elements",
    "collate_fn": "ragged_batch(size), padded_batch(size), or map()",
    "deterministic": "options(deterministic=…)",
    "drop_last_batch": "batch(drop_last=…)",
    "drop_remainder": "batch(drop_last=…)",
    "element_length_func": "bucket_by_length(length)",
    "filename": "cache(path)",
    "index": "shard(rank, world)",
    "initial": "shuffle(window=…)",
    "key_func": "group_by_window(key, size)",
    "memory_budget": "options(memory_budget=…)",
    "num_parallel_calls": "options(workers=…): all workers run it; map(num_parallel=…) limits the calls of a Python function",
    "num_replicas": "shard(world=…)",
    "num_shards": "shard(world=…)",
    "num_threads": "options(workers=…)",
    "num_workers": "options(workers=…)",
    "padded_shapes": "padded_batch(shapes=…)",
    "padding_values": "padded_batch(fill=…)",
    "persistent_workers": "not needed: a loader keeps no threads between epochs and starts quickly",
    "predicate": "filter(function)",
    "prefetch_factor": "prefetch(count)",
    "random_seed": "shuffle(seed=…)",
    "reduce_func": "group_by_window(key, size).map(function): a window is a batch",
    "reshuffle_each_iteration": "shuffle(reshuffle_each_epoch=…)",
    "shard_id": "shard(rank=…)",
    "shuffle": "the verb shuffle(seed=…)",
    "stop_on_empty_dataset": "mix(stop=…), choose(stop=…)",
    "threads": "options(workers=…)",
    "timeout": "not needed: a loader waits until there is data or an error",
    "window_size": "group_by_window(key, size)",
    "workers": "options(workers=…)",
    "world_size": "shard(world=…)",
}

# Functions, verbs and properties of these libraries, and what to use instead.
_OTHERS_VERBS = {
    "DataLoader": "Dataset.torch(), or iterate over the dataset itself",
    "FixedLengthRecordDataset": "headrace.read_fixed(files, record_bytes=…)",
    "TFRecordDataset": "headrace.read(path), or read_tfrecord",
    "TextLineDataset": "headrace.read_text(files)",
    "WebDataset": "headrace.read(path), or read_webdataset",
    "assert_cardinality": "not needed: a length is exact or not known",
    "head": "take(count)",
    "read_wds": "headrace.read_webdataset(path)",
    "snapshot": "cache(path)",
    "AUTOTUNE": "not needed: threads and concurrent reads are tuned, unless set with options(workers=…, io=…)",
    "as_numpy_iterator": "numpy(), or iterate over the dataset itself",
    "bucket_by_sequence_length": "bucket_by_length(length, boundaries=…, batch_sizes=…)",
    "cardinality": "len(dataset)",
    "choose_from_datasets": "headrace.choose(datasets, choice)",
    "element_spec": "schema",
    "from_tensor_slices": "headrace.from_arrays(data)",
    "ignore_errors": 'on_error("skip")',
    "sample_from_datasets": "headrace.mix(datasets, weights=…)",
    "with_options": "options(…)",
}

# Hints for a positional number that may have been meant as another library's argument.
_BECAUSE = {
    "shuffle": "; there is no buffer size: the shuffle is global, and window= draws from a window in a stream",
}


def whole_number(verb: str, name: str, value: object, least: int = 0, end: int = 2**64) -> int:
    """Return the value as an int from `least` to `end` - 1. Bools, floats and strings are not accepted.

    Raises:
        TypeError: it is not an integer.
        ValueError: it is out of range.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None:
        raise mismatch(TypeError, verb, expected="an integer", got=f"{value!r}", option=name)
    if not least <= number < end:
        wanted = f"at least {least}" if number < least else f"less than 2**{end.bit_length() - 1}"
        raise mismatch(ValueError, verb, expected=wanted, got=str(number), option=name)
    return number


def byte_size(verb: str, name: str, value: object) -> int:
    """Return the value, a number of bytes or a string such as "512MB", as a number of bytes."""
    if isinstance(value, str):
        try:
            value = _core.parse_byte_size(value)
        except ValueError as error:
            raise ValueError(f"{verb}: {name}: {error}") from None
    try:
        return whole_number(verb, name, value, least=1)
    except TypeError:
        raise mismatch(
            TypeError,
            verb,
            expected="a number of bytes, or a string such as '512MB'",
            got=f"{value!r}",
            option=name,
        ) from None


def flag(verb: str, name: str, value: object) -> bool:
    """Return the value, a Python or NumPy bool.

    Raises:
        TypeError: it is not a bool.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise mismatch(TypeError, verb, expected="True or False", got=f"{value!r}", option=name)
    return bool(value)


def text(verb: str, name: str, value: object) -> str:
    """Return the value, a str.

    Raises:
        TypeError: it is not a str.
    """
    if not isinstance(value, str):
        raise mismatch(TypeError, verb, expected="a str", got=f"{value!r}", option=name)
    return value


def names_checked(function: Callable[Given, Returned]) -> Callable[Given, Returned]:
    """Wrap a verb or operator to suggest the right name if it is called with an unknown argument, or without a required name."""
    parameters = inspect.signature(function).parameters.values()
    known = [parameter.name for parameter in parameters if parameter.name != "self"]
    named = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    most = len(parameters) - len(named)

    @functools.wraps(function)
    def checked(*args: Given.args, **kwargs: Given.kwargs) -> Returned:
        for name in kwargs:
            if name not in known:
                raise TypeError(
                    f"{function.__name__}: unexpected argument {name!r}{_meant(function.__name__, name, known)}"
                )
        if "datasets" in known and len(args) > 1 and all(hasattr(dataset, "_node") for dataset in args):
            name = function.__name__
            raise mismatch(
                TypeError,
                name,
                expected=f"the datasets in a list, as in {name}([a, b])",
                got=f"{len(args)} arguments",
            )
        if len(args) > most and named:
            raise TypeError(
                f"{function.__name__}: pass {', '.join(named)} by name, as in {named[0]}={args[most]!r}"
                + _BECAUSE.get(function.__name__, "")
            )
        return function(*args, **kwargs)

    return checked


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'batch'?" if one of the known names is close, else ""."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def verb_meant(name: str, known: Iterable[str]) -> str:
    """Return the end of a message: what to use instead of an unknown verb or function; "" if that is not known."""
    if name in _OTHERS_VERBS:
        return _use(_OTHERS_VERBS[name])
    return "" if name.startswith("_") else did_you_mean(name, known)


def _use(instead: str) -> str:
    return f"; {instead}" if instead.startswith("not needed") else f"; use {instead}"


def _meant(verb: str, name: str, known: list[str]) -> str:
    if name in _OTHERS_NAMES:
        here = _OTHERS_NAMES[name]
        own = re.fullmatch(r"\w+(\((\w+)=…\))", here)  # an argument that this verb has, too
        return _use(verb + own[1] if own and own[2] in known else here)
    if close := did_you_mean(name, known):
        return close
    return f"; it takes {', '.join(known)}" if known else "; it takes none"
