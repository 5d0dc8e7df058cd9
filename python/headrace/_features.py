"""Feature descriptions for `ops.parse_example`: the three kinds of tf.io, with the same names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from ._trace import DTypeLike


@dataclass(frozen=True)
class FixedLenFeature:
    """A feature with a fixed number of values in every example.

    Args:
        shape: Shape of its values; () is one value. Bytes of any other shape are read as
            `{"values": bytes, "lengths": int64}`, with lengths of this shape.
        dtype: "bytes", "int64" or "float32", or the dtype of tf.io: `tf.string`, `tf.int64`, `tf.float32`.
        default_value: For examples without this feature: one value for all positions, or one for each. None makes a
            missing feature an error.

    Example:
        hr.FixedLenFeature((4,), "float32", default_value=0)
    """

    shape: int | Sequence[int]
    dtype: DTypeLike
    default_value: Any = None

    def params(self) -> dict[str, Any]:
        """Return it as in a plan."""
        default = _texts(self.default_value)
        return {"kind": "fixed_len", "dtype": self.dtype, "shape": self.shape, "default_value": default}


@dataclass(frozen=True)
class VarLenFeature:
    """A feature with any number of values: an array of shape (n,), empty if an example lacks it.

    Args:
        dtype: "bytes", "int64" or "float32". Bytes are read as `{"values": bytes, "lengths": int64 (n,)}`.

    Example:
        hr.VarLenFeature("int64")
    """

    dtype: DTypeLike

    def params(self) -> dict[str, Any]:
        """Return it as in a plan."""
        return {"kind": "var_len", "dtype": self.dtype}


@dataclass(frozen=True)
class FixedLenSequenceFeature:
    """A feature with any number of values of one shape: an array of shape (n, *shape).

    Args:
        shape: Shape of one value, or of one step of a feature list; () is a scalar.
        dtype: "bytes", "int64" or "float32". Bytes are read as `{"values": bytes, "lengths": int64 (n, *shape)}`.
        allow_missing: Whether an example may lack this feature, which is then empty. Else that is an error.

    Example:
        hr.FixedLenSequenceFeature((), "int64", allow_missing=True)
    """

    shape: int | Sequence[int]
    dtype: DTypeLike
    allow_missing: bool = False

    def params(self) -> dict[str, Any]:
        """Return it as in a plan."""
        return {
            "kind": "fixed_len_sequence",
            "dtype": self.dtype,
            "shape": self.shape,
            "allow_missing": self.allow_missing,
        }


Feature: TypeAlias = "FixedLenFeature | VarLenFeature | FixedLenSequenceFeature"


def _texts(value: Any) -> Any:
    """Decode bytes, which JSON does not have, to str."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise ValueError(f"default_value must be UTF-8 bytes, got {value!r}") from None
    return [_texts(item) for item in value] if isinstance(value, (list, tuple)) else value
