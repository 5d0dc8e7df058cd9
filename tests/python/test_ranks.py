"""Who says which rank this process is: the table of docs/ranks.md, torch.distributed, and ranks that share their data."""

import json
import os
import pickle
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from headrace._ranks import asked

import headrace as hr

PAGE = Path(__file__).parents[2] / "docs" / "ranks.md"
LAUNCHES = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.read_text().splitlines()
    if line.startswith("| ") and line.count(" | ") == 4 and not line.startswith("| launch |")
]
VARIABLES = re.compile(
    r"(RANK|WORLD_SIZE|LOCAL_RANK|NODE_RANK|GROUP_RANK|LOCAL_WORLD_SIZE|JOB_COMPLETION_INDEX"
    r"|(SLURM|OMPI|PMI|PMIX|MV2|PALS|FLUX|JSM|HOROVOD)_.*)$"
)


def ints(dataset):
    return [int(x) for x in dataset]


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch):
    for name in [name for name in os.environ if VARIABLES.match(name)]:
        monkeypatch.delenv(name)


def variables_of(cell):
    return dict(word.split("=") for word in cell.strip("`–").split())


def test_the_page_has_the_launches():
    assert len(LAUNCHES) >= 25


@pytest.mark.parametrize(("launch", "variables", "rank", "launcher", "why"), LAUNCHES)
def test_a_launch_gives(launch, variables, rank, launcher, why, monkeypatch):
    for name, value in variables_of(variables).items():
        monkeypatch.setenv(name, value)
    if rank == "an error":
        for asks in (hr.ranks, hr.range(8).shard):
            with pytest.raises(ValueError, match="^" + re.escape(why) + "$"):
                asks()
        return
    if rank.endswith(", with a warning"):
        for asks in (hr.ranks, hr.range(8).shard):
            with pytest.warns(UserWarning, match="^shard: expected"):
                asks()
        found, _ = asked()
    else:
        found = hr.ranks()
    assert (f"{found.rank} of {found.world}", found.launcher, found.why) == (
        rank.partition(",")[0],
        launcher,
        why,
    )


