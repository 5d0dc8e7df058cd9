"""Elements as NumPy arrays that share the engine's memory."""

from __future__ import annotations

from typing import Any

from .loader import Loader


class NumpyLoader(Loader[Any]):
    """Yields elements with the nesting of the dataset and NumPy arrays at the leaves; created by `Dataset.numpy`.

    The arrays share the memory of the batch without a copy, and keep it alive. Single bytes and str are Python objects; in batches, str
    is a list and bytes a `BytesColumn`. Fields of ragged batches are a `RaggedColumn`. bfloat16 has the dtype of `ml_dtypes` if that
    is installed, else uint16 bits.
    """
