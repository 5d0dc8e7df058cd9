"""A folder of images as one HDF5 file, and a map-style data set over it.

python examples/imagenet_hdf5.py demo-data/train imagenet.h5

The file has a dataset `image` (the bytes of the files, as variable-length uint8) and a dataset `label`, so h5py and other HDF5 programs
can read it. Headrace reads it without an HDF5 library and without a lock, with one read per sample.
"""

import sys
from pathlib import Path

import numpy as np

import headrace as hr
from headrace import ops


class ImageNet:
    """A map-style data set for other loaders, such as torch's DataLoader. Workers and threads may share it."""

    def __init__(self, path: Path) -> None:
        """Open the file without reading images."""
        data = hr.read(path)
        self.samples = data.map(
            lambda s: {"image": ops.resize(ops.decode_image(s.image), size=(224, 224)), "label": s.label}
        )

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.samples)

    def __getitem__(self, i: int) -> tuple[np.ndarray, int]:
        """Return a decoded image, uint8 (224, 224, 3), and its class."""
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
