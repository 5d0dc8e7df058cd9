"""What `ops.parse_example` wants to know of each feature: the three kinds of tf.io, under their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from ._trace import DTypeLike


@dataclass(frozen=True)
class FixedLenFeature:
    """A feature with as many values as `shape` has, in every example.

    Args:
        shape: Shape of its values; () is one value. A feature of bytes of any other shape is read as
            `{"values": bytes, "lengths": i64 of this shape}`.
        dtype: "bytes", "i64" or "f32", or what tf.io has for them: `tf.string`, `tf.int64`, `tf.float32`.
        default_value: Where an example has no such feature: one value for all places, or one for each. None makes
            that an error.
    """

    shape: int | Sequence[int]
    dtype: DTypeLike
    default_value: Any = None

    def params(self) -> dict[str, Any]:
        """Return it as the plan holds it."""
        default = _texts(self.default_value)
        return {"kind": "fixed_len", "dtype": self.dtype, "shape": self.shape, "default_value": default}


@dataclass(frozen=True)
class VarLenFeature:
    """A feature of any number of values: a tensor of rank 1, empty where an example has no such feature.

    Args:
        dtype: "bytes", "i64" or "f32". Bytes are read as `{"values": bytes, "lengths": i64 (n)}`.
    """

    dtype: DTypeLike

    def params(self) -> dict[str, Any]:
        """Return it as the plan holds it."""
        return {"kind": "var_len", "dtype": self.dtype}


@dataclass(frozen=True)
class FixedLenSequenceFeature:
    """A feature of any number of values of `shape` each: a tensor (n, ...shape).

    Args:
        shape: Shape of one value, or of one step of a feature list; () is a number.
        dtype: "bytes", "i64" or "f32". Bytes are read as `{"values": bytes, "lengths": i64 (n, ...shape)}`.
        allow_missing: Whether an example may have no such feature, which then is empty. Else that is an error.
    """

    shape: int | Sequence[int]
    dtype: DTypeLike
    allow_missing: bool = False

    def params(self) -> dict[str, Any]:
        """Return it as the plan holds it."""
        return {
            "kind": "fixed_len_sequence",
            "dtype": self.dtype,
            "shape": self.shape,
            "allow_missing": self.allow_missing,
        }


Feature: TypeAlias = "FixedLenFeature | VarLenFeature | FixedLenSequenceFeature"


def _texts(value: Any) -> Any:
    """Turn bytes, of which JSON knows nothing, into the text they are."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise ValueError(f"default_value wants bytes that are UTF-8, got {value!r}") from None
    return [_texts(item) for item in value] if isinstance(value, (list, tuple)) else value
