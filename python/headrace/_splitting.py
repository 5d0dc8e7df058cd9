"""Verbs that choose elements by position: select, random_split, k_fold once for all epochs, and reorder for each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from . import _core
from ._arguments import names_checked, text, whole_number
from ._errors import mismatch
from ._line import users_line
from ._making.epoch_order import epoch_order, length_of
from ._verbs import Verbs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .dataset import Dataset

Numbers = np.ndarray[Any, Any]


class SplittingVerbs(Verbs):
    """The results are the same in every epoch and on every rank, and have random access."""

    @names_checked
    def select(self, indices: ArrayLike) -> Dataset:
        """Return the elements at these positions, in the order of `indices`.

        Args:
            indices: Positions in the order of the dataset, from 0: integers in one dimension, or a range. A position may come several
                times; random operators then draw anew for each.

        Raises:
            TypeError: the indices are not integers.
            ValueError: an index is negative or not below the length; or there is a shuffle before it, whose order changes every epoch.

        Example:
            ds.select([0, 5, 7])
        """
        array = np.asarray(indices)
        if array.ndim != 1:
            raise mismatch(
                ValueError, "select", expected="indices in one dimension", got=f"shape {array.shape}"
            )
        if array.dtype.kind == "b":
            raise mismatch(
                TypeError, "select", expected="integers", got="bool", hint="np.flatnonzero(mask) has them"
            )
        if array.size and array.dtype.kind not in "iu":
            raise mismatch(TypeError, "select", expected="integers", got=str(array.dtype))
        return self._selected(array.astype(np.int64))

    def _selected(self, indices: Numbers) -> Dataset:
        from .joins import numbers_of  # noqa: PLC0415 -- joins imports this module's users

        numbers, bound = numbers_of("indices", indices)
        return self._then(_core.verb("select", [self._node, numbers], {}, users_line()), bound)

    @names_checked
    def reorder(
        self, order: Any, *, length: int | None = None, seed: int = 0, slot: str = "order"
    ) -> Dataset:
        """Return the elements in an order of your own for each epoch, instead of `shuffle`.

        The order is asked for before an epoch begins, and must depend on the epoch alone: then an iteration resumes exactly, on any
        number of ranks. It is asked twice for the first epoch, and other positions are an error. A state of an epoch for which it now gives other positions is refused.

        Args:
            order: A function from the epoch (int, from 0) to positions from 0: integers in one dimension. Or a sampler with a length,
                such as those of `torch.utils.data`: its `set_epoch` is called; without one, PyTorch's random numbers are seeded for
                each epoch while it is asked, and the sampler's `generator` by its `initial_seed()`. Positions may be left out, and may
                come several times; random operators then draw anew for each. Under `repeat(n)` it is asked for `n` epochs at once.
            length: Number of positions of every epoch; the length of the dataset or of the sampler when not given.
            seed: Seeds PyTorch's random numbers for samplers without `set_epoch` and `generator`.
            slot: The name for binding the function or sampler to a saved plan.

        Raises:
            TypeError: it is neither a function nor a sampler, or its positions are not integers.
            ValueError: there is no random access or no exact length, or there is a shuffle before it. When an epoch begins: it gives
                another number of positions, or one that is negative or not below the length.

        Example:
            ds.reorder(lambda epoch: np.random.default_rng(epoch).permutation(len(ds)))
        """
        named = text("reorder", "slot", slot)
        wanted = None if length is None else whole_number("reorder", "length", length)
        seeded = whole_number("reorder", "seed", seed, end=2**63)
        total = _core.fixed_total(self._node, "reorder", "positions")
        made = epoch_order(order, length_of(order, wanted, total), named, seeded)
        return self._then(_core.reorder(self._node, made, users_line()), (named, order))

    @names_checked
    def random_split(
        self,
        lengths: Sequence[float],
        *,
        seed: int = 0,
        stratify_by: ArrayLike | str | None = None,
        group_by: ArrayLike | str | None = None,
    ) -> list[Dataset]:
        """Split the dataset at random into parts that have no element in common and are the whole together.

        A part has the same elements in every epoch, on every rank and in every run, in a random order. `seed` alone determines
        them, together with the length of the dataset and, if given, the fields. Without a field this takes no time and no memory.

        Args:
            lengths: Fractions that sum to 1, or numbers of elements that sum to the length. Elements that fractions leave over go
                to the first parts, one each.
            seed: Determines the parts.
            stratify_by: The class of each element: the name of a field, which is read immediately, or a number or str for each element.
                Of each class, a part has its fraction of the elements, rounded up or down; the lengths of parts may
                therefore differ a little from `lengths`. With `group_by`, classes are balanced as far as the groups allow.
            group_by: What must not be divided, such as the patient: the name of a field, or a number or str for each element. All
                elements of a group are in one part; lengths are as near as the groups allow.

        Raises:
            ValueError: the lengths do not fit; a part got no group; there is no random access or no exact length; or there is a
                shuffle before it, whose order changes every epoch.

        Example:
            train, val = ds.random_split([0.9, 0.1], seed=0, stratify_by="label")
        """
        named = whole_number("random_split", "seed", seed)
        total = _core.fixed_total(self._node, "random_split", "parts")
        counts = _core.split_lengths("random_split", [float(length) for length in lengths], total)
        if stratify_by is None and group_by is None:
            mixed = self._mixed(named)
            return [mixed.skip(end - count).take(count) for count, end in _ends(counts)]
        chosen = self._parts("random_split", named, counts, stratify_by, group_by)
        return [self._selected(indices) for indices in chosen]

    @names_checked
    def k_fold(
        self,
        k: int,
        *,
        seed: int = 0,
        stratify_by: ArrayLike | str | None = None,
        group_by: ArrayLike | str | None = None,
    ) -> list[tuple[Dataset, Dataset]]:
        """Return `k` pairs (train, validation) for cross-validation: each element is in one validation set and in the other `k - 1` trains.

        As in `random_split`, folds are the same in every epoch, on every rank and in every run.

        Args:
            k: Number of folds, at least 2 and at most the number of elements.
            seed: Determines the folds.
            stratify_by: The class of each element, as for `random_split`.
            group_by: What must not be divided, as for `random_split`.

        Raises:
            ValueError: there are fewer elements or groups than folds; otherwise as `random_split`.

        Example:
            for train, val in ds.k_fold(5, seed=0): ...
        """
        folds, named = whole_number("k_fold", "k", k, least=2), whole_number("k_fold", "seed", seed)
        total = _core.fixed_total(self._node, "k_fold", "folds")
        if folds > total:
            raise mismatch(
                ValueError,
                "k_fold",
                expected=f"at most {total} folds, one for each element",
                got=f"k={folds}",
            )
        counts = [total // folds + (i < total % folds) for i in range(folds)]
        if stratify_by is None and group_by is None:
            mixed = self._mixed(named)
            return [
                (mixed.take(end - count).concatenate(mixed.skip(end)), mixed.skip(end - count).take(count))
                for count, end in _ends(counts)
            ]
        chosen = self._parts("k_fold", named, counts, stratify_by, group_by)
        pairs = []
        for i, val in enumerate(chosen):
            train = np.concatenate([part for j, part in enumerate(chosen) if j != i])
            pairs.append((self._selected(train), self._selected(val)))
        return pairs

    def _mixed(self, seed: int) -> Dataset:
        members = {"seed": seed, "window": 0, "blocks": 0, "reshuffle_each_epoch": False}
        return self._then(_core.verb("shuffle", [self._node], members, users_line()))

    def _parts(
        self,
        verb: str,
        seed: int,
        counts: Sequence[int],
        stratify_by: ArrayLike | str | None,
        group_by: ArrayLike | str | None,
    ) -> list[Numbers]:
        """Return the indices of each part, in a random order."""
        total = sum(counts)
        classes = self._numbered(verb, "stratify_by", stratify_by, total)
        order = _permuted(seed, total)
        if group_by is None:
            part = _by_class(order, classes, counts)
        else:
            part = _by_group(verb, seed, self._numbered(verb, "group_by", group_by, total), classes, counts)
        of = part[order]
        return [order[of == j] for j in range(len(counts))]

    def _numbered(self, verb: str, option: str, given: ArrayLike | str | None, total: int) -> Numbers:
        """Return a number from 0 for each element: the same for equal values."""
        from .joins import values_beside  # noqa: PLC0415 -- joins imports this module's users

        if given is None:
            return np.zeros(total, np.int64)
        values = values_beside(cast("Dataset", self), verb, option, given)
        if len(values) != total:
            raise mismatch(
                ValueError,
                verb,
                expected=f"{option} for {total} elements",
                got=str(len(values)),
                option=option,
            )
        if values.dtype.kind == "f" and np.isnan(values).any():
            raise mismatch(
                ValueError, verb, expected=f"a value for each element in {option}", got="nan", option=option
            )
        return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _ends(counts: Sequence[int]) -> list[tuple[int, int]]:
    """Return each count with the sum up to it."""
    return list(zip(counts, itertools.accumulate(counts), strict=True))


def _permuted(seed: int, total: int) -> Numbers:
    return np.frombuffer(_core.permuted(seed, total), np.int64)


def _by_class(order: Numbers, classes: Numbers, counts: Sequence[int]) -> Numbers:
    """Return the part of each element: of each class the same fraction, rounded up or down."""
    total, sizes = len(order), np.bincount(classes)
    # The elements of a class stand at equal distances on [0, 1), each class with an offset of its own, so that rounding evens out.
    offsets = (_permuted(len(sizes), len(sizes)) + 0.5) / len(sizes)
    grouped = order[np.argsort(classes[order], kind="stable")]
    of = classes[grouped]
    rank = np.arange(total) - (np.cumsum(sizes) - sizes)[of]
    place = (rank + offsets[of]) / sizes[of]
    ends = np.cumsum(counts) / total
    part = np.empty(total, np.int64)
    part[grouped] = np.searchsorted(ends[:-1], place, side="right")
    return part


def _by_group(verb: str, seed: int, groups: Numbers, classes: Numbers, counts: Sequence[int]) -> Numbers:
    """Return the part of each element: that of its group. Groups go, in a random order, where most is missing."""
    number, kinds = int(groups.max()) + 1 if len(groups) else 0, int(classes.max()) + 1 if len(classes) else 0
    has = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups, minlength=number))
    wanted = np.outer(np.asarray(counts) / max(1, sum(counts)), np.bincount(classes, minlength=kinds))
    given = np.zeros_like(wanted)
    empty = np.asarray(counts) == 0
    part_of = np.empty(number, np.int64)
    for group in _permuted(seed, number):
        begin = ends[group - 1] if group else 0
        kind, much = np.unique(classes[has[begin : ends[group]]], return_counts=True)
        over = 2 * (given[:, kind] - wanted[:, kind]) + much
        cost = np.where(empty, np.inf, (much * over / np.maximum(wanted[:, kind], 1e-9)).sum(axis=1))
        part_of[group] = chosen = int(np.argmin(cost))
        given[chosen, kind] += much
    missing = np.flatnonzero((given.sum(axis=1) == 0) & ~empty)
    if len(missing):
        raise mismatch(
            ValueError,
            verb,
            expected="at least one group for each part",
            got=f"{number} groups by group_by, and none for part {missing[0]}",
        )
    return part_of[groups]
