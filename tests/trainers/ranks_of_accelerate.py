"""One rank of two: what accelerate makes of a loader. Writes rank<N>.json."""

import sys
import warnings
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration

from tests.trainers.common import ROWS, SAMPLES, ids, ours, plan, theirs, write_result


def passes(accelerator: Accelerator, loader: Any, epochs: int = 2) -> list[dict[str, list]]:
    made = []
    for _ in range(epochs):
        steps, gathered, ends = [], [], []
        for batch in loader:
            steps.append(ids(batch))
            gathered.append(accelerator.gather_for_metrics(batch["labels"]).tolist())
            ends.append(accelerator.gradient_state.end_of_dataloader)
        made.append({"steps": steps, "gathered": gathered, "ends": ends})
    return made


def engine(loader: Any) -> int:
    """The batches that the engine made for a prepared loader of ours."""
    report = loader.dataset.report()
    return 0 if report is None else report["elements"]


def main(folder: str) -> None:
    accelerator = Accelerator(cpu=True)
    result = {}
    for samples in (SAMPLES, 16, 17, 3):
        for shuffled in (True, False):
            name = f"{samples} {shuffled}"
            loader = accelerator.prepare(ours(samples, shuffled=shuffled))
            result[f"ours {name}"] = passes(accelerator, loader)
            result[f"made {name}"] = engine(loader)
            result[f"theirs {name}"] = passes(
                accelerator, accelerator.prepare(theirs(samples, shuffled=shuffled))
            )
        for even in ("pad", "wrap", "drop"):
            sharded = accelerator.prepare(plan(samples).shard(even=even).batch(ROWS).torch())
            result[f"{even} {samples}"] = passes(accelerator, sharded)
    split = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(split_batches=True))
    result["split"] = passes(split, split.prepare(ours()))
    dispatch = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(dispatch_batches=True))
    result["dispatch"] = passes(dispatch, dispatch.prepare(ours()))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        list(ours())
    result["warned"] = [str(one.message) for one in caught]
    write_result(folder, result)
    torch.distributed.destroy_process_group()


main(sys.argv[1])
