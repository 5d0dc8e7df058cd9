"""A window shuffle that goes on reads what it still holds, and what comes after; nothing that it has handed out."""

import itertools
import json

import pytest

import headrace as hr

SIZE, WINDOW = 16_000, 10_000


class Counted:
    """A sequence that remembers which of its items were read."""

    def __init__(self):
        self.read = []

    def __len__(self):
        return SIZE

    def __getitem__(self, index):
        self.read.append(index)
        return {"x": index}


def taken(elements, count=None):
    return [int(element["x"]) for element in itertools.islice(elements, count)]


def in_parts(counts, datasets):
    """So many elements of the first dataset, then of the next one from the state that it came to, and so on."""
    got, state = [], None
    for count, data in zip(counts, datasets):
        loader = data.numpy()
        if state:
            loader.load_state_dict(state)
        iteration = iter(loader)
        got += [int(x) for x in itertools.islice(iteration, count)]
        state = iteration.state_dict()
    return got


@pytest.mark.parametrize(("stop", "workers"), [(1, 2), (5003, 1), (9000, 3), (SIZE - 10, 2)])
def test_it_reads_no_sample_again_that_it_does_not_hold(stop, workers):
    source = Counted()
    ds = hr.from_dataset(source).shuffle(seed=5, window=WINDOW)
    whole = taken(ds)
    iteration = iter(ds.numpy())
    assert taken(iteration, stop) == whole[:stop]
    state = json.dumps(iteration.state_dict())
    del iteration
    assert len(state) < 1024

    source.read.clear()
    loader = ds.options(workers=workers).numpy()
    loader.load_state_dict(json.loads(state))
    iteration = iter(loader)
    first = taken(iteration, 1)
    ahead = 1100  # what is under way beside the window
    assert len(source.read) <= min(WINDOW, SIZE - stop) + ahead
    # A state that was taken soon after another one is like any other.
    again = ds.numpy()
    again.load_state_dict(json.loads(json.dumps(iteration.state_dict())))
    assert first + taken(iteration) == whole[stop:]
    assert sorted(source.read) == sorted(whole[stop:])
    assert taken(again) == whole[stop + 1 :]


def test_verbs_above_it_change_nothing_of_that():
    source = Counted()
    ds = hr.from_dataset(source).shuffle(seed=5, window=WINDOW)
    ds = ds.map(lambda s: {"x": s["x"] + 1}).filter(lambda s: s["x"] < 12_000).batch(16)
    whole = [b["x"].tolist() for b in ds]
    stop = len(whole) // 2
    iteration = iter(ds.numpy())
    assert [b["x"].tolist() for b in itertools.islice(iteration, stop)] == whole[:stop]
    state = iteration.state_dict()
    assert len(json.dumps(state)) < 1024
    del iteration
    source.read.clear()
    loader = ds.numpy()
    loader.load_state_dict(state)
    assert [b["x"].tolist() for b in loader] == whole[stop:]
    assert len(source.read) == len(set(source.read)) <= SIZE - stop * 16


def test_a_loader_with_a_finished_state_stands_before_the_next_epoch():
    ds = hr.range(5)
    loader = ds.numpy()
    assert sum(1 for _ in loader) == 5
    other = ds.numpy()
    other.load_state_dict(loader.state_dict())
    assert other.epoch == loader.epoch == 1


@pytest.mark.parametrize("window", [2, 7, 300])
def test_a_window_shuffle_is_resumed_more_than_once(window: int) -> None:
    data = hr.range(1000).shuffle(seed=5, window=window)
    got = in_parts((3, 14, 0, 400, None), itertools.repeat(data))
    assert got == [int(x) for x in data]


VERBS = {
    "none": lambda data: data,
    "map": lambda data: data.map(lambda x: x, python=True),
    "window": lambda data: data.map(lambda x: x, python=True).shuffle(seed=1, window=300),
    "unique": lambda data: data.map(lambda x: x, python=True).unique(),
    "unbatch": lambda data: data.filter(lambda x: x >= 0).batch(16).unbatch(),
}


@pytest.mark.parametrize("verb", VERBS)
def test_an_unordered_run_goes_on_with_other_settings_and_misses_nothing(verb: str) -> None:
    data = VERBS[verb](hr.range(3000)).options(deterministic=False)
    settings = ({"workers": 4}, {"workers": 1, "rewrites": False}, {"workers": 2, "io": 64})
    got = in_parts((100, 1000, None), (data.options(**chosen) for chosen in settings))
    assert sorted(got) == list(range(3000))
