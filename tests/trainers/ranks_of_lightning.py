"""One rank of two under Lightning's DDP. Writes rank<N>.json."""

import sys
from pathlib import Path

import lightning as L
from lightning.pytorch.callbacks import ModelCheckpoint

from tests.trainers.common import ROWS, ours, plan, theirs, write_result
from tests.trainers.test_lightning import Noting


def fitted(folder: Path, train, val, path=None, **options) -> Noting:
    module = Noting()
    trainer = L.Trainer(
        accelerator="cpu", devices=2, strategy="ddp", default_root_dir=folder, logger=False, max_epochs=2,
        enable_progress_bar=False, enable_model_summary=False, **options,
    )  # fmt: skip
    trainer.fit(module, train, val, ckpt_path=path)
    return module


def main(folder: str) -> None:
    where = Path(folder)
    result = {}
    for shuffled in (True, False):
        for who, make in (("ours", ours), ("theirs", theirs)):
            module = fitted(where, make(shuffled=shuffled), make(shuffled=False), enable_checkpointing=False)
            result[f"{who} {shuffled}"] = [module.trained, module.validated]
    sharded = plan().shard().batch(ROWS)
    keeps = ModelCheckpoint(where, "{step}", every_n_train_steps=1, save_top_k=-1)
    module = fitted(where, sharded.torch(), ours(shuffled=False), callbacks=[keeps])
    result["sharded"] = module.trained
    path = where / "step=4.ckpt"
    module = fitted(where, sharded.torch(), ours(shuffled=False), path, enable_checkpointing=False)
    result["resumed"] = module.trained
    write_result(folder, result)


main(sys.argv[1])
