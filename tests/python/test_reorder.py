"""reorder: an order of the user's own for each epoch, from a function or a sampler."""

import json
import pickle

import numpy as np
import pytest

import headrace as hr


def permuted(epoch):
    return np.random.default_rng(epoch).permutation(20)


def elements(loader):
    return [int(x) for batch in loader for x in np.atleast_1d(batch)]


@pytest.mark.parametrize("workers", [0, 3])
def test_epochs_have_the_order_of_the_function(workers):
    loader = hr.range(20).reorder(permuted).options(workers=workers).numpy()
    for epoch in range(4):
        assert elements(loader) == permuted(epoch).tolist()


def test_it_may_leave_out_and_repeat_elements_and_each_draws_anew():
    ds = hr.range(5).reorder(lambda epoch: [epoch, 4, 4], length=3)
    assert len(ds) == 3
    assert elements(ds.numpy()) == [0, 4, 4]
    drawn = hr.range(5).reorder(lambda epoch: [3, 3, 3], length=3).map(lambda x, rng: rng.random())
    assert len(set(map(float, drawn.numpy()))) == 3


def test_it_is_asked_once_an_epoch_and_not_when_it_is_built():
    asked = []

    def order(epoch):
        asked.append(epoch)
        return range(6)

    ds = hr.range(6).reorder(order)
    assert asked == []
    loader = ds.batch(2).options(workers=2).numpy()
    for _ in range(3):
        elements(loader)
    assert asked == [0, 0, 1, 2]  # the first epoch twice: an order by chance would lose elements on ranks


def test_random_access_has_the_order_of_the_first_epoch():
    ds = hr.range(20).reorder(permuted)
    assert [int(ds[i]) for i in range(20)] == permuted(0).tolist()


@pytest.mark.parametrize("workers", [0, 2])
def test_under_repeat_each_pass_is_an_epoch(workers):
    loader = hr.range(20).reorder(permuted).repeat(3).batch(7).options(workers=workers).numpy()
    for epoch in range(2):
        expected = np.concatenate([permuted(3 * epoch + i) for i in range(3)])
        assert elements(loader) == expected.tolist()


def test_below_a_border_under_repeat():
    loader = hr.range(20).reorder(permuted).filter(lambda x: x % 2 == 0).repeat(2).numpy()
    for epoch in range(2):
        both = np.concatenate([permuted(2 * epoch), permuted(2 * epoch + 1)])
        assert elements(loader) == [x for x in both.tolist() if x % 2 == 0]


@pytest.mark.parametrize(
    "above", [lambda ds: ds.repeat(), lambda ds: hr.mix([ds, hr.range(5)], stop="cycle")]
)
def test_an_unknown_number_of_passes_is_refused(above):
    with pytest.raises(
        ValueError, match=r"reorder: expected a function or sampler that is asked a known number"
    ):
        above(hr.range(20).reorder(permuted)).numpy().__iter__()


@pytest.mark.parametrize("world", [1, 2, 3])
@pytest.mark.parametrize("taken", [0, 1, 3])
def test_states_resume_in_every_world(world, taken):
    def loader(rank, of):
        return (
            hr.range(24).reorder(lambda e: np.random.default_rng(e).permutation(24)).shard(rank, of).numpy()
        )

    before = [loader(rank, 2) for rank in range(2)]
    iterations = [iter(one) for one in before]
    begun = [int(next(it)) for _ in range(taken) for it in iterations]
    state = json.loads(json.dumps(before[0].state_dict()))
    resumed = [loader(rank, world) for rank in range(world)]
    for one in resumed:
        one.load_state_dict(state)
    rest = [elements(one) for one in resumed]
    order = np.random.default_rng(0).permutation(24).tolist()
    assert begun == order[: 2 * taken]
    assert [x for row in zip(*rest, strict=False) for x in row][: 24 - 2 * taken] == order[2 * taken :]


def test_a_state_of_another_order_is_refused():
    def loader(shift):
        return hr.range(20).reorder(lambda epoch: np.roll(np.arange(20), epoch + shift)).numpy()

    one = loader(0)
    it = iter(one)
    next(it)
    other = loader(1)
    other.load_state_dict(one.state_dict())
    with pytest.raises(
        ValueError, match="reorder: expected the positions that epoch 0 had when the state was saved"
    ):
        next(iter(other))


def test_an_order_by_chance_is_an_error_in_the_first_epoch():
    loader = hr.range(20).reorder(lambda epoch: np.random.default_rng().permutation(20)).numpy()
    with pytest.raises(
        ValueError, match=r"reorder: expected the positions of epoch 0, as before, got others.*default_rng"
    ):
        elements(loader)


def test_an_order_that_changes_is_an_error_when_an_epoch_comes_again():
    shift = [0]
    loader = hr.range(20).reorder(lambda epoch: np.roll(range(20), epoch + shift[0])).numpy()
    for _ in range(4):
        elements(loader)
    shift[0] = 3
    loader.set_epoch(0)
    with pytest.raises(ValueError, match="reorder: expected the positions of epoch 0, as before, got others"):
        elements(loader)


