"""Hugging Face's Trainer, in both ways: our loader, and our samples in its own.

python examples/trainers/hf_trainer.py
"""

import tempfile

from data import Model, train, val
from transformers import Trainer, TrainingArguments

ROWS = 50


class FastTrainer(Trainer):
    """A Trainer whose batches the engine makes; in several processes, prepare() gives each its part."""

    def get_train_dataloader(self):
        """Return the loader of training."""
        return self.accelerator.prepare(train().batch(ROWS).torch())

    def get_eval_dataloader(self, eval_dataset=None):
        """Return the loader of evaluation."""
        return self.accelerator.prepare(val().batch(ROWS).torch())


def arguments(folder: str) -> TrainingArguments:
    return TrainingArguments(
        folder, num_train_epochs=3, per_device_train_batch_size=ROWS, per_device_eval_batch_size=ROWS, learning_rate=1e-2,
        save_steps=30, report_to=[], use_cpu=True, disable_tqdm=True,
    )  # fmt: skip


def accuracy(result) -> dict[str, float]:
    return {"accuracy": float((result.predictions.argmax(1) == result.label_ids).mean())}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        trainer = FastTrainer(Model(), arguments(folder), compute_metrics=accuracy)
        trainer.train()
        print(f"{trainer.state.global_step} steps, accuracy {trainer.evaluate()['eval_accuracy']:.2f}")
        resumed = FastTrainer(Model(), arguments(folder))
        resumed.train(resume_from_checkpoint=f"{folder}/checkpoint-30")  # in the middle of epoch 1
        same = all(
            (a == b).all()
            for a, b in zip(trainer.model.parameters(), resumed.model.parameters(), strict=True)
        )
        print(f"resumed at step 30: the same weights at the end: {same}")
        assert same
        plain = Trainer(
            Model(), arguments(folder), train_dataset=train().torch_dataset(), eval_dataset=val().torch_dataset(),
            compute_metrics=accuracy,
        )  # fmt: skip
        plain.train()
        print(f"in its own DataLoader: accuracy {plain.evaluate()['eval_accuracy']:.2f}")
