"""Elements as NumPy arrays that share the engine's memory."""

from __future__ import annotations

from typing import Any

from .loader import Loader


class NumpyLoader(Loader[Any]):
    """Gives elements nested as the dataset says, with NumPy arrays at the leaves.

    The arrays hold the memory of the batch: nothing is copied, and they stay valid as long as somebody holds them. bytes and str come as
    such; when batched, str in lists and bytes as a `BytesColumn`. Ragged batches are a `RaggedColumn`. bf16 comes with the dtype of `ml_dtypes` when that is installed,
    else as u16 bits.
    """
