"""Make the small images of this folder: python make.py, with Pillow 13.0.0. Slopes, edges and noise, as a photograph has."""

import random

from PIL import Image

random.seed(4)


def pixel(x: int, y: int) -> tuple[int, int, int]:
    noise = random.randint(-12, 12)
    disc = 70 if (x - 30) ** 2 + (y - 25) ** 2 < 300 else 0
    return tuple(max(0, min(255, v + noise)) for v in (3 * x + disc, 255 - 2 * y - disc, 2 * x + 2 * y))


def image(width: int, height: int) -> Image.Image:
    out = Image.new("RGB", (width, height))
    out.putdata([pixel(x, y) for y in range(height) for x in range(width)])
    return out


image(75, 61).save("a_420.jpg", quality=70)
image(48, 80).save("b_444.jpg", quality=60, subsampling=0)
image(64, 50).convert("L").save("c_gray.jpg", quality=75)
image(57, 57).save("d_progressive.jpg", quality=65, subsampling=1, progressive=True)
image(33, 40).save("e.png")
