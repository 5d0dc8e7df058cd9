"""Verbs that make one element of several by what is in them: padded and bucketed batches, packed rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from . import _core, ops
from ._arguments import flag, names_checked, text, whole_number
from ._line import users_line
from ._mapping import Where
from ._trace import plain
from ._verbs import Verbs, field_of

if TYPE_CHECKING:
    from .dataset import Dataset

Dims = Sequence[int | None]
Number = int | float | bool


class GatheringVerbs(Verbs):
    """`padded_batch` keeps length and random access; the others end both."""

    @names_checked
    def padded_batch(
        self,
        size: int,
        shapes: Mapping[str, Dims] | Dims | None = None,
        *,
        fill: Number | Mapping[str, Number] = 0,
        drop_last: bool = False,
    ) -> Dataset:
        """Stack `size` elements along a new first dimension, smaller ones filled up at their ends.

        Fields of bytes and str become lists, as in `batch`.

        Args:
            size: Rows of a batch, at least 1.
            shapes: Of rows, {field: [dimension or None, …]}; None (or -1) is the largest of the batch, and so are all dimensions of
                fields that are not named. A list is for elements of one field.
            fill: The number in what is filled up, of all fields or {field: number}; 0 for those not named.
            drop_last: Leave out a last batch that is not full.
        """
        rows = whole_number("padded_batch", "size", size)
        last = flag("padded_batch", "drop_last", drop_last)
        dims = _shapes("padded_batch", shapes, self._node.schema[0])
        return self._then(
            _core.padded_batch(self._node, rows, last, dims, _fill("padded_batch", fill), users_line())
        )

    @names_checked
    def bucket_by_length(
        self,
        length: str | Callable[..., Any],
        *,
        boundaries: Sequence[int] = (),
        batch_sizes: int | Sequence[int] | None = None,
        token_budget: int | None = None,
        shapes: Mapping[str, Dims] | Dims | None = None,
        fill: Number | Mapping[str, Number] = 0,
        pad_to_boundary: bool = False,
        ragged: bool = False,
        drop_last: bool = False,
        python: Where = False,
    ) -> Dataset:
        """Make padded batches of elements of like length.

        Elements wait in their bucket, first in, first out, until they are a batch; at the end of the epoch what waits is handed out,
        shortest bucket first. So at most the batches under way are held.

        Args:
            length: A field, for the size of its first dimension, or a function from element to an integer; traced like `map`.
            boundaries: Bucket i holds the lengths from boundaries[i - 1] to boundaries[i] - 1; one more holds the rest.
            batch_sizes: Elements of a batch: one number, or one for each of the len(boundaries) + 1 buckets.
            token_budget: In place of sizes: a batch has at most so many (elements x longest length); an element longer than that is
                a batch by itself.
            shapes: As in `padded_batch`.
            fill: As in `padded_batch`.
            pad_to_boundary: Pad to the longest length that the bucket may hold; lengths from the last boundary on are an error.
            ragged: Do not pad: each field is a `RaggedColumn`, as in `batch(ragged=True)`.
            drop_last: Leave out what is no full batch at the end.
            python: Run the function as Python without trying to trace it.
        """
        verb = "bucket_by_length"
        function = (
            (lambda element: ops.length(field_of(element, length))) if isinstance(length, str) else length
        )
        made, bound, at = self._program(verb, function, python)
        ragged = flag(verb, "ragged", ragged)
        if isinstance(batch_sizes, Sequence) and len(batch_sizes) != len(boundaries) + 1:
            raise ValueError(
                f"{verb}: wants a batch size for each of the {len(boundaries) + 1} groups, or one number for all, "
                f"got a list of {len(batch_sizes)}"
            )
        node = _core.group_by(
            self._node,
            made,
            True,
            [whole_number(verb, "boundaries", boundary, end=2**63) for boundary in boundaries],
            _sizes(verb, "batch_sizes", batch_sizes),
            0 if token_budget is None else whole_number(verb, "token_budget", token_budget, least=1),
            flag(verb, "pad_to_boundary", pad_to_boundary),
            flag(verb, "drop_last", drop_last),
            ragged,
            None if ragged else _shapes(verb, shapes, self._node.schema[0]),
            None if ragged else _fill(verb, fill),
            at,
        )
        return self._then(node, *bound)

    @names_checked
    def group_by_window(
        self,
        key: str | Callable[..., Any],
        size: int,
        *,
        ragged: bool = False,
        drop_last: bool = False,
        python: Where = False,
    ) -> Dataset:
        """Make batches of `size` elements that have one key.

        Elements wait until there are enough of their key; at the end of the epoch what waits is handed out, smallest key first, in
        batches that are not full.

        Args:
            key: A field of one integer, or a function from element to an integer; traced like `map`.
            size: Elements of a batch.
            ragged: Allow rows of different shapes, as in `batch`.
            drop_last: Leave out what is no full batch at the end.
            python: Run the function as Python without trying to trace it.
        """
        verb = "group_by_window"
        function = (lambda element: field_of(element, key)) if isinstance(key, str) else key
        made, bound, at = self._program(verb, function, python)
        sizes = [whole_number(verb, "size", size, least=1)]
        ragged, drop_last = flag(verb, "ragged", ragged), flag(verb, "drop_last", drop_last)
        node = _core.group_by(self._node, made, False, [], sizes, 0, False, drop_last, ragged, None, None, at)
        return self._then(node, *bound)

    @names_checked
    def pack(
        self,
        length: int | Mapping[str, int],
        *,
        strategy: Literal["first_fit", "best_fit", "concat_and_split"] = "first_fit",
        fields: Sequence[str] | None = None,
        bins: int = 64,
        max_sequences: int | None = None,
        fill: Number | Mapping[str, Number] = 0,
        drop_last: bool = False,
    ) -> Dataset:
        """Lay sequences of numbers side by side in rows of a fixed length.

        A row has for each packed field, say "tokens", also "tokens_segment_ids", i32: 1 for the first sequence, 2 for the second …,
        0 for what is filled up; and "tokens_positions", i32: the place within its sequence, from 0. Other fields are left out.

        Args:
            length: Of a row, for all fields or {field: length}.
            strategy: "first_fit" puts a sequence into the first open row with room for it, "best_fit" into the fullest such; when none
                has room and `bins` rows are open, all open rows are handed out. "concat_and_split" fills one row to its end, and what
                is left of a sequence begins the next; its fields have one length in each element.
            fields: To be packed, of one dimension each; those named in `length`, or all, when not given.
            bins: Rows that are open at the same time. More waste less, and hold more.
            max_sequences: Most sequences in a row; None: any number.
            fill: The number in what is filled up, of all fields or {field: number}.
            drop_last: With "concat_and_split", leave out a last row that is not full.

        A sequence without elements takes a number among the segments and no place.

        Raises:
            ValueError: in a run: a sequence is longer than a row, but with "concat_and_split".
        """
        names, _, _ = self._node.schema
        packed = (
            list(fields) if fields is not None else list(length) if isinstance(length, Mapping) else names
        )
        for name in packed:
            if name not in names:
                raise ValueError(f"pack: no field {name!r}; there are {', '.join(names)}")
        lengths = {name: length[name] if isinstance(length, Mapping) else length for name in packed}
        node = _core.pack(
            self._node,
            text("pack", "strategy", strategy),
            [names.index(name) for name in packed],
            [whole_number("pack", "length", lengths[name], least=1) for name in packed],
            [fill.get(name, 0) if isinstance(fill, Mapping) else fill for name in packed],
            whole_number("pack", "bins", bins, least=1),
            0 if max_sequences is None else whole_number("pack", "max_sequences", max_sequences, least=1),
            flag("pack", "drop_last", drop_last),
            users_line(),
        )
        return self._then(node)


def _sizes(verb: str, name: str, sizes: int | Sequence[int] | None) -> list[int]:
    if sizes is None:
        return []
    each = sizes if isinstance(sizes, Sequence) else [sizes]
    return [whole_number(verb, name, size, least=1) for size in each]


def _shapes(
    verb: str, shapes: Mapping[str, Dims] | Dims | None, names: list[str]
) -> dict[str, list[int | None]]:
    if shapes is None:
        return {}
    if not isinstance(shapes, Mapping):
        if len(names) != 1:
            raise TypeError(f"{verb}: shapes wants a dict of field to shape, got {shapes!r}")
        shapes = {names[0]: shapes}
    return {
        name: [
            None if dim is None or dim == -1 else whole_number(verb, f"shapes[{name!r}]", dim) for dim in dims
        ]
        for name, dims in shapes.items()
    }


def _fill(verb: str, fill: Number | Mapping[str, Number]) -> Any:
    if not isinstance(fill, (bool, int, float, Mapping)) and not hasattr(fill, "dtype"):
        raise TypeError(f"{verb}: fill wants a number, or a dict of field to number, got {fill!r}")
    return plain(fill)
