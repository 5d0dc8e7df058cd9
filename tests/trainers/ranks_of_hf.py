"""One rank of two of Hugging Face's Trainer. Writes rank<N>.json."""

import sys
import warnings

import torch
from transformers import Trainer

from tests.trainers.common import ROWS, Plain, plan, write_result
from tests.trainers.test_hf_trainer import Noting, Prepared, arguments, drawn


class Sharded(Trainer):
    def get_train_dataloader(self):
        return self.accelerator.prepare(plan().shard().batch(ROWS).torch())


def main(folder: str) -> None:
    result = {}
    for name, kind, data in (
        ("ours", Prepared, None),
        ("sharded", Sharded, None),
        ("theirs", Trainer, Plain()),
        ("map", Trainer, drawn().torch_dataset()),
    ):
        torch.manual_seed(0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = Noting()
            trainer = kind(
                model,
                arguments(f"{folder}/{name}", num_train_epochs=2),
                train_dataset=data,
                eval_dataset=data,
            )
            if name in {"ours", "theirs"}:
                result[f"{name} loss"] = trainer.evaluate()["eval_loss"]
            trainer.train()
        result[name] = model.steps
        result[f"{name} warned"] = [str(one.message) for one in caught if "set_epoch" in str(one.message)]
    write_result(folder, result)
    torch.distributed.destroy_process_group()


main(sys.argv[1])
