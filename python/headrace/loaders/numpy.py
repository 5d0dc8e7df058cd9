"""Elements as NumPy arrays that share the engine's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .loader import Loader

if TYPE_CHECKING:
    from ..dataset import Dataset


class NumpyLoader(Loader[Any]):
    """Gives elements nested as the dataset says, with NumPy arrays at the leaves.

    The arrays hold the memory of the batch: nothing is copied, and they stay valid as long as somebody holds them. bytes and str come as
    such; when batched, str in lists and bytes as a `BytesColumn`. Ragged batches are lists of arrays. bf16 comes with the dtype of `ml_dtypes` when that is installed,
    else as u16 bits.
    """

    def __init__(self, dataset: Dataset):
        super().__init__(dataset)
        self._bf16 = [i for i, (dtype, _) in enumerate(dataset._node.schema[1]) if dtype == "bf16"]

    def _convert(self, leaves: list[Any]) -> Any:
        for i in self._bf16:
            leaves[i] = as_bf16(leaves[i])
        return self._pack(leaves)


def as_bf16(leaf: Any) -> Any:
    """Show u16 bits as bf16 where NumPy has been taught it."""
    try:
        from ml_dtypes import bfloat16  # type: ignore[import-not-found,unused-ignore] # noqa: PLC0415
    except ImportError:
        return leaf
    return [as_bf16(row) for row in leaf] if isinstance(leaf, list) else leaf.view(bfloat16)
