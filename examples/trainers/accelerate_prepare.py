"""accelerate: prepare() divides the batches among processes.

accelerate launch --cpu --num_processes 2 examples/trainers/accelerate_prepare.py
"""

import torch
from accelerate import Accelerator
from data import Model, train, val


def main() -> None:
    accelerator = Accelerator()
    model = Model()
    model, optimizer, batches, held_out = accelerator.prepare(
        model, torch.optim.Adam(model.parameters(), 1e-2), train().batch(50).torch(), val().batch(50).torch()
    )
    for epoch in range(3):
        for batch in batches:
            accelerator.backward(model(**batch)["loss"])
            optimizer.step()
            optimizer.zero_grad()
        right = total = 0
        for batch in held_out:
            guess = model(**batch)["logits"].argmax(1)
            guesses, labels = accelerator.gather_for_metrics((guess, batch["labels"]))  # each sample once
            right, total = right + int((guesses == labels).sum()), total + len(labels)
        accelerator.print(f"epoch {epoch}: {right} of {total} right")
        assert total == 203
    accelerator.end_training()


if __name__ == "__main__":
    main()
