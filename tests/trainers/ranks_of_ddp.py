"""One rank of two under torchrun: DDP, torch.distributed.checkpoint, and ranks that are known late. Writes rank<N>.json."""

import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from tests.trainers.common import ROWS, Plain, ids, plan, write_result

EPOCHS = 2


def trained(loader, sampler=None, resumed_at=0, save=None) -> list[list[int]]:
    model = DistributedDataParallel(torch.nn.Linear(2, 1))
    steps = []
    for epoch in range(resumed_at, EPOCHS):
        (sampler or loader.sampler).set_epoch(epoch)
        for batch in loader:
            model(batch["x"]).square().mean().backward()
            steps.append(ids(batch))
            if save is not None and len(steps) == save[0]:
                dcp.save({"loader": loader}, checkpoint_id=save[1])
    return steps


def main(folder: str) -> None:
    late = plan().shard().batch(ROWS).torch()
    dist.init_process_group("gloo")
    result = {}
    data = Plain()
    for shuffled in (True, False):
        sampler = DistributedSampler(data, shuffle=shuffled)
        result[f"theirs {shuffled}"] = trained(DataLoader(data, ROWS, sampler=sampler), sampler)
        result[f"ours {shuffled}"] = trained(plan(shuffled=shuffled).shard().batch(ROWS).torch())
    result["late"] = trained(late)
    for given in (2, 3, 4, 6):
        where = Path(folder) / f"at{given}"
        trained(plan().shard().batch(ROWS).torch(), save=(given, where))
        loader = plan().shard().batch(ROWS).torch()
        dcp.load({"loader": loader}, checkpoint_id=where)
        epoch = loader.epoch
        result[f"resumed {given}"] = [epoch, trained(loader, resumed_at=epoch)]
    write_result(folder, result)
    dist.destroy_process_group()


main(sys.argv[1])
