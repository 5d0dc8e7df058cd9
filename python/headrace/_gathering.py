"""Verbs that combine elements depending on their contents: padded and bucketed batches, packed rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from . import _core, ops
from ._arguments import flag, names_checked, text, whole_number
from ._errors import mismatch
from ._line import users_line
from ._mapping import Where
from ._trace import plain
from ._verbs import Verbs, field_of

if TYPE_CHECKING:
    from .dataset import Dataset

Dims = Sequence[int | None]
Number = int | float | bool


class GatheringVerbs(Verbs):
    """`padded_batch` keeps length and random access; the results of the others have neither."""

    @names_checked
    def padded_batch(
        self,
        size: int,
        shapes: Mapping[str, Dims] | Dims | None = None,
        *,
        fill: Number | Mapping[str, Number] = 0,
        drop_last: bool = False,
    ) -> Dataset:
        """Stack `size` elements along a new first dimension, padding smaller ones at the end of each dimension.

        Fields of bytes and str are not padded and become sequences, as in `batch`.

        Args:
            size: Rows per batch, at least 1.
            shapes: Shapes of rows, {field: [dimension or None, …]}. None (or -1) means the largest size in the batch; this is also the
                default for fields that are not given. A plain list is accepted for elements with one field.
            fill: The padding value, for all fields or {field: number}; 0 for fields that are not given.
            drop_last: Drop a last batch that is not full.

        Raises:
            ValueError: in a run: a row is larger than its shape in `shapes`.

        Example:
            tokens.padded_batch(32, {"ids": [512]}, fill={"ids": -1})
        """
        rows = whole_number("padded_batch", "size", size)
        last = flag("padded_batch", "drop_last", drop_last)
        dims = _shapes("padded_batch", shapes, self._node.schema[0])
        members = {
            "size": rows,
            "drop_last": last,
            "padding": {"shapes": dims, "fill": _fill("padded_batch", fill)},
        }
        return self._then(_core.verb("padded_batch", [self._node], members, users_line()))

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
        """Make padded batches of elements with similar lengths.

        Elements wait in their bucket, first in, first out, until there are enough for a batch. At the end of the epoch the remaining
        elements are handed out, shortest bucket first. At most one incomplete batch per bucket is held.

        Args:
            length: A field, whose first dimension is the length, or a function from element to an integer; traced like `map`.
            boundaries: Bucket i holds the lengths from boundaries[i - 1] to boundaries[i] - 1; one more bucket holds the rest.
            batch_sizes: Elements per batch: one number, or one for each of the len(boundaries) + 1 buckets.
            token_budget: Instead of batch_sizes: the maximum of (elements × longest length) in a batch. A longer element is a batch by
                itself.
            shapes: As in `padded_batch`.
            fill: As in `padded_batch`.
            pad_to_boundary: Pad to the longest length of the bucket; lengths from the last boundary on are an error.
            ragged: Do not pad: each field is a `RaggedColumn`, as in `batch(ragged=True)`.
            drop_last: Drop batches that are not full at the end.
            python: Run the function as Python without trying to trace it.

        Example:
            ds.bucket_by_length("tokens", boundaries=[64, 256], batch_sizes=[128, 32, 8])
        """
        verb = "bucket_by_length"
        function = (
            (lambda element: ops.length(field_of(element, length))) if isinstance(length, str) else length
        )
        made, bound, at = self._program(verb, function, python)
        ragged = flag(verb, "ragged", ragged)
        if isinstance(batch_sizes, Sequence) and len(batch_sizes) != len(boundaries) + 1:
            raise mismatch(
                ValueError,
                verb,
                expected=f"a batch size for each of the {len(boundaries) + 1} buckets, or one number for all",
                got=f"a list of {len(batch_sizes)}",
            )
        budget = None if token_budget is None else whole_number(verb, "token_budget", token_budget, least=1)
        members: dict[str, Any] = {
            "boundaries": [whole_number(verb, "boundaries", boundary, end=2**63) for boundary in boundaries],
            "sizes": _sizes(verb, "batch_sizes", batch_sizes),
            "token_budget": budget or 0,
            "pad_to_boundary": flag(verb, "pad_to_boundary", pad_to_boundary),
            "drop_last": flag(verb, "drop_last", drop_last),
            "ragged": ragged,
        }
        if not ragged:
            members["padding"] = {
                "shapes": _shapes(verb, shapes, self._node.schema[0]),
                "fill": _fill(verb, fill),
            }
        return self._then(_core.verb(verb, [self._node], members, at, made), *bound)

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
        """Make batches of `size` elements with the same key.

        Elements wait until there are enough with their key. At the end of the epoch the remaining elements are handed out in batches
        that are not full, smallest key first.

        Args:
            key: An integer field, or a function from element to an integer; traced like `map`.
            size: Elements per batch, at least 1.
            ragged: Allow rows of different shapes, as in `batch`.
            drop_last: Drop batches that are not full at the end.
            python: Run the function as Python without trying to trace it.

        Example:
            ds.group_by_window("aspect", 32)
        """
        verb = "group_by_window"
        function = (lambda element: field_of(element, key)) if isinstance(key, str) else key
        made, bound, at = self._program(verb, function, python)
        sizes = [whole_number(verb, "size", size, least=1)]
        ragged, drop_last = flag(verb, "ragged", ragged), flag(verb, "drop_last", drop_last)
        members = {"sizes": sizes, "drop_last": drop_last, "ragged": ragged}
        return self._then(_core.verb(verb, [self._node], members, at, made), *bound)

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
        """Pack sequences of numbers into rows of a fixed length.

        For each packed field, such as "tokens", a row also has "tokens_segment_ids", int32 (length,): 1 for the first sequence, 2 for
        the second …, 0 for padding; and "tokens_positions", int32 (length,): the position within its sequence, from 0. Other fields
        are dropped. An empty sequence takes a segment number but no space.

        Args:
            length: Length of a row, for all fields or {field: length}.
            strategy: "first_fit" puts a sequence into the first open row with room for it, "best_fit" into the fullest such row; if none
                has room and `bins` rows are open, all open rows are handed out. "concat_and_split" fills one row to its end, and the
                rest of a sequence begins the next row; all fields of an element must have the same length.
            fields: The fields to pack, one-dimensional; those in `length`, or all, when not given.
            bins: Number of rows that are open at the same time. More rows waste less space and use more memory.
            max_sequences: Maximum number of sequences in a row; None: any number.
            fill: The padding value, for all fields or {field: number}.
            drop_last: With "concat_and_split", drop a last row that is not full.

        Raises:
            ValueError: in a run: a sequence is longer than a row, except with "concat_and_split".

        Example:
            ds.pack(2048, fields=["tokens"]).batch(8)
        """
        names, _, _ = self._node.schema
        packed = (
            list(fields) if fields is not None else list(length) if isinstance(length, Mapping) else names
        )
        for name in packed:
            if name not in names:
                raise ValueError(f"pack: no field {name!r}; there are {', '.join(names)}")
        lengths = {name: length[name] if isinstance(length, Mapping) else length for name in packed}
        most = (
            None if max_sequences is None else whole_number("pack", "max_sequences", max_sequences, least=1)
        )
        members = {
            "strategy": text("pack", "strategy", strategy),
            "fields": [names.index(name) for name in packed],
            "lengths": [whole_number("pack", "length", lengths[name], least=1) for name in packed],
            "fill": [fill.get(name, 0) if isinstance(fill, Mapping) else fill for name in packed],
            "bins": whole_number("pack", "bins", bins, least=1),
            "most": most or 0,
            "drop_last": flag("pack", "drop_last", drop_last),
        }
        return self._then(_core.verb("pack", [self._node], members, users_line()))


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
            raise mismatch(
                TypeError, verb, expected="a dict of field to shape", got=f"{shapes!r}", option="shapes"
            )
        shapes = {names[0]: shapes}
    return {
        name: [
            None if dim is None or dim == -1 else whole_number(verb, f"shapes[{name!r}]", dim) for dim in dims
        ]
        for name, dims in shapes.items()
    }


def _fill(verb: str, fill: Number | Mapping[str, Number]) -> Any:
    if not isinstance(fill, (bool, int, float, Mapping)) and not hasattr(fill, "dtype"):
        raise mismatch(
            TypeError, verb, expected="a number, or a dict of field to number", got=f"{fill!r}", option="fill"
        )
    return plain(fill)
