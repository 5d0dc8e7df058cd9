"""Generated images of ten classes, as a pipeline, and a small model."""

import numpy as np
import torch

import headrace as hr
from headrace import ops

CLASSES = 10


def arrays(samples: int, seed: int) -> dict[str, np.ndarray]:
    """Noise in which the class is a bright row."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, CLASSES, samples)
    images = draw.integers(0, 128, (samples, CLASSES, CLASSES, 1), dtype=np.uint8)
    images[np.arange(samples), labels] += 100
    return {"pixel_values": images, "labels": labels}


def augment(sample):
    """Flip at random: anew in each epoch, and the same in every run."""
    image = ops.random_flip(sample.pixel_values)
    return {"pixel_values": ops.normalize(image, mean=[0.4], std=[0.2]), "labels": sample.labels}


def train() -> hr.Dataset:
    """1,000 samples in an order of their own in each epoch."""
    return hr.from_arrays(arrays(1000, seed=1)).shuffle(seed=17).map(augment)


def val() -> hr.Dataset:
    """203 samples: no multiple of a batch or of the ranks."""
    return hr.from_arrays(arrays(203, seed=2)).map(
        lambda s: {
            "pixel_values": ops.normalize(s.pixel_values, mean=[0.4], std=[0.2]),
            "labels": s.labels,
        }
    )


class Model(torch.nn.Module):
    """One layer; returns loss and logits, as Hugging Face's Trainer expects."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(CLASSES * CLASSES, CLASSES)

    def forward(self, pixel_values: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the loss of a batch, and its logits."""
        logits = self.layer(pixel_values.flatten(1))
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}
