"""map(f, python="processes"): the same as in threads, in other processes."""

import gc
import importlib.util
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import headrace as hr

# Other processes import it by its name.
IMPORTABLE = str(Path(__file__).parent / "importable")
sys.path.insert(0, IMPORTABLE)
import functions_of_processes as functions  # noqa: E402


def both(ds, function, verb="map"):
    return [getattr(ds, verb)(function, python=where) for where in ("threads", "processes")]


def equal(a, b):
    if isinstance(a, (dict, tuple)):
        keys = a if isinstance(a, dict) else range(len(a))
        return len(a) == len(b) and all(equal(a[key], b[key]) for key in keys)
    return np.array_equal(a, b) and getattr(a, "dtype", None) == getattr(b, "dtype", None)


@pytest.fixture
def fields():
    return hr.from_arrays({"x": np.arange(40, dtype=np.float32), "name": [f"n{i}" for i in range(40)]})


def test_elements_are_the_same_and_made_elsewhere(fields):
    here, there = both(fields.shuffle(seed=3), functions.double)
    pids = set()
    for a, b in zip(here.options(workers=2), there.options(workers=2), strict=True):
        assert (a["x"], a["name"]) == (b["x"], b["name"]) and a["x"].dtype == b["x"].dtype
        pids.add(int(b["pid"]))
        assert a["pid"] != b["pid"]
    assert 1 <= len(pids) <= 2


def test_draws_are_the_same(fields):
    here, there = both(hr.range(20).shuffle(seed=1).repeat(2), functions.draw)
    for a, b in zip(here, there, strict=True):
        assert equal(a, b)


@pytest.mark.parametrize("function", [functions.rows, functions.large])
def test_sizes_may_differ_and_be_large(function):
    here, there = both(hr.range(12), function)
    for a, b in zip(here.options(workers=2), there.options(workers=2), strict=True):
        assert equal(a, b)


def test_a_filter_and_a_flat_map():
    for verb, function in (("filter", functions.is_even), ("flat_map", functions.rows)):
        here, there = both(hr.range(6), function, verb)
        assert all(equal(a, b) for a, b in zip(here, there, strict=True))


def test_an_exception_is_the_same_with_the_traceback_of_the_other_process():
    ds = hr.range(8).map(functions.refuse_three, python="processes")
    with pytest.raises(hr.HeadraceError, match=r"refuse_three: ValueError: no three: sample 3") as caught:
        list(ds)
    cause = caught.value.__cause__
    assert (
        type(cause) is ValueError
        and "refuse_three" in str(cause.__cause__)
        and "no three" in str(cause.__cause__)
    )
    assert [int(x) for x in ds.on_error("skip")] == [0, 1, 2, 4, 6, 7]
    with pytest.raises(hr.HeadraceError, match="odd: 5"):  # an exception that pickle cannot bring back
        ds[5]


def test_a_process_that_dies_ends_the_run_and_is_no_broken_sample():
    ds = hr.range(8).map(functions.die_at_four, python="processes")
    said = r"die_at_four: the process that ran it ended \(killed by signal 9, SIGKILL\): sample 4"
    for dataset in (
        ds,
        ds.on_error("skip"),
        ds.on_error("replace"),
    ):  # another run may have the memory for it
        with pytest.raises(hr.HeadraceError, match=said):
            list(dataset)
    assert int(ds[5]) == 5


@pytest.mark.parametrize("where", ["threads", "processes"])
def test_what_ends_programs_ends_the_run_under_any_policy(where):
    for function, raised in (
        (functions.leave_at_four, SystemExit),
        (functions.interrupt_at_four, KeyboardInterrupt),
    ):
        ds = hr.range(8).map(function, python=where)
        for dataset in (ds, ds.on_error("skip"), ds.on_error("replace"), ds.batch(3)):
            with pytest.raises(raised) as caught:
                list(dataset)
            assert raised is KeyboardInterrupt or caught.value.code == 7
        assert int(ds[5]) == 5


def test_the_report_counts_the_time_of_processes():
    reports = []
    for where in ("threads", "processes"):
        loader = hr.range(100).map(functions.busy, python=where).numpy()
        assert len(list(loader)) == 100
        reports.append(loader.report())
    threads, processes = reports
    assert threads["cpu_s"] / 3 < processes["cpu_s"] < 3 * threads["cpu_s"]
    assert processes["operators"][0]["cpu_s"] > processes["cpu_s"] / 3


def test_shared_memory_cannot_be_cut():
    with pytest.raises(hr.HeadraceError, match="PermissionError"):
        list(hr.range(4).map(functions.cut_the_shared_memory, python="processes"))


def test_batches_of_texts_and_of_rows_of_several_shapes(fields):
    made = both(fields.batch(3).batch(2, ragged=True), functions.measure_nested)
    assert [plain(x) for x in made[0]] == [plain(x) for x in made[1]]
    ragged = hr.range(7).map(functions.ones, python=True).batch(3, ragged=True)
    sums = both(ragged.zip(fields.batch(3)), functions.sums_and_names)
    assert [plain(x) for x in sums[0]] == [plain(x) for x in sums[1]]
    assert plain(sums[1][1]) == {"sums": [3.0, 4.0, 5.0], "last": b"n5", "texts": "n3n4n5"}


