"""PyTorch alone: DDP, with the loader in a distributed checkpoint.

torchrun --nproc-per-node 2 examples/trainers/ddp.py
"""

import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from data import Model, train
from torch.nn.parallel import DistributedDataParallel

STOP = 13  # in the middle of epoch 1


def main() -> None:
    dist.init_process_group("gloo")
    folder = [tempfile.mkdtemp()]
    dist.broadcast_object_list(folder)
    loader = train().shard().batch(50).torch()
    model = DistributedDataParallel(Model())
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    seen = []
    for _ in range(2):
        for batch in loader:
            model(**batch)["loss"].backward()
            optimizer.step()
            optimizer.zero_grad()
            seen.append(batch["labels"].tolist())
            if len(seen) == STOP:
                dcp.save({"model": model, "loader": loader}, checkpoint_id=folder[0])
    again = train().shard().batch(50).torch()
    dcp.load({"model": model, "loader": again}, checkpoint_id=folder[0])
    rest = [batch["labels"].tolist() for batch in again]
    print(f"rank {dist.get_rank()}: {len(seen)} steps; resumed at step {STOP}: {rest == seen[STOP:]}")
    assert rest == seen[STOP:]
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
