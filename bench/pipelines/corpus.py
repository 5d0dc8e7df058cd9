"""Statistics of a folder of JPEGs, from the headers of its files."""

from collections import Counter
from pathlib import Path

MARKERS_OF_FRAMES = {0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}
NAMES = {(1, 1): "4:4:4", (2, 1): "4:2:2", (2, 2): "4:2:0", (1, 2): "4:4:0"}


def sampling(raw: bytes) -> str:
    """The chroma sampling of one JPEG, such as "4:2:0"."""
    at = 2
    while at + 4 <= len(raw):
        marker, length = raw[at + 1], int.from_bytes(raw[at + 2 : at + 4])
        if marker in MARKERS_OF_FRAMES:
            factors = [divmod(raw[at + 11 + 3 * i], 16) for i in range(raw[at + 9])]
            if len(factors) == 1:
                name = "grey"
            elif len(factors) == 3 and factors[1:] == [(1, 1), (1, 1)]:
                name = NAMES.get(factors[0], "other")
            else:
                name = "other"
            return name + (" progressive" if marker == 0xC2 else "")
        at += 2 + length
    return "no frame"


def describe(paths: list[str]) -> dict[str, int]:
    """The number of pictures, their mean size in bytes, and the number for each sampling."""
    raws = [Path(path).read_bytes() for path in paths]
    mix = Counter(sampling(raw) for raw in raws)
    return {"pictures": len(raws), "mean_bytes": sum(map(len, raws)) // len(raws), **dict(mix.most_common())}
