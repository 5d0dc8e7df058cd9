"""The crops that contenders written in Python draw: RandomResizedCrop's, and eval's."""

import math
import random

from .segment import CENTER

Box = tuple[int, int, int, int]  # left, top, width, height


def random_box(width: int, height: int) -> Box:
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1.0)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, width - w), random.randint(0, height - h), w, h
    return 0, 0, width, height


def center_box(width: int, height: int) -> Box:
    """The box that resize to 256 and a centre crop of 224 keep, in one step."""
    side = round(min(width, height) * CENTER)
    return (width - side) // 2, (height - side) // 2, side, side
