"""Lightning: fit, validate, and resume in mid-epoch from its checkpoint, exactly.

python examples/trainers/lightning_fit.py
"""

import tempfile

import lightning as L  # noqa: N812 -- its usual name
import torch
from data import Model, train, val
from lightning.pytorch.callbacks import ModelCheckpoint


class Module(L.LightningModule):
    """A model that notes the labels it is trained on."""

    def __init__(self):
        super().__init__()
        self.model = Model()
        self.seen: list[list[int]] = []

    def training_step(self, batch, _):
        """Return the loss of a batch."""
        self.seen.append(batch["labels"].tolist())
        return self.model(**batch)["loss"]

    def validation_step(self, batch, _):
        """Log the accuracy of a batch; Lightning weighs it by rows."""
        right = self.model(**batch)["logits"].argmax(1) == batch["labels"]
        self.log("accuracy", right.float().mean(), batch_size=len(right))

    def configure_optimizers(self):
        """Return Adam."""
        return torch.optim.Adam(self.parameters(), 1e-2)


def fitted(folder: str, **options) -> tuple[Module, L.Trainer]:
    module = Module()
    keeps = ModelCheckpoint(folder, "{step}", every_n_train_steps=10, save_top_k=-1)
    trainer = L.Trainer(
        accelerator="cpu", max_epochs=3, callbacks=[keeps], logger=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=folder,
    )  # fmt: skip
    trainer.fit(module, train().batch(50).torch(), val().batch(50).torch(), **options)
    return module, trainer


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        whole, trainer = fitted(folder)
        print(f"{trainer.global_step} steps, accuracy {float(trainer.callback_metrics['accuracy']):.2f}")
        resumed, _ = fitted(folder, ckpt_path=f"{folder}/step=30.ckpt")  # in the middle of epoch 1
        print(f"resumed at step 30: the same {len(resumed.seen)} batches: {resumed.seen == whole.seen[30:]}")
        assert resumed.seen == whole.seen[30:]
