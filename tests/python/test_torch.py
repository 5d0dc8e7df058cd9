import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

import headrace as hr  # noqa: E402
from headrace import ops  # noqa: E402


@pytest.fixture
def ds():
    data = {"x": np.arange(20, dtype=np.float32).reshape(10, 2), "y": np.arange(10)}
    return hr.from_arrays(data).shuffle(seed=1)


def test_tensors_share_the_memory_of_the_batch(ds):
    loader = ds.batch(4).torch()
    batches = list(loader)
    assert len(loader) == 3 and [tuple(b["x"].shape) for b in batches] == [(4, 2), (4, 2), (2, 2)]
    assert batches[0]["x"].dtype == torch.float32 and batches[0]["y"].dtype == torch.int64
    assert loader.report()["memory"]["allocations"] == 6  # two fields of three batches, and no copy
    want = list(ds.batch(4).numpy())
    assert all((a["x"].numpy() == b["x"]).all() for a, b in zip(batches, want))
    batches[0]["x"] += 1  # it is ours


def test_single_elements_and_text_are_converted(ds):
    one = next(iter(ds.torch()))
    assert one["y"].shape == () and one["x"].shape == (2,)
    text = next(iter(hr.from_arrays([b"a", b"b"]).batch(2).torch()))
    assert text == [b"a", b"b"]
    items = hr.from_dataset([np.zeros(2)] * 2)  # shared with the dataset: read-only, so it is copied
    for tensor in items.torch():
        tensor.add_(1)
    assert not items[0].any()


def test_bf16_is_native():
    x = np.array([1.0, 2.5], np.float32)
    (batch,) = hr.from_arrays(x).map(lambda v: ops.cast(v, dtype="bf16")).batch(2).torch()
    assert batch.dtype == torch.bfloat16 and batch.tolist() == [1.0, 2.5]


def test_state_and_epochs_are_those_of_the_numpy_loader(ds):
    loader = ds.batch(3).torch()
    first = [b["y"].tolist() for b in loader]
    iteration = iter(loader)
    next(iteration)
    other = ds.batch(3).numpy()
    other.load_state_dict(iteration.state_dict())
    rest = [b["y"].tolist() for b in other]
    loader.set_epoch(1)
    assert [b["y"].tolist() for b in loader][1:] == rest != first[1:]


def test_torchs_own_dataset_goes_in():
    ds = hr.from_dataset(TensorDataset(torch.arange(6).reshape(3, 2), torch.tensor([1.0, 2.0, 3.0])))
    x, y = ds[2]
    assert x.tolist() == [4, 5] and y == 3.0


def test_a_function_may_work_on_tensors():
    ds = hr.range(4).map(lambda x: torch.full((2,), int(x)), python=True)
    assert ds[3].tolist() == [3, 3]
    with pytest.warns(hr.PythonFunctionWarning, match="draws random numbers"):
        hr.range(4).map(lambda x: x + float(torch.rand(())))


@pytest.mark.parametrize(("workers", "context"), [(0, None), (2, "spawn"), (2, "fork")])
def test_pytorchs_dataloader_takes_a_dataset(ds, workers, context):
    loader = DataLoader(ds, batch_size=4, num_workers=workers, multiprocessing_context=context)
    seen = torch.cat([b["y"] for b in loader]).tolist()
    assert seen == [int(s["y"]) for s in ds]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_cuda_device_gets_the_same_batches(ds):
    loader = ds.batch(3).torch(device="cuda")
    want = [b["x"].tolist() for b in ds.batch(3).numpy()]
    iteration, got = iter(loader), []
    for batch in iteration:
        assert batch["x"].is_cuda
        got.append(batch["x"].cpu().tolist())
        if len(got) == 2:
            state = iteration.state_dict()
    assert got == want
    other = ds.batch(3).numpy()
    other.load_state_dict(state)
    assert [b["x"].tolist() for b in other] == want[2:]


@pytest.mark.skipif(torch.cuda.is_available(), reason="CUDA is here")
def test_cuda_that_is_not_there():
    with pytest.raises(RuntimeError, match="torch: device 'cuda' needs CUDA, but PyTorch finds no"):
        hr.range(4).torch("cuda")
    with pytest.raises(RuntimeError, match="torch: pin_memory=True needs CUDA"):
        hr.range(4).torch(pin_memory=True)


def test_a_loader_says_where_its_tensors_go():
    assert repr(hr.range(4).torch()).startswith("<TorchLoader to cpu at epoch 0 of\n<Dataset of length 4")


