"""torch DataLoader: Pillow decode -> crop + resize -> flip -> normalise, worker processes, default collate.

Its fastest path with Pillow: crop and resize in one call (`resize(box=...)`), the rest in torch on u8 until the last step.
"""

import math
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, Sampler

from .segment import BATCH, MEAN, SIDE, STD, files, serve

data, workers = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(1)
paths = files(data)
mean = torch.tensor(MEAN).view(3, 1, 1) * 255
inverse = 1 / (torch.tensor(STD).view(3, 1, 1) * 255)


def crop_box(width: int, height: int) -> tuple[int, int, int, int]:
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1.0)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            x, y = random.randint(0, width - w), random.randint(0, height - h)
            return x, y, x + w, y + h
    return 0, 0, width, height


class Files(Dataset[Any]):
    def __len__(self) -> int:
        return len(paths)

    def __getitem__(self, index: int) -> Any:
        with Image.open(paths[index]) as file:
            image = file.convert("RGB")
        image = image.resize((SIDE, SIDE), Image.Resampling.BILINEAR, box=crop_box(*image.size))
        pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1)
        if random.random() < 0.5:
            pixels = pixels.flip(2)
        return (pixels.to(torch.float32) - mean) * inverse


class Forever(Sampler[int]):
    def __iter__(self) -> Iterator[int]:
        while True:
            yield from torch.randperm(len(paths)).tolist()


loader = DataLoader(
    Files(), batch_size=BATCH, sampler=Forever(), num_workers=workers, drop_last=True, prefetch_factor=2
)
serve(iter(loader), BATCH)
