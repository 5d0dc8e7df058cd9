"""Files that a pipeline begins with: both sides make them from the bytes in its text."""

from __future__ import annotations

import gzip
import hashlib
import tempfile
import zlib
from functools import cache
from pathlib import Path


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="headrace_oracle_")


def file_of(data: bytes, compression: str = "") -> str:
    """Return the path of a file of these bytes, packed as the word says, "GZIP" or "ZLIB"."""
    if compression:
        data = gzip.compress(data, mtime=0) if compression == "GZIP" else zlib.compress(data)
    path = Path(_folder().name) / hashlib.sha256(data).hexdigest()[:16]
    path.write_bytes(data)
    return str(path)