def test_an_order_that_uses_its_own_dataset_is_an_error():
    def order(epoch):
        return [int(ds[i]) for i in range(20)]

    ds = hr.range(20).reorder(order)
    with pytest.raises(
        (ValueError, hr.HeadraceError), match="uses an iteration or elements of its own dataset"
    ):
        ds[0]


def test_in_readers_that_are_opened_several_times_an_epoch(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.txt").write_text("".join(f"{i}-{j}\n" for j in range(4)))

    def turned(path):
        return hr.read_text(path).reorder(lambda epoch: np.roll(range(4), epoch))

    files = hr.list_files(str(tmp_path / "*.txt"))
    loader = files.shuffle(seed=1).repeat(2).interleave(turned, cycle_length=1).numpy()
    for epoch in range(2):
        lines = [s["line"] for s in loader]
        for block in range(6):
            turn = 2 * epoch + block // 3
            assert [line[2:] for line in lines[4 * block : 4 * block + 4]] == [
                str((j - turn) % 4) for j in range(4)
            ]
    with pytest.raises(ValueError, match=r"put reorder.. after interleave"):
        files.reorder(lambda epoch: range(3)).interleave(hr.read_text)


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (lambda epoch: range(19), "expected 20 positions for epoch 0, got 19"),
        (
            lambda epoch: [20] * 20,
            "expected positions from 0 to below 20, the number of elements, got 20 at position 0",
        ),
        (lambda epoch: [-1] * 20, "got -1 at position 0 for epoch 0"),
        (lambda epoch: [0.5] * 20, "expected integers, got float64"),
        (lambda epoch: [[0, 1]] * 10, "expected positions in one dimension"),
    ],
)
def test_positions_that_do_not_fit(order, words):
    ds = hr.range(20).reorder(order)
    for make in (
        lambda: next(iter(ds.numpy())),
        lambda: next(iter(ds.options(workers=0).numpy())),
        lambda: ds[0],
    ):
        with pytest.raises((ValueError, hr.HeadraceError), match=words):
            make()


def test_what_the_function_raises_comes_through_and_the_next_try_works():
    broken = [True]

    def order(epoch):
        if broken.pop() if broken else False:
            raise KeyError("curriculum")
        return range(20)

    loader = hr.range(20).reorder(order).numpy()
    with pytest.raises(hr.HeadraceError, match="order: KeyError: 'curriculum'") as caught:
        next(iter(loader))
    assert isinstance(caught.value.__cause__, KeyError)
    assert elements(loader) == list(range(20))


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ([1, 2, 3], "select.. takes positions that are the same in every epoch"),
        (np.arange(3), "select.. takes positions"),
        (iter([1, 2]), "expected a function from epoch to positions, or a sampler, got list_iterator"),
        (3, "expected a function from epoch to positions, or a sampler, got int"),
    ],
)
def test_what_is_no_order(order, words):
    with pytest.raises(TypeError, match=words):
        hr.range(20).reorder(order)


def test_it_needs_a_fixed_order_and_a_length():
    with pytest.raises(ValueError, match="reorder: positions belong to elements by position"):
        hr.range(20).shuffle().reorder(permuted)
    with pytest.raises(ValueError, match="reorder: needs random access and an exact length"):
        hr.range(20).filter(lambda x: x > 3).reorder(permuted)
    with pytest.raises(ValueError, match="select"):
        hr.range(20).reorder(permuted).select([1, 2])


class Sampler:
    """As `torch.utils.data.Sampler` with `set_epoch`."""

    def __init__(self):
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        return iter(permuted(self.epoch).tolist())

    def __len__(self):
        return 20


def test_a_sampler_is_told_the_epoch():
    loader = hr.range(20).reorder(order=Sampler()).batch(6).numpy()
    for epoch in range(3):
        assert elements(loader) == permuted(epoch).tolist()
    with pytest.raises(ValueError, match="expected 20 positions, the length of the sampler, got length=19"):
        hr.range(20).reorder(Sampler(), length=19)


def test_a_sampler_that_deals_to_ranks_is_refused():
    sampler = Sampler()
    sampler.num_replicas = 4
    with pytest.raises(ValueError, match="expected a sampler of the whole dataset, got Sampler of 4 ranks"):
        hr.range(20).reorder(sampler)


def test_plans_name_the_slot(tmp_path):
    ds = hr.range(20).reorder(permuted, slot="curriculum").batch(4)
    ds.save_plan(tmp_path / "plan.json")
    with pytest.raises(ValueError, match=r"curriculum.* is not bound"):
        hr.load_plan(tmp_path / "plan.json")
    loaded = hr.load_plan(tmp_path / "plan.json", bind={"curriculum": permuted})
    assert elements(loaded.numpy()) == permuted(0).tolist()
    assert loaded.numpy().state_dict()["fingerprint"] == ds.numpy().state_dict()["fingerprint"]


def test_it_is_pickled_with_its_function():
    ds = pickle.loads(pickle.dumps(hr.range(20).reorder(permuted)))
    assert elements(ds.numpy()) == permuted(0).tolist()


def test_a_thread_may_report_while_the_order_is_asked_for():
    """The function is called without the loader's mutex."""
    seen = []

    def order(epoch):
        seen.append(loader.report())
        return range(20)

    loader = hr.range(20).reorder(order).numpy()
    assert elements(loader) == list(range(20))
    assert len(seen) == 2