ENVIRONMENTS = [
    ({}, (0, 1)),
    ({"RANK": "3", "WORLD_SIZE": "8"}, (3, 8)),
    ({"SLURM_PROCID": "2", "SLURM_NTASKS": "4"}, (2, 4)),
    ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, (1, 2)),
    ({"PMI_RANK": "1", "PMI_SIZE": "2"}, (1, 2)),
    ({"PALS_RANKID": "1", "PALS_NRANKS": "2"}, (1, 2)),
    ({"HOROVOD_RANK": "1", "HOROVOD_SIZE": "2"}, (1, 2)),
    ({"RANK": "1", "WORLD_SIZE": "2", "PMI_RANK": "1", "PMI_SIZE": "2"}, (1, 2)),
    ({"RANK": "1", "WORLD_SIZE": "2", "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, (1, 2)),
    (  # srun torchrun, on two nodes
        {
            "RANK": "5",
            "WORLD_SIZE": "8",
            "GROUP_RANK": "1",
            "LOCAL_WORLD_SIZE": "4",
            "SLURM_JOB_ID": "1",
            "SLURM_STEP_ID": "0",
            "SLURM_PROCID": "1",
            "SLURM_NTASKS": "2",
        },
        (5, 8),
    ),
    (  # mpirun in a batch script
        {
            "OMPI_COMM_WORLD_RANK": "3",
            "OMPI_COMM_WORLD_SIZE": "8",
            "SLURM_JOB_ID": "1",
            "SLURM_PROCID": "0",
            "SLURM_NTASKS": "8",
        },
        (3, 8),
    ),
]


@pytest.mark.parametrize(("environment", "expected"), ENVIRONMENTS)
def test_rank_and_world_come_from_the_launcher(environment, expected):
    assert asked(environment)[0][:2] == expected


def test_launchers_that_disagree_are_an_error():
    with pytest.raises(ValueError, match="torchrun has rank 1 of 2, Slurm has rank 3 of 4"):
        asked({"RANK": "1", "WORLD_SIZE": "2", "SLURM_PROCID": "3", "SLURM_NTASKS": "4"})
    with pytest.raises(ValueError, match="RANK must be a number, got 'one'"):
        asked({"RANK": "one", "WORLD_SIZE": "2"})
    with pytest.raises(ValueError, match="expected WORLD_SIZE beside RANK=1, got none"):
        asked({"RANK": "1"})


def test_a_batch_script_of_slurm_is_one_process():
    batch = {"SLURM_JOB_ID": "1", "SLURM_PROCID": "0", "SLURM_NTASKS": "8"}
    found, warning = asked(batch)
    assert found[:2] == (0, 1)
    assert "got a batch script of 8 tasks: this is one process" in warning
    assert asked(batch | {"SLURM_STEP_ID": "0"})[0][:2] == (0, 8)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"RANK": "one", "WORLD_SIZE": "2"}, "shard: RANK must be a number, got 'one'"),
        ({"PMI_RANK": "0", "PMI_SIZE": ""}, "shard: PMI_SIZE must be a number, got ''"),
        ({"RANK": "8", "WORLD_SIZE": "8"}, "expected a rank from 0 to below the world size, got RANK=8 and WORLD_SIZE=8"),
        ({"PALS_RANKID": "1"}, "expected PALS_NRANKS beside PALS_RANKID=1, got none"),
        (  # the processes of PMIx are not those of the step around them
            {"PMIX_RANK": "5", "SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"},
            "expected the number of processes beside PMIX_RANK=5, got none",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_an_error(environment, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        asked(environment)


def test_an_initialised_torch_distributed_decides(monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    distributed = types.SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: True, get_rank=lambda: 3, get_world_size=lambda: 4
    )
    monkeypatch.setitem(sys.modules, "torch.distributed", distributed)
    found = hr.ranks()
    assert found[:3] == (3, 4, "torch.distributed")
    assert found.why == "torch.distributed is initialised: this is rank 3 of 4."
    assert ints(hr.range(8).shard()) == [3, 7]
    distributed.is_initialized = lambda: False
    assert hr.ranks()[:3] == (0, 2, "torchrun")
    distributed.is_available = lambda: False
    assert hr.ranks().launcher == "torchrun"


def test_ranks_may_share_their_data(monkeypatch):
    ds = hr.range(8)
    assert [ints(ds.shard(rank, 4, replicate=2)) for rank in range(4)] == [[0, 2, 4, 6]] * 2 + [
        [1, 3, 5, 7]
    ] * 2
    assert ints(ds.shard(3, 4, replicate=4)) == list(range(8))
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert ints(ds.shard(replicate=2)) == [1, 3, 5, 7]
    for make, message in (
        (lambda: ds.shard(0, 4, replicate=3), "shard: expected a world size that replicate=3 divides, got 4"),
        (lambda: ds.shard(replicate=3), "shard: expected a world size that replicate=3 divides, got 4"),
        (lambda: ds.shard(0, 1, replicate=2), "shard: expected a world size that replicate=2 divides, got 1"),
        (lambda: ds.shard(4, 4, replicate=2), "expected 0 <= rank < world, got rank 4 of 4"),
        (lambda: ds.shard(0, 4, replicate=0), "replicate must be at least 1, got 0"),
        (lambda: ds.shard(dims=("dp",)), "expected mesh= beside dims=, got none"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            make()


class Mesh:
    """What shard() uses of torch's DeviceMesh."""

    def __init__(self, names, shape, coordinate):
        self.mesh_dim_names, self.shape, self.coordinate = names, shape, coordinate

    def size(self, mesh_dim=None):
        return self.shape[mesh_dim]

    def get_local_rank(self, mesh_dim=None):
        return self.coordinate[mesh_dim]


class MeshWithCoordinates(Mesh):
    def get_coordinate(self):
        return self.coordinate


@pytest.mark.parametrize("kind", [Mesh, MeshWithCoordinates])
def test_a_device_mesh_says_which_ranks_share(kind):
    ds = hr.range(8)
    assert ints(ds.shard(mesh=kind(("dp", "tp"), (2, 4), [1, 3]))) == [1, 3, 5, 7]
    assert ints(ds.shard(mesh=kind(("pp", "dp", "tp"), (2, 4, 2), [1, 2, 0]))) == [2, 6]
    both = kind(("dp_replicate", "dp_shard", "tp"), (2, 2, 2), [1, 0, 1])
    assert ints(ds.shard(mesh=both)) == [2, 6]
    assert ints(ds.shard(mesh=both, dims="dp_shard")) == [0, 2, 4, 6]
    assert ints(ds.shard(mesh=both, dims=("tp", "dp_shard"))) == [1, 5], "in the order of the mesh"


def test_a_mesh_that_does_not_say_it_is_an_error():
    ds = hr.range(8)
    for make, message in (
        (lambda: ds.shard(mesh=Mesh(("a", "b"), (2, 2), [0, 0])), "got 'a', 'b'; say which dimensions have different data: shard(mesh=mesh, dims="),
        (lambda: ds.shard(mesh=Mesh(None, (2, 2), [0, 0])), "no names: pass mesh_dim_names= to init_device_mesh()"),
        (lambda: ds.shard(mesh=Mesh(("dp",), (2,), [0]), dims=("fs",)), "dims must be names of the mesh's dimensions, got ['fs']; it has 'dp'"),
        (lambda: ds.shard(mesh=Mesh(("dp",), (2,), [0]), dims=()), "dims must be names of the mesh's dimensions"),
        (lambda: ds.shard(mesh=MeshWithCoordinates(("dp",), (2,), None)), "this process is not part of the mesh"),
        (lambda: ds.shard(0, 2, mesh=Mesh(("dp",), (2,), [0])), "expected mesh= alone"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=re.escape(message)):
            make()
    with pytest.raises(TypeError, match="mesh must be a DeviceMesh"):
        ds.shard(mesh=(2, 4))


def test_a_mesh_of_torch(tmp_path):
    torch = pytest.importorskip("torch")
    dist = torch.distributed
    dist.init_process_group("gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1)
    try:
        from torch.distributed.device_mesh import init_device_mesh  # noqa: PLC0415

        mesh = init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
        assert hr.ranks()[:3] == (0, 1, "torch.distributed")
        assert ints(hr.range(3).shard(mesh=mesh)) == [0, 1, 2]
        assert ints(hr.range(3).shard(mesh=mesh["dp"])) == [0, 1, 2]
    finally:
        dist.destroy_process_group()


# ---- plans that ask where they run


def train():
    return hr.range(40).shuffle(seed=3).shard().map(lambda x: x * 2).batch(3)


def by_hand(rank, world):
    return hr.range(40).shuffle(seed=3).shard(rank, world).map(lambda x: x * 2).batch(3)


def batches(dataset, epochs=2):
    loader = dataset.numpy()
    return [[batch.tolist() for batch in loader] for _ in range(epochs)]


def as_rank(monkeypatch, rank, world):
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setenv("WORLD_SIZE", str(world))


def run_in_python(code, **variables):
    done = subprocess.run(
        [sys.executable, "-c", "from python.test_ranks import *\n" + code],
        cwd=Path(__file__).parents[1],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_plan_asks_where_it_is_loaded(tmp_path):
    train().save_plan(tmp_path / "plan.json")
    shard = json.loads(train().plan())["plan"]["input"]["input"]
    assert shard["ranks"] == "environment" and not {"rank", "world", "replicate"} & shard.keys()
    assert batches(hr.load_plan(tmp_path / "plan.json")) == batches(by_hand(0, 1))
    code = f"print(json.dumps(batches(hr.load_plan({str(tmp_path / 'plan.json')!r}))))"
    assert run_in_python(code, RANK="2", WORLD_SIZE="4") == batches(by_hand(2, 4))


def test_a_pickle_asks_where_it_is_opened(monkeypatch):
    kept = pickle.dumps(train()), pickle.dumps(by_hand(1, 4)), pickle.dumps(hr.range(8).shard(replicate=2))
    as_rank(monkeypatch, 2, 4)
    asked_here, named, shared = map(pickle.loads, kept)
    assert batches(asked_here) == batches(by_hand(2, 4))
    assert batches(named) == batches(by_hand(1, 4)), "numbers stay as they are"
    assert ints(shared) == [1, 3, 5, 7]
    assert "rank 2 of 4 of the environment" in repr(asked_here)
    assert "rank 1 of 2 of the environment, replicate=2" in repr(shared)


def child(dataset, rank, world, queue):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world))
    queue.put((len(dataset), batches(dataset)))


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_a_started_process_has_its_own_rank(how):
    started = run_in_python(
        "import multiprocessing\n"
        f"context = multiprocessing.get_context({how!r})\n"
        "dataset, queue, found = train(), context.SimpleQueue(), []\n"
        "assert len(dataset) == 14\n"
        "for rank in range(2):\n"
        "    process = context.Process(target=child, args=(dataset, rank, 2, queue))\n"
        "    process.start()\n"
        "    found.append(queue.get())\n"
        "    process.join()\n"
        "print(json.dumps(found))"
    )
    assert started == [[len(by_hand(rank, 2)), batches(by_hand(rank, 2))] for rank in range(2)]


def test_ranks_are_asked_when_a_dataset_runs(monkeypatch):
    ds = train()
    loader, moved = ds.numpy(), ds.numpy()
    assert (len(ds), ds[0].shape) == (14, (3,))
    next(iter(moved))
    as_rank(monkeypatch, 1, 4)  # as when a trainer initialises torch.distributed
    assert len(ds) == len(loader) == len(by_hand(1, 4))
    assert ds[1].tolist() == by_hand(1, 4)[1].tolist()
    assert [[batch.tolist() for batch in loader] for _ in range(2)] == batches(by_hand(1, 4))
    assert [batch.tolist() for batch in moved] == batches(by_hand(1, 4))[1], "its first epoch had begun"
    as_rank(monkeypatch, 0, 2)
    loader.set_epoch(1)
    assert [batch.tolist() for batch in loader] == batches(by_hand(0, 2))[1]


def test_states_fit_whoever_says_the_rank(monkeypatch):
    named, asking = by_hand(0, 1).numpy(), train()
    assert named.dataset.fingerprint() == asking.fingerprint()
    iteration = iter(named)
    first = [next(iteration).tolist() for _ in range(4)]
    state = iteration.state_dict()
    want = []
    for rank in range(2):
        by_name = by_hand(rank, 2).numpy()
        by_name.load_state_dict(state)
        want.append([batch.tolist() for batch in by_name])
    got = []
    for rank in range(2):
        as_rank(monkeypatch, rank, 2)
        loader = asking.numpy()
        loader.load_state_dict(state)
        got.append([batch.tolist() for batch in loader])
    assert got == want
    assert sorted(x for batch in first + got[0] + got[1] for x in batch)[::1] == [2 * x for x in range(40)]


def test_members_that_contradict_are_refused():
    plan = json.loads(hr.range(8).shard().plan())
    for members, message in (
        ({"rank": 1, "world": 2}, "plan: shard: expected no 'rank' beside 'ranks', got 1"),
        ({"ranks": "mpi"}, 'shard: ranks must be "environment", got "mpi"'),
        ({"ranks": None}, "plan: shard: 'rank' is missing"),
        ({"replicate": 0}, "shard: expected replicate of at least 1, got 0"),
    ):
        odd = json.loads(json.dumps(plan))
        odd["plan"].update(members)
        with pytest.raises(ValueError, match=message):
            hr.sources.open_plan(json.dumps(odd), {}, {})


# ---- other paths for reads


def test_a_read_may_have_another_path(tmp_path):
    for name, rows in (("a", 3), ("b", 4)):
        np.save(tmp_path / f"{name}.npy", np.arange(rows))
    both = (
        hr.read(tmp_path / "a.npy")
        .map(lambda s: {"array": s["array"] + 1}, python=True)
        .concatenate(hr.read(tmp_path / "b.npy"))
    )
    both.save_plan(tmp_path / "plan.json")
    (tmp_path / "moved").mkdir()
    for name in "ab":
        (tmp_path / f"{name}.npy").rename(tmp_path / "moved" / f"{name}.npy")
    bind = {"map_0": lambda s: {"array": s["array"] + 1}, "read_0": tmp_path / "moved" / "a.npy"}
    with pytest.raises(FileNotFoundError):
        hr.load_plan(tmp_path / "plan.json", bind=bind)
    bind["read_1"] = str(tmp_path / "moved" / "b.npy")
    loaded = hr.load_plan(tmp_path / "plan.json", bind=bind)
    assert [int(x["array"]) for x in loaded] == [1, 2, 3, 0, 1, 2, 3]
    assert loaded.slots.keys() == {"map_0"}
    assert "moved/b.npy" in loaded.plan()
    for more, error, message in (
        ({"read_2": "x"}, ValueError, "has 'read_2', but the plan has no such slot; its slots are 'map_0'; its reads are 'read_0' ('"),
        ({"read_0": 3}, TypeError, "expected a path or a list of paths, got 3"),
        ({"read_0": []}, TypeError, "expected a path or a list of paths, got []"),
    ):  # fmt: skip
        with pytest.raises(error, match=re.escape(message).replace("expected", ".*")):
            hr.load_plan(tmp_path / "plan.json", bind=bind | more)


def test_other_data_at_the_path_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2.5\n")
    (tmp_path / "b.csv").write_text("x\n1\n")
    hr.read(tmp_path / "a.csv").map(lambda s: s.y * 2.0).save_plan(tmp_path / "plan.json")
    with pytest.raises(ValueError, match="no field 1 in"):
        hr.load_plan(tmp_path / "plan.json", bind={"read_0": tmp_path / "b.csv"})