def test_a_ragged_batch_has_its_values_and_splits():
    rows = [np.arange(n, dtype=np.float32) for n in (1, 0, 3)]
    (column,) = hr.from_list(rows).batch(3, ragged=True).torch()
    assert isinstance(column, list)
    assert [row.tolist() for row in column] == [row.tolist() for row in rows]
    assert column.values.tolist() == [0.0, 0.0, 1.0, 2.0]
    assert column.row_splits.tolist() == [0, 1, 1, 4]
    nested = torch.nested.nested_tensor_from_jagged(column.values, column.row_splits)
    assert [row.tolist() for row in nested.unbind()] == [row.tolist() for row in rows]
    column.values += 1  # it is the receiver's alone
    assert column[2].tolist() == [1.0, 2.0, 3.0]
    assert rows[2].tolist() == [0.0, 1.0, 2.0]
    (numbers,) = hr.range(3).batch(3, ragged=True).torch()
    assert numbers.values.tolist() == [0, 1, 2]
    (images,) = hr.from_list([np.ones((2, n)) for n in (3, 4)]).batch(2, ragged=True).torch()
    assert [tuple(image.shape) for image in images] == [(2, 3), (2, 4)]


def test_rows_of_a_ragged_batch_go_to_a_device_as_one():
    ragged = [np.arange(n, dtype=np.float32) for n in (1, 0, 3)]
    loader = hr.from_list(ragged).batch(3, ragged=True).torch()
    loader._tensors._moves = True  # as if there was another device
    (column,) = hr.from_list(ragged).batch(3, ragged=True)
    rows = loader._tensors.of(column)
    assert [row.tolist() for row in rows] == [row.tolist() for row in ragged]
    assert len({row.untyped_storage().data_ptr() for row in rows}) == 1
    (numbers,) = hr.range(3).batch(3, ragged=True)
    assert [(row.ndim, int(row)) for row in loader._tensors.of(numbers)] == [(0, 0), (0, 1), (0, 2)]
    (images,) = hr.from_list([np.ones((2, n)) for n in (3, 4)]).batch(2, ragged=True)
    assert [tuple(row.shape) for row in loader._tensors.of(images)] == [(2, 3), (2, 4)]


def test_pytorchs_dataloader_does_not_take_a_loader(ds):
    with pytest.raises(TypeError, match="a loader replaces DataLoader"):
        list(DataLoader(ds.batch(4).torch(), batch_size=None))


def shuffled(epoch_sampler, epochs=2, **options):
    loader = hr.range(50).reorder(epoch_sampler, **options).numpy()
    return [[int(x) for x in loader] for _ in range(epochs)]


def samplers():
    data = range(50)
    generator = torch.Generator().manual_seed(3)
    weights = torch.arange(1.0, 51)
    return [
        torch.utils.data.RandomSampler(data),
        torch.utils.data.RandomSampler(data, generator=generator),
        torch.utils.data.RandomSampler(data, replacement=True, num_samples=70),
        torch.utils.data.WeightedRandomSampler(weights, 40),
        torch.utils.data.SubsetRandomSampler(range(10, 30)),
        torch.utils.data.DistributedSampler(data, num_replicas=1, rank=0),
    ]


@pytest.mark.parametrize("number", range(6))
def test_samplers_of_torch_give_an_order_that_can_be_repeated(number):
    torch.manual_seed(1)
    sampler = samplers()[number]
    state = torch.get_rng_state()
    first = shuffled(sampler)
    assert torch.equal(state, torch.get_rng_state())
    assert first[0] != first[1]
    torch.manual_seed(2)
    assert shuffled(samplers()[number]) == first


def test_a_resumed_run_has_the_rest_of_a_random_sampler():
    whole = shuffled(samplers()[0], 1)[0]
    loader = hr.range(50).reorder(samplers()[0]).numpy()
    begun = iter(loader)
    assert [int(next(begun)) for _ in range(20)] == whole[:20]
    other = hr.range(50).reorder(samplers()[0]).numpy()
    other.load_state_dict(loader.state_dict())
    assert [int(x) for x in other] == whole[20:]
    assert shuffled(samplers()[0], 1, seed=1)[0] != whole


def test_batch_samplers_and_samplers_of_ranks_are_refused():
    batches = torch.utils.data.BatchSampler(range(50), 5, drop_last=False)
    with pytest.raises(hr.HeadraceError, match=r"let batch.. after reorder.. make batches"):
        shuffled(batches)
    ranks = torch.utils.data.DistributedSampler(range(50), num_replicas=2, rank=1)
    with pytest.raises(ValueError, match="got DistributedSampler of 2 ranks"):
        shuffled(ranks)