def plain(sample):
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in sample.items()}


def test_a_result_that_no_tensor_can_hold_is_an_error_and_not_the_end():
    ds = hr.range(4).map(functions.deep_at_two, python="processes")
    with pytest.raises(hr.HeadraceError, match="at most 8 dimensions"):
        list(ds)
    assert len(list(ds.on_error("skip"))) == 3


def test_processes_end_with_the_dataset():
    ds = hr.range(8).map(functions.slow, python="processes").options(workers=2)
    pids = {int(s["pid"]) for s in ds}
    assert len(pids) == 2
    del ds
    gc.collect()
    deadline = time.monotonic() + 5
    while any(is_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(is_alive(pid) for pid in pids)


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_state_plan_and_fingerprint_do_not_depend_on_where(tmp_path, fields):
    here, there = both(fields, functions.double)
    assert here.fingerprint() == there.fingerprint()
    there.save_plan(tmp_path / "plan.json")
    slots = {"arrays": fields.slots["arrays"], "map_0": functions.double}
    loaded = hr.load_plan(tmp_path / "plan.json", bind=slots)
    assert loaded[3]["pid"] != here[3]["pid"] and loaded[3]["x"] == 6


def test_what_cannot_be_sent_is_refused_where_it_is_given():
    with pytest.raises(
        ValueError, match='python must be True, False, "threads" or "processes", got \'process\''
    ):
        hr.range(3).map(functions.rows, python="process")
    if "cloudpickle" not in sys.modules:
        with pytest.raises(TypeError, match=r"cannot be pickled.*top level of a module"):
            hr.range(3).map(lambda x: x, python="processes")


SCRIPT = """
    import headrace as hr

    def add_one(x):
        return x + 1

    def run():
        print([int(x) for x in hr.range(4).map(add_one, python="processes")])
"""


@pytest.mark.parametrize("by", ["-c", "-"])
def test_a_function_that_stands_in_no_file_says_what_to_do(by):
    code = "import headrace as hr\ndef one(x): return 1\nhr.range(3).map(one, python='processes')\n"
    command = [sys.executable, by] if by == "-" else [sys.executable, by, code]
    done = subprocess.run(command, input=code, capture_output=True, text=True, timeout=60, check=False)
    if importlib.util.find_spec("cloudpickle") is None:
        assert (
            "'one' is not defined in a file" in done.stderr
            and "define it in a module, or install cloudpickle" in done.stderr
        )
    else:
        assert done.returncode == 0


@pytest.mark.parametrize("guarded", [True, False])
def test_a_script_wants_its_guard(tmp_path, guarded):
    end = 'if __name__ == "__main__":\n    run()\n' if guarded else "run()\n"
    (tmp_path / "train.py").write_text(textwrap.dedent(SCRIPT) + "\n" + end)
    done = subprocess.run(
        [sys.executable, tmp_path / "train.py"], capture_output=True, text=True, timeout=60, check=False
    )
    if guarded:
        assert done.stdout == "[1, 2, 3, 4]\n" and done.stderr == ""
    else:
        assert done.returncode == 1 and 'if __name__ == "__main__":' in done.stderr


def test_ctrl_c_and_the_end_of_the_main_process_end_the_others(tmp_path):
    script = """
        import os, signal, sys
        sys.path.insert(0, sys.argv[1])
        import headrace as hr
        from functions_of_processes import slow
        it = iter(hr.range(1000).map(slow, python="processes").options(workers=2))
        pids = {int(next(it)["pid"]) for _ in range(8)}
        print(*pids, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), IMPORTABLE],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    pids = [int(pid) for pid in done.stdout.split()]
    deadline = time.monotonic() + 5
    while any(is_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert pids and not any(is_alive(pid) for pid in pids)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("signal_name", ["SIGINT", "SIGKILL"])
def test_processes_end_in_which_a_function_is_stuck(tmp_path, signal_name, workers):
    script = """
        import os, signal, sys, threading, time
        sys.path.insert(0, sys.argv[1])
        import headrace as hr
        from functions_of_processes import stuck
        def interrupt():
            while len(os.listdir(os.environ["STUCK"])) < max(1, workers):
                time.sleep(0.01)
            began.append(time.monotonic())
            os.kill(os.getpid(), getattr(signal, sys.argv[2]))
        began, workers = [], int(sys.argv[3])
        threading.Thread(target=interrupt).start()
        ds = hr.range(1000)
        try:
            list(ds.map(stuck, python="processes").options(workers=workers))
        except KeyboardInterrupt:
            print(time.monotonic() - began[0] < 2)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), IMPORTABLE, signal_name, str(workers)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "STUCK": str(tmp_path)},
    )
    assert done.stdout == ("True\n" if signal_name == "SIGINT" else ""), done.stderr
    pids = [int(file.name) for file in tmp_path.iterdir()]
    deadline = time.monotonic() + 5
    while any(is_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(pids) >= max(1, workers) and not any(is_alive(pid) for pid in pids)
