"""Files of formats that no package in the test environment writes."""

import struct
from collections.abc import Sequence
from pathlib import Path


def write_beton(path: Path, values: Sequence[bytes]) -> None:
    """Write a .beton file with one field of JSON, a string for each sample."""
    stored = [value + b"\0" for value in values]
    starts = [24 + 1041 + 16 * len(stored)]
    for value in stored[:-1]:
        starts.append(starts[-1] + len(value))
    end = starts[-1] + len(stored[-1])
    head = struct.pack("<HHIQQ", 2, 1, 1 << 21, len(stored), end)
    head += (b"\x05s" + b"\0" * 1041)[:1041]
    head += b"".join(struct.pack("<QQ", at, len(value)) for at, value in zip(starts, stored, strict=True))
    table = b"".join(struct.pack("<QQQ", i, starts[i], len(stored[i])) for i in range(len(stored)))
    path.write_bytes(head + b"".join(stored) + table)
