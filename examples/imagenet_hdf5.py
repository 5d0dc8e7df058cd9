"""A folder of images in one HDF5 file, and a map-style data set over it: what courses on large image sets let people write by hand.

python examples/imagenet_hdf5.py demo-data/train imagenet.h5

The file has a dataset `image` (the files' bytes as they are, runs of uint8) and a dataset `label`, so h5py and every other HDF5 program
reads it. Reading it here needs no HDF5 library, takes no lock, and a sample is one read.
"""

import sys
from pathlib import Path

import numpy as np

import headrace as hr
from headrace import ops


class ImageNet:
    """A `__getitem__` for whoever has a loader of their own, torch's DataLoader, say. Workers and threads may share it."""

    def __init__(self, path: Path) -> None:
        """Open the file; no image is read."""
        data = hr.read(path)
        self.samples = data.map(
            lambda s: {"image": ops.resize(ops.decode_image(s.image), size=(224, 224)), "label": s.label}
        )

    def __len__(self) -> int:
        """Count the images."""
        return len(self.samples)

    def __getitem__(self, i: int) -> tuple[np.ndarray, int]:
        """Decode an image; u8 (224, 224, 3), and its class."""
        sample = self.samples[i]
        return sample["image"], int(sample["label"])


folder, path = Path(sys.argv[1]), Path(sys.argv[2])
if not path.exists():
    hr.read(folder).write(path)
data = ImageNet(path)
order = np.random.default_rng(17).permutation(len(data))
images, labels = zip(*(data[int(i)] for i in order[:8]), strict=True)
print(f"{len(data)} images; {images[0].shape} {images[0].dtype}; labels {sorted(set(labels))}")
print(f"mean {np.mean(images):.1f}")
