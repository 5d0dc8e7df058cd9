"""torch DataLoader: decode -> crop + resize -> flip -> normalise, worker processes, default collate.

Its last argument is the library that decodes and resizes. pillow: crop and resize in one call (`resize(box=...)`). opencv: bilinear,
not antialiased. The rest is in torch, on uint8 until the last step.
"""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from .boxes import center_box, random_box
from .segment import BATCH, MEAN, SIDE, STD, files, serve, task

data, workers, work, (library,) = task()
torch.set_num_threads(1)
paths = files(data)
draw_box = random_box if work == "train" else center_box
mean = torch.tensor(MEAN).view(3, 1, 1) * 255
inverse = 1 / (torch.tensor(STD).view(3, 1, 1) * 255)

if library == "pillow":
    from PIL import Image

    def crop(path: str) -> Any:
        with Image.open(path) as file:
            image = file.convert("RGB")
        x, y, w, h = draw_box(*image.size)
        return np.array(image.resize((SIDE, SIDE), Image.Resampling.BILINEAR, box=(x, y, x + w, y + h)))
else:
    import cv2

    cv2.setNumThreads(0)

    def crop(path: str) -> Any:
        image: Any = cv2.imread(path, cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION)
        x, y, w, h = draw_box(image.shape[1], image.shape[0])
        return cv2.resize(image[y : y + h, x : x + w], (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)


class Files(Dataset[Any]):
    def __len__(self) -> int:
        return len(paths)

    def __getitem__(self, index: int) -> Any:
        pixels = torch.from_numpy(crop(paths[index])).permute(2, 0, 1)
        if work == "train" and random.random() < 0.5:
            pixels = pixels.flip(2)
        return (pixels.to(torch.float32) - mean) * inverse


class Forever(Sampler[int]):
    def __iter__(self) -> Iterator[int]:
        while True:
            yield from torch.randperm(len(paths)).tolist() if work == "train" else range(len(paths))


loader = DataLoader(
    Files(), batch_size=BATCH, sampler=Forever(), num_workers=workers, drop_last=True, prefetch_factor=2
)
serve(iter(loader), BATCH)
