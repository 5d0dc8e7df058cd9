"""Write TFRecord files for the pages of docs/: small digits, and the photographs of a folder.

    python tools/make_demo_records.py --photos photos/train --out records

`digits.tfrecord` holds Examples as the MNIST exercise makes them (`image_raw`, 28 x 28 bytes, and `label`),
`photos.tfrecord` Examples under the names of ImageNet's (`image/encoded`, `image/class/label`). Written by hand, so
that it needs neither TensorFlow nor headrace.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path


def varint(value: int) -> bytes:
    """Write a number as protocol buffers do."""
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number: int, payload: bytes) -> bytes:
    """Write a field of bytes."""
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def example(features: dict[str, bytes | int]) -> bytes:
    """Serialise a tf.train.Example of bytes and integers, one value each."""
    entries = b""
    for name, value in features.items():
        values = field(1, value) if isinstance(value, bytes) else field(1, varint(value))
        kind = 1 if isinstance(value, bytes) else 3
        entries += field(1, field(1, name.encode()) + field(2, field(kind, values)))
    return field(1, entries)


TABLE = []
for byte in range(256):
    crc = byte
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    TABLE.append(crc)


def checksum(data: bytes) -> bytes:
    """Compute the masked CRC-32C of TFRecord."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return (((crc >> 15 | crc << 17) & 0xFFFFFFFF) + 0xA282EAD8 & 0xFFFFFFFF).to_bytes(4, "little")


def framed(record: bytes) -> bytes:
    """Frame one record."""
    length = len(record).to_bytes(8, "little")
    return length + checksum(length) + record + checksum(record)


def digits(count: int) -> list[bytes]:
    """Make rows of pixels, the more the higher the digit, with noise."""
    draw = random.Random(1)
    out = []
    for i in range(count):
        label = i % 10
        pixels = bytes(
            (200 if y < 2 * label + 2 else 0) + draw.randrange(50) for y in range(28) for _ in range(28)
        )
        out.append(example({"image_raw": pixels, "label": label}))
    return out


def photographs(folder: Path) -> list[bytes]:
    """Take each image of a folder of classes."""
    out = []
    for label, group in enumerate(sorted(path for path in folder.iterdir() if path.is_dir())):
        for path in sorted(group.iterdir()):
            names: dict[str, bytes | int] = {
                "image/encoded": path.read_bytes(),
                "image/class/label": label + 1,
            }
            out.append(example({**names, "image/class/synset": group.name.encode()}))
    return out


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--photos", type=Path, required=True, help="a folder of images in a folder per class")
    parser.add_argument(
        "--out", type=Path, required=True, help="folder to write to; made when it is not there"
    )
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "digits.tfrecord").write_bytes(b"".join(map(framed, digits(300))))
    (arguments.out / "photos.tfrecord").write_bytes(b"".join(map(framed, photographs(arguments.photos))))


if __name__ == "__main__":
    main()
