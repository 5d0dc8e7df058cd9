"""The command line as people use it: what it prints, and its exit codes."""

import io
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

Image = pytest.importorskip("PIL.Image")

ROOT = Path(__file__).parents[2]
CLASSES = ("cat", "dog", "eel")


def executable():
    candidates = [os.environ.get("HEADRACE_CLI", ""), *ROOT.glob("build/release/cli/headrace")]
    return next((str(c) for c in candidates if c and Path(c).is_file()), None)


pytestmark = pytest.mark.skipif(
    executable() is None, reason="the command line is not built: `make build`, or set HEADRACE_CLI"
)


def headrace(*arguments, cwd=None):
    return subprocess.run(
        [executable(), *map(str, arguments)], check=False, capture_output=True, text=True, cwd=cwd, timeout=60
    )


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Thirty images in three classes, one of them grey."""
    root = tmp_path_factory.mktemp("photos")
    for i in range(30):
        folder = root / CLASSES[i % 3]
        folder.mkdir(exist_ok=True)
        image = Image.new("RGB", (64 + i, 48), (8 * i, 255 - 8 * i, 90))
        (image.convert("L") if i == 7 else image).save(folder / f"{i}.jpg")
    return root


@pytest.fixture
def damaged(photos, tmp_path):
    """The same with a file cut short, one of text, and one that is empty."""
    root = tmp_path / "damaged"
    for path in sorted(photos.rglob("*.jpg")):
        (root / path.parent.name).mkdir(parents=True, exist_ok=True)
        (root / path.parent.name / path.name).write_bytes(path.read_bytes())
    cut = root / "cat" / "0.jpg"
    cut.write_bytes(cut.read_bytes()[:-60])
    (root / "dog" / "1.jpg").write_text("no image")
    (root / "eel" / "2.jpg").write_bytes(b"")
    return root


@pytest.fixture
def plan(photos, tmp_path):
    """What save_plan writes: shuffle, decode, crop at random, batch by 8."""
    steps = [
        {"op": "decode_image", "params": {}, "in": [0]},
        {"op": "random_crop", "params": {"size": [32]}, "in": [2]},
    ]
    program = {"inputs": [0, 1], "steps": steps, "outputs": [3, 1], "names": ["image", "label"],
               "structure": '{"image":0,"label":1}'}  # fmt: skip
    read = {"verb": "read", "source": {"format": "image_folder", "path": str(photos)}}
    shuffle = {"verb": "shuffle", "seed": 3, "window": 0, "input": read}
    batch = {"verb": "batch", "size": 8, "input": {"verb": "map", "program": program, "input": shuffle}}
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"headrace": 1, "seed": 5, "plan": batch}))
    return path


def test_a_pipeline_runs_with_the_data_it_names(tmp_path):
    hr = pytest.importorskip("headrace")
    np = pytest.importorskip("numpy")
    columns = {"x": np.arange(6, dtype=np.float32), "name": [f"n{i}" for i in range(6)]}
    keys = np.array([3, 1, 2, 6, 5, 4.0])
    ds = hr.from_arrays(columns).sort_by(keys).zip(hr.range(6).sort_by(-keys)).batch(4)
    plan = tmp_path / "plan.json"
    ds.save_plan(plan)
    np.save(tmp_path / "x.npy", columns["x"])
    (tmp_path / "name.txt").write_text("".join(f"{name}\n" for name in columns["name"]))
    np.save(tmp_path / "keys.npy", keys)
    np.save(tmp_path / "down.npy", -keys)
    bound = ["arrays/x=x.npy", "arrays/name=name.txt", "keys=keys.npy", "keys#2=down.npy"]

    def run(*bind, verb="run"):
        return headrace(verb, plan, *(word for one in bind for word in ("--bind", one)), cwd=tmp_path)

    done = run(*bound)
    assert done.returncode == 0, done.stderr
    assert "2 batches, 6 samples" in done.stdout
    np.save(tmp_path / "down.npy", keys)
    assert run(*bound).stdout.split("xxh3")[0] == done.stdout.split("xxh3")[0]
    assert run(*bound).stdout != done.stdout
    assert f"fingerprint {ds.fingerprint()[:16]}" in run(*bound, verb="explain").stdout
    for bind, wrong in (
        (bound[1:], "expected x: float32 (), name: str per row, got name: str"),
        (bound[2:], "pass bind={\"arrays\": {\"x\": …, \"name\": …}}, or --bind arrays/x=FILE --bind arrays/name=FILE"),
        (bound[:-1], "the data in slot 'keys#2' is not bound; expected float64 () per row; pass bind={\"keys#2\": …}, or --bind keys#2=FILE"),
        (["kes=keys.npy"], "no data slot 'kes'; its data slots are 'arrays', 'keys', 'keys#2'"),
        (["keys"], "--bind: expected NAME=FILE, got 'keys'"),
        (["keys=plan.json"], "expected a .npy file (numpy.save), an .npz file (numpy.savez) or lines of text (.txt)"),
        (["keys=none.npy"], "none.npy"),
        ([*bound, "keys/x=keys.npy"], "expected NAME/FIELD=FILE for each of several columns"),
    ):  # fmt: skip
        refused = run(*bind)
        assert refused.returncode in {1, 2} and wrong in refused.stderr, refused.stderr
    assert "is data" in headrace("run", tmp_path / "keys.npy", "--bind", "a=b.npy").stderr


def test_a_plan_has_the_rank_of_the_process_that_runs_it(tmp_path, monkeypatch):
    hr = pytest.importorskip("headrace")
    np = pytest.importorskip("numpy")
    np.save(tmp_path / "x.npy", np.arange(40))
    data = hr.read(tmp_path / "x.npy").shuffle(seed=3)
    data.shard(2, 4).batch(3).save_plan(tmp_path / "named.json")
    data.shard().batch(3).save_plan(tmp_path / "asking.json")
    named = headrace("run", "named.json", cwd=tmp_path)
    assert "4 batches, 10 samples" in named.stdout, named.stderr
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    hashed = re.search("xxh3.*", named.stdout).group()
    assert hashed in headrace("run", "asking.json", cwd=tmp_path).stdout
    (tmp_path / "x.npy").rename(tmp_path / "y.npy")
    assert headrace("run", "asking.json", cwd=tmp_path).returncode == 1
    assert hashed in headrace("run", "asking.json", "--bind", "read_0=y.npy", cwd=tmp_path).stdout
    refused = headrace("run", "asking.json", "--bind", "read_1=y.npy", cwd=tmp_path)
    assert refused.returncode == 2
    assert "no data slot 'read_1'; it has no data slots, and its reads are 'read_0' ('" in refused.stderr
    monkeypatch.delenv("WORLD_SIZE")
    alone = headrace("run", "asking.json", "--bind", "read_0=y.npy", cwd=tmp_path)
    assert alone.returncode == 1 and "expected WORLD_SIZE beside RANK=2" in alone.stderr


@pytest.mark.parametrize("save", ["savez", "savez_compressed"])
def test_columns_are_bound_by_name(tmp_path, save):
    hr = pytest.importorskip("headrace")
    np = pytest.importorskip("numpy")
    qty, price = np.arange(5), np.arange(5) * 0.5
    ds = hr.from_arrays({"qty": qty, "price": price}, slot="t").sort_by(-qty).batch(2)
    ds.save_plan(tmp_path / "plan.json")
    np.save(tmp_path / "a.npy", price)
    np.save(tmp_path / "b.npy", qty)
    np.save(tmp_path / "k.npy", (-qty).astype(np.int32))
    getattr(np, save)(tmp_path / "t.npz", price=price, qty=qty)

    def run(*bind, verb="run"):
        words = (word for one in bind for word in ("--bind", one))
        return headrace(verb, "plan.json", *words, cwd=tmp_path)

    done = run("t/price=a.npy", "t/qty=b.npy", "keys=k.npy", verb="explain")
    assert f"fingerprint {ds.fingerprint()[:16]}" in done.stdout, done.stderr
    first, again = run("t/price=a.npy", "t/qty=b.npy", "keys=k.npy"), run("t=t.npz", "keys=k.npy")
    assert first.returncode == 0 and first.stdout.split("xxh3")[1:] == again.stdout.split("xxh3")[1:]
    for bind in (
        ["t/price=b.npy", "t/qty=a.npy"],
        ["t/quantity=b.npy", "t/price=a.npy"],
        ["t=b.npy"],
        ["t/qty=b.npy"],
    ):
        refused = run(*bind, "keys=k.npy")
        assert refused.returncode == 1
        assert "slot 't': expected qty: int64 (), price: float64 () per row, got" in refused.stderr, (
            refused.stderr
        )
    np.save(tmp_path / "b.npy", qty.reshape(5, 1))
    assert "got price: float64 (), qty: int64 (1)" in run("t/price=a.npy", "t/qty=b.npy", "keys=k.npy").stderr
    (tmp_path / "t.npz").write_bytes((tmp_path / "t.npz").read_bytes()[:-30])
    assert ".npz" in run("t=t.npz", "keys=k.npy").stderr


def test_explain_says_what_a_plan_wants(tmp_path):
    hr = pytest.importorskip("headrace")
    np = pytest.importorskip("numpy")
    ds = hr.from_arrays({"qty": np.arange(5), "price": np.ones((5, 3))}, slot="t").sort_by(np.arange(5))
    ds.map(lambda s: s, python=True).batch(2).save_plan(tmp_path / "plan.json")
    said = headrace("explain", "plan.json", "--bind", "keys=k.npy", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    for words in ("read  slot t", "batch", "qty: int64 (), price: float64 (3) per row", "--bind t/qty=FILE --bind t/price=FILE",
                  "--bind keys=FILE", "a Python function"):  # fmt: skip
        assert words in said.stdout
    slots = json.loads(headrace("explain", "plan.json", "--json", cwd=tmp_path).stdout)["slots"]
    assert [slot["slot"] for slot in slots] == ["t", "keys", "map_0"]


def test_inspect_says_what_it_is(photos):
    done = headrace("inspect", photos)
    assert done.returncode == 0
    for words in (
        "image_folder",
        "samples     30",
        "64 to 93",
        "29 JPEG colour; 1 JPEG grey",
        "10 ████████████████████ dog",
    ):
        assert words in done.stdout


@pytest.mark.parametrize("command", ["inspect", "verify", "index"])
def test_a_plan_is_no_data(command, plan, tmp_path):
    done = headrace(command, plan)
    assert done.returncode != 0
    assert (
        f"expected data, got the saved pipeline '{plan}'; `headrace explain {plan}` shows it" in done.stderr
    )
    state = tmp_path / "state.json"
    headrace("run", plan, "--batches", "1", "--state", state)
    assert (
        "the saved state of an iteration; `headrace run --state` accepts it"
        in headrace(command, state).stderr
    )


def test_options_are_spelled_as_they_are_typed(tmp_path):
    (tmp_path / "notes.xyz").write_bytes(b"\x01\x02\x03")
    assert "; set --format to one of " in headrace("inspect", tmp_path / "notes.xyz").stderr
    told = headrace("convert", tmp_path / "notes.xyz", tmp_path / "x.tar").stderr
    assert "; set --source-format to one of " in told
    small = ROOT / "tests/sources/data"
    told = headrace("convert", small / "rows.arrow", tmp_path / "x.xyz").stderr
    assert "; set --format to one of " in told
    told = headrace("inspect", small / "maps.arrow", "--option", "columns=m").stderr
    assert """expected a list of str, got "m"; --option columns='["m"]'""" in told
    told = headrace("inspect", small / "maps.arrow", "--option", 'columns=["m"]').stderr
    assert """select others with --option columns='["…"]': x""" in told
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        tar.addfile(tarfile.TarInfo("a.pickle"))
    told = headrace("inspect", tmp_path / "x.tar").stderr
    assert """with --option fields='["…"]' or read its bytes with --option decode=false""" in told
    one = struct.pack("<IfQQ", 0, 1.0, 0, 0) + b"data"
    two = struct.pack("<IfQQff", 2, 0.0, 1, 0, 1.0, 2.0) + b"data"
    record = b"".join(struct.pack("<II", 0xCED7230A, len(data)) + data for data in (one, one, two))
    (tmp_path / "x.rec").write_bytes(record)
    told = headrace("verify", tmp_path / "x.rec", "--option", "label_width=1").stdout
    assert "; --option label_width=0 reads any number" in told


def test_notes_and_splits_are_spelled_as_they_are_typed(tmp_path):
    for name in ("train", "test"):
        (tmp_path / f"{name}.csv").write_text("a\n1\n")
    told = headrace("verify", tmp_path).stderr
    assert "set --option split= to one of these names" in told
    (tmp_path / "x").mkdir()
    rows = "".join(f"{i}\n" for i in range(30))
    (tmp_path / "x" / "x.csv").write_text(f"n\n{rows}many\n")
    for command in ("inspect", "verify", "doctor"):
        told = " ".join(headrace(command, tmp_path / "x").stdout.split())
        assert """--option dtypes='{"n": "int64"}' makes such fields errors of their rows""" in told, told
    told = headrace("convert", tmp_path / "x", tmp_path / "y.jsonl").stdout
    assert """--source-option dtypes='{"n": "int64"}' makes such fields errors""" in told, told


def test_files_of_unknown_endings_are_counted(photos, tmp_path):
    root = tmp_path / "photos"
    for path in photos.rglob("*.jpg"):
        folder = root / path.parent.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / path.name).symlink_to(path.resolve())
    (root / "newt").mkdir()
    for i in range(10):
        (root / "newt" / f"{i}.HEIC").touch()
    (root / "cat" / "README").touch()
    left_out = "11 files: extensions .heic (10), none (1)\n"
    assert f"  left out    {left_out}" in headrace("inspect", root).stdout
    verified = headrace("verify", root).stdout
    assert f"left out because of their names: {left_out}" in verified
    assert "class folders has no images that can be read and keeps its label: 'newt'" in verified
    counted = {"files": 11, "endings": {".heic": 10, "none": 1}}
    assert json.loads(headrace("verify", root, "--json").stdout)["left_out"] == counted
    assert json.loads(headrace("inspect", root, "--json").stdout)["metadata"]["left_out"] == counted
    assert "left out" not in headrace("inspect", photos).stdout
    for path in root.rglob("*.jpg"):
        path.unlink()
    refused = headrace("inspect", root)
    assert refused.returncode != 0
    assert "extensions .heic (10), none (1)" in refused.stderr


def test_inspect_in_json(photos):
    told = json.loads(headrace("inspect", photos, "--json").stdout)
    assert told["samples"] == told["looked_at"] == 30
    assert told["images"]["height"]["median"] == 48
    assert told["labels"][2] == {"label": 2, "count": 10, "class": "eel"}
    assert told["broken"] == []


def test_inspect_looks_at_as_many_as_wanted(photos):
    assert json.loads(headrace("inspect", photos, "--json", "--samples", 4).stdout)["looked_at"] == 4


def hints(done):
    return [
        line.split("hint  ")[1].strip() for line in done.stdout.splitlines() if line.startswith("  hint ")
    ]


def test_inspect_points_to_labels_beside_the_images(photos, tmp_path):
    assert hints(headrace("inspect", photos)) == []
    images = tmp_path / "set" / "images"
    images.mkdir(parents=True)
    for path in photos.rglob("*.jpg"):
        (images / path.name).write_bytes(path.read_bytes())
    (images / "labels.json").write_text('{"3.jpg": 1, "4.jpg": 0}')
    (images / "other.json").write_text('{"of other images.jpg": 1}')
    (images / "notes.txt").write_text("no list at all\n")
    (tmp_path / "set" / "val.txt").write_text("set/images/3.jpg 4\nset/images/4.jpg 5\n")
    assert hints(headrace("inspect", images)) == [
        f'labels.json looks like a JSON map of labels: hr.read_json_map("{images}/labels.json")',
        f'val.txt looks like a list of images: hr.read_file_list("{tmp_path}/set/val.txt", root="{tmp_path}")',
    ]
    boxes = tmp_path / "set" / "Annotations"
    boxes.mkdir()
    (boxes / "3.xml").write_text("<annotation></annotation>")
    call = f'hr.read_voc_xml("{tmp_path}/set", images="images", annotations="Annotations")'
    assert f"Annotations looks like boxes in XML files: {call}" in hints(headrace("inspect", images))
    told = json.loads(headrace("inspect", images.name, "--json", cwd=images.parent).stdout)
    assert len(told["hints"]) == 3
    hr = pytest.importorskip("headrace")  # what is offered does what it says
    for hint in told["hints"]:
        call = hint.split(": ", 1)[1]
        assert len(eval(call, {"hr": hr})) in {1, 2}


def test_inspect_wonders_about_a_single_class(photos, tmp_path):
    (tmp_path / "photos").symlink_to(photos)
    assert hints(headrace("inspect", tmp_path)) == [
        f'all images are in one class; if the classes are folders below it, pass "{tmp_path}/photos"'
    ]


def test_inspect_knows_the_messages_of_caffe(photos, tmp_path):
    hr = pytest.importorskip("headrace")
    database = tmp_path / "data.lmdb"
    hr.read(photos).write(database)
    assert hints(headrace("inspect", database)) == [
        f'the values look like Caffe\'s Datum: hr.read_lmdb("{database}", values="datum")'
    ]
    assert hr.read_lmdb(database, values="datum")[3].keys() == {"image", "label"}
    hint = "the values look like Caffe's Datum: {} values=datum parses them"
    done = headrace("verify", database)
    assert done.returncode == 0 and f"hint: {hint.format('--option')}\n" in done.stdout
    told = json.loads(headrace("verify", database, "--json").stdout)
    assert told["hints"] == [hint.format("--option")]
    assert "hint" not in headrace("verify", database, "--option", "values=datum").stdout
    done = headrace("convert", database, tmp_path / "x.arrow")
    assert f"hint: {hint.format('--source-option')}\n" in done.stdout
    told = json.loads(headrace("convert", database, tmp_path / "y.arrow", "--json").stdout)
    assert told["hints"] == [hint.format("--source-option")]
    assert "hint" not in headrace("convert", database, tmp_path / "copy.lmdb").stdout
    datum = ("--source-option", "values=datum")
    assert "hint" not in headrace("convert", database, tmp_path / "z.arrow", *datum).stdout


def test_inspect_and_verify_tell_of_missing_shards(photos, tmp_path):
    hr = pytest.importorskip("headrace")
    hr.read(photos).write(tmp_path / "out", format="tfrecord", shards=3)
    (gone,) = (tmp_path / "out").glob("*-00001-of-00003*")
    assert "missing" not in headrace("inspect", tmp_path / "out").stdout
    gone.unlink()
    told = f"1 of 3 shards is missing: '{gone}'"
    assert told in headrace("inspect", tmp_path / "out").stdout
    verified = headrace("verify", tmp_path / "out")
    assert told in verified.stdout and verified.returncode == 1
    assert told in hr.read(tmp_path / "out").explain()


def test_verify_lists_every_broken_file_with_its_reason(damaged):
    done = headrace("verify", damaged)
    assert done.returncode == 1
    lines, totals, summary = (part.splitlines() for part in done.stdout.split("\n\n"))
    assert [line.split(": ")[0] for line in lines] == [
        str(damaged / name) for name in ("cat/0.jpg", "dog/1.jpg", "eel/2.jpg")
    ]
    assert "JPEG" in lines[0]
    assert all(Path(line.split(": ")[0]).is_file() for line in lines)  # it can be pasted
    assert sum(int(line.split()[0]) for line in totals) == 3
    assert "3 of 30 samples broken" in summary[0]
    told = json.loads(headrace("verify", damaged, "--json").stdout)
    assert [b["kind"] for b in told["broken"]] == ["corrupt"] * 3
    assert told["reasons"]["not an image"] == 1
    assert sum(told["reasons"].values()) == 3


def test_verify_shows_the_first_rows_of_a_file_that_have_one_reason(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("a,b\n" + "".join(f"{'xyz'[i % 3] if i < 30 else i},{i}\n" for i in range(40)))
    options = ("--option", 'dtypes={"a": "i64"}')
    lines = headrace("verify", table, *options).stdout.split("\n\n")[0].splitlines()
    said = [
        f"{table}, line {i + 2} at byte {4 + 4 * i + max(0, i - 10)}: column 'a': expected int64, got '{'xyz'[i % 3]}'"
        for i in range(10)
    ]
    assert lines == [*said[:9], said[9] + " (and 20 more)"]
    for command in ("inspect", "doctor"):
        assert said[0] + " (and 29 more)" in headrace(command, table, *options).stdout
    assert len(json.loads(headrace("verify", table, *options, "--json").stdout)["broken"]) == 30


def test_verify_adds_up_reasons_that_differ_in_values_alone(damaged):
    for number in (3, 6):
        path = damaged / "cat" / f"{number}.jpg"
        whole = bytearray(path.read_bytes())
        at = whole.index(b"\xff\xc0") + 5
        whole[at : at + 4] = bytes([0, 0, 0, number])  # no rows of so many pixels
        path.write_bytes(whole)
    (damaged / "cat" / "9.jpg").write_text("other text")
    reasons = json.loads(headrace("verify", damaged, "--json").stdout)["reasons"]
    assert list(reasons.values())[:2] == [2, 2]
    assert reasons["an image without pixels: # x #"] == 2
    assert reasons["not an image"] == 2


def test_names_of_broken_files_can_be_pasted(damaged, tmp_path):
    done = headrace("verify", damaged.name, cwd=tmp_path)
    for line in done.stdout.split("\n\n")[0].splitlines():
        assert (tmp_path / line.split(": ")[0]).is_file()


def test_verify_is_silent_about_good_files(photos):
    done = headrace("verify", photos)
    assert (done.returncode, len(done.stdout.splitlines()), done.stderr) == (0, 2, "")


def test_verify_says_which_decoders_took_the_images(tmp_path):
    image = Image.new("RGB", (40, 30), (200, 100, 50))
    for name, options in {"a.jpg": {}, "b.jpg": {}, "c.jpg": {"progressive": True}, "d.png": {}}.items():
        image.save(tmp_path / name, **options)
    (tmp_path / "e.jpg").write_bytes((tmp_path / "a.jpg").read_bytes()[:300])
    assert headrace("verify", tmp_path).stdout.splitlines()[-1] == (
        "decoded by headrace (baseline JPEG): 2, headrace (plain PNG): 1, libjpeg-turbo: 1"
    )
    told = json.loads(headrace("verify", tmp_path, "--json").stdout)
    assert told["decoders"] == {"headrace (baseline JPEG)": 2, "headrace (plain PNG)": 1, "libjpeg-turbo": 1}


def test_verify_takes_one_image(photos, damaged):
    good, broken = next(iter(photos.rglob("*.jpg"))), damaged / "cat" / "0.jpg"
    done = headrace("verify", good)
    assert done.returncode == 0 and done.stdout.startswith(f"{good}: 0 of 1 sample broken")
    done = headrace("verify", broken)
    assert done.returncode == 1 and done.stdout.startswith(f"{broken}: ")
    assert json.loads(headrace("verify", broken, "--json").stdout)["broken"][0]["file"] == str(broken)


def hash_of(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split("xxh3-128 ")[1].split()[0]


@pytest.mark.parametrize("way", [["--workers", "0"], ["--workers", "3"], ["--no-rewrites"]])
def test_run_gives_the_same_bytes_in_any_way(plan, way):
    assert hash_of(headrace("run", plan, *way)) == hash_of(headrace("run", plan))


def test_run_goes_on_where_it_stopped(plan, tmp_path):
    state = tmp_path / "state.json"
    whole = headrace("run", plan, "--epochs", 2, "--json").stdout.splitlines()
    parts = [headrace("run", plan, "--batches", n, "--state", state, "--json").stdout for n in (1, 2, 1, 4)]
    assert [json.loads(p)["finished"] for p in parts] == [False, False, True, True]
    assert [parts[2].strip(), parts[3].strip()] == whole


def test_ctrl_c_keeps_what_epochs_told(plan, tmp_path):
    state = tmp_path / "state.json"
    command = [executable(), "run", plan, "--epochs", "1000000", "--state", state, "--json"]
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's background jobs inherit that it is ignored
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while not state.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    told = [json.loads(line) for line in run.communicate(timeout=30)[0].splitlines()]
    saved = json.loads(state.read_text())
    assert [epoch["epoch"] for epoch in told] == list(range(len(told)))
    assert len(told) - 1 in {saved["epoch"], saved["epoch"] + 1}
    assert saved["finished"] and saved["so_far"]["hash"] == told[saved["epoch"]]["xxh3_128"]


def test_run_looks_at_once_whether_its_state_can_be_written(plan, tmp_path):
    nowhere = tmp_path / "no such folder" / "state.json"
    done = headrace("run", plan, "--state", nowhere)
    assert done.returncode == 1
    assert "--state: cannot create" in done.stderr
    assert "epoch" not in done.stdout


def test_run_refuses_the_state_of_another_plan(plan, tmp_path):
    state = tmp_path / "state.json"
    headrace("run", plan, "--batches", 1, "--state", state)
    plan.write_text(plan.read_text().replace('"seed": 3', '"seed": 4'))
    done = headrace("run", plan, "--state", state)
    assert done.returncode == 1
    assert "another plan" in done.stderr


def test_run_says_which_sample_is_broken(damaged, plan, photos):
    plan.write_text(plan.read_text().replace(str(photos), str(damaged)))
    done = headrace("run", plan)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "sample" in done.stderr
    assert str(damaged) in done.stderr


def with_policy(plan, policy, damaged, photos):
    """The plan over the damaged files, with on_error(policy) before batch."""
    whole = json.loads(plan.read_text().replace(str(photos), str(damaged)))
    whole["plan"]["input"] = {"verb": "on_error", "policy": policy, "input": whole["plan"]["input"]}
    plan.write_text(json.dumps(whole))


@pytest.mark.parametrize(("policy", "samples"), [("skip", 27), ("replace", 30)])
def test_run_says_how_many_broken_samples_it_skipped_or_replaced(plan, damaged, photos, policy, samples):
    with_policy(plan, policy, damaged, photos)
    done = f"{policy}ped" if policy == "skip" else f"{policy}d"
    for workers in (1, 3):
        lines = headrace("run", plan, "--epochs", 2, "--workers", workers).stdout.splitlines()
        assert len(lines) == 2
        assert all(f"{samples} samples (3 broken samples {done})" in line for line in lines)
    told = json.loads(headrace("run", plan, "--json").stdout)
    assert (told["skipped"], told["replaced"]) == ((3, 0) if policy == "skip" else (0, 3))


def test_run_says_nothing_of_broken_samples_when_there_are_none(plan):
    assert "broken" not in headrace("run", plan).stdout


def test_view_draws_a_sheet_and_a_page(photos, plan, tmp_path):
    for what in (photos, plan):
        assert headrace("view", what, "--count", 6, "--out", tmp_path / "v.png").returncode == 0
        assert Image.open(tmp_path / "v.png").size[0] > 6 * 32
        page = (tmp_path / "v.html").read_text()
        assert page.count("<img") == 6
        assert any(f"{name} ({label})" in page for label, name in enumerate(CLASSES))


def test_bench_tells_the_rate_and_the_limit(photos):
    done = headrace("bench", photos, "--batches", 2, "--batch-size", 4)
    assert done.returncode == 0
    for words in ("samples/s", "limit:", "random_resized_crop"):
        assert words in done.stdout
    report = json.loads(headrace("bench", photos, "--batches", 2, "--batch-size", 4, "--json").stdout)[
        "report"
    ]
    assert report["samples"] == 8


def test_bench_holds_the_settings_that_it_is_given(photos):
    locked = ["--tuning", "locked", "--workers", 3, "--io", 5, "--ready", 7]
    done = headrace("bench", photos, "--seconds", 0.5, "--batch-size", 4, "--json", *locked)
    report = json.loads(done.stdout)["report"]
    assert report["settings"] == {"workers": 3, "io": 5, "ready": 7}
    assert report["decisions"] == []
    hashes = [headrace("run", photos, "--batch-size", 4, *more).stdout.split()[-1] for more in ([], locked)]
    assert hashes[0] == hashes[1]
    wrong = headrace("bench", photos, "--tuning", "off")
    assert (wrong.returncode, "--tuning" in wrong.stderr) == (2, True)


def test_bench_says_at_once_that_a_page_cannot_be_written(photos, tmp_path):
    begin = time.monotonic()
    done = headrace("bench", photos, "--seconds", 30, "--html", tmp_path / "nowhere" / "page.html")
    assert (done.returncode, time.monotonic() - begin < 20) == (1, True)
    assert "--html: cannot create" in done.stderr and "nowhere" in done.stderr


def test_bench_and_explain_take_a_memory_budget(photos):
    done = headrace("bench", photos, "--batches", 2, "--batch-size", 4, "--memory-budget", "30MB", "--json")
    assert json.loads(done.stdout)["report"]["memory"]["budget"] == 30_000_000
    assert "memory budget 30.0 MB" in headrace("explain", photos, "--memory-budget", "30MB").stdout


def test_bench_and_view_replace_broken_samples_and_say_so(damaged, tmp_path):
    done = headrace("view", damaged, "--out", tmp_path / "v.png")
    assert "3 broken samples replaced, in red frames" in done.stdout
    assert (tmp_path / "v.html").read_text().count("replaces a broken sample<") == 3
    told = json.loads(headrace("view", damaged, "--out", tmp_path / "v.png", "--count", 30, "--json").stdout)
    assert (told["samples"], told["replaced"], told["skipped"]) == (30, 3, 0)
    assert "replaced" in headrace("bench", damaged, "--batches", 8).stdout


def test_what_is_inflated_as_a_whole_is_held_once(tmp_path):
    hr = pytest.importorskip("headrace")
    large = 96 << 20
    with hr.writer(tmp_path / "x.tfrecord", options={"compression": "gzip"}) as writer:
        for size in (10, large, 10, 10, 10):
            writer.write({"record": bytes(size)})
    measured = "import os, subprocess, sys; p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL);"
    measured += "print(os.wait4(p.pid, 0)[2].ru_maxrss)"
    command = [
        sys.executable,
        "-c",
        measured,
        executable(),
        "verify",
        tmp_path / "x.tfrecord",
        "--workers",
        "4",
    ]
    peak = int(subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout)
    assert peak << 10 < 1.5 * large


def test_index_says_what_it_made_and_where(photos, damaged, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    done = headrace("index", photos)
    assert done.returncode == 0
    assert f"{photos}: 30 samples, 30 JPEG files with entropy points" in done.stdout
    made = json.loads(headrace("index", photos, "--step", 1, "--workers", 1, "--json").stdout)
    assert (made["samples"], made["files"], made["failed"]) == (30, 30, 0)
    path = Path(made["path"])
    assert path.is_relative_to(tmp_path / "cache")
    assert path.stat().st_size == made["bytes"]
    again = json.loads(headrace("index", photos, "--json").stdout)
    assert again["path"] == made["path"]
    assert again["bytes"] < made["bytes"]  # of the step that was asked for last
    broken = json.loads(headrace("index", damaged, "--json").stdout)
    assert (broken["samples"], broken["files"], broken["failed"]) == (30, 27, 0)
    (tmp_path / "cache" / "headrace").chmod(0o777)
    refused = headrace("index", photos)
    assert refused.returncode == 1
    assert "expected a folder that only this user may write to" in refused.stderr


def test_index_says_where_the_records_of_containers_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    plain, packed = tmp_path / "x.tar", tmp_path / "x.tgz"
    for path, mode in ((plain, "w"), (packed, "w:gz")):
        with tarfile.open(path, mode) as tar:
            for i in range(40):
                tar.addfile(tarfile.TarInfo(f"{i:03d}.txt"))
    numbers = tmp_path / "x.csv"
    numbers.write_text("a,b\n" + "1,2\n" * 100)
    for path in (plain, packed, numbers):
        told = json.loads(headrace("index", path, "--json").stdout)  # kept where that took a while
        if told["path"] or told["bytes"]:
            assert told["bytes"] == Path(told["path"]).stat().st_size
        told = json.loads(headrace("index", path, "--beside", "--json").stdout)
        assert Path(told["path"]).parent == tmp_path / ".headrace"
        assert Path(told["path"]).name.startswith(path.name) and told["files"] == 0
        assert Path(told["path"]).stat().st_size == told["bytes"] > 0
        assert f"in {told['path']}\n" in headrace("index", path, "--beside").stdout
    both = json.loads(headrace("index", tmp_path / "x.{tar,tgz}", "--beside", "--json").stdout)
    assert Path(both["path"]).parent == tmp_path / ".headrace" and both["bytes"] > told["bytes"]


def test_index_beside_the_data_serves_other_users(photos, tmp_path, monkeypatch):
    data = tmp_path / "data"
    shutil.copytree(photos, data)
    shard = tmp_path / "x.tar"
    with tarfile.open(shard, "w") as tar:
        for i in range(40):
            tar.addfile(tarfile.TarInfo(f"{i:03d}.txt"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = json.loads(headrace("index", data, "--beside", "--json").stdout)
    assert Path(made["path"]).parent == data / ".headrace"
    told = json.loads(headrace("index", shard, "--beside", "--json").stdout)
    assert told["samples"] == 40
    assert list((tmp_path / ".headrace").glob("x.tar*.hri"))
    # It is part of no data set.
    assert json.loads(headrace("inspect", data, "--json").stdout)["samples"] == 30
    assert json.loads(headrace("inspect", shard, "--json").stdout)["samples"] == 40


def test_explain_shows_the_plan(plan):
    done = headrace("explain", plan)
    assert "random_crop(size=[32]" in done.stdout
    assert "fingerprint" in done.stdout
    told = json.loads(headrace("explain", plan, "--json").stdout)
    assert told["explain"].split("workers ")[0] in done.stdout  # the memory that is free may differ
    assert told["fingerprint"] in done.stdout


def test_lists_and_version():
    assert "image_folder" in headrace("formats").stdout
    assert "decode_image" in headrace("ops").stdout
    assert "size" in headrace("ops", "random_resized_crop").stdout
    assert headrace("--version").stdout.startswith("headrace 0.")
    told = headrace("formats", "parquet").stdout
    assert told.startswith("parquet\n  Tables in Parquet files") and "  nulls          Literal[" in told
    assert "parquet, as written by `headrace convert`" in told and "rows_per_group" in told
    assert "TFRecord" not in told and "where" not in headrace("formats", "image_folder").stdout


def test_no_line_of_our_own_stands_in_what_is_told(photos, damaged, tmp_path):
    explained = headrace("explain", photos).stdout
    assert "random_resized_crop" in explained and ".cc:" not in explained
    table = tmp_path / "x.csv"
    table.write_text("i,x\n1,2\n")
    assert ".cc:" not in headrace("explain", table).stdout
    broken = headrace("convert", damaged, tmp_path / "out.tar", "--max-side", "20").stderr
    assert "decode_image: " in broken and ".cc:" not in broken
    done = headrace("bench", damaged, "--batches", 2)
    assert ".cc:" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, ""),
        (["inspct", "x"], 2, "unknown subcommand 'inspct', did you mean 'inspect'?"),
        (["bench", ".", "--memory-budget", "much"], 2, "--memory-budget: expected a size such as"),
        (["inspect"], 2, "PATH is required"),
        (["inspect", ".", "--format", "zip"], 2, "no format named 'zip'"),
        (["bench", ".", "--workers", "-1"], 2, "--workers"),
        (["bench", ".", "--io", "0"], 2, "--io"),
        (["bench", ".", "--seconds", "0"], 2, "--seconds: must be more than 0, got 0 (see"),
        (["bench", ".", "--seconds", "-1"], 2, "--seconds: must be more than 0, got -1 (see"),
        (["bench", ".", "--seconds", "nan"], 2, "--seconds: must be more than 0, got nan (see"),
        (["ops", "resizee"], 2, "did you mean 'resize'"),
        (["formats", "parqet"], 2, "no format named 'parqet', did you mean 'parquet'?"),
        (["inspect", ".", "--format", "parqet"], 2, "did you mean 'parquet'?"),
        (
            ["convert", "a", "b.csv", "--shard-size", "5"],
            2,
            "5 means 5 bytes, about one file per sample",
        ),
        (["run", "x.json", "--json", "--epochs", "many"], 2, "--epochs"),
        (["inspect", ".", "--option", "root"], 2, "--option: expected NAME=VALUE"),
        (["view", ".", "--out", "sheet.jpg"], 2, "expected a name that ends in .png"),
        (["verify", "nowhere"], 1, "nowhere"),
        (["index", "nowhere"], 1, "nowhere"),
        (["index", "nowhere", "--step", "8193"], 2, "--step: Value 8193 not in range 0 to 8192"),
        (
            ["convert", "a.tar", "b.tar", "--shufle", "1"],
            2,
            "unknown option '--shufle', did you mean '--shuffle'?",
        ),
        (["explain", "a.tar", "--batch=3"], 2, "unknown option '--batch', did you mean '--batch-size'?"),
        (["inspect", "."], 1, "expected data of a known format"),
        (["view", "nowhere"], 1, "nowhere"),
        (["bench", "nowhere"], 1, "nowhere"),
        (["explain", "nowhere"], 1, "nowhere"),
        (["run", "nowhere.json"], 1, "nowhere.json"),
    ],
)
def test_a_mistake_is_one_line_and_a_code(arguments, code, words, tmp_path):
    done = headrace(*arguments, cwd=tmp_path)
    assert done.returncode == code
    assert words in done.stderr
    assert len(done.stderr.splitlines()) <= 1
    if arguments:
        told = json.loads(headrace(*arguments, "--json", cwd=tmp_path).stderr)
        assert told["exit_code"] == code
        assert (told["kind"] == "usage") == (code == 2)
        assert told["error"]


def test_an_option_that_the_format_has_not_is_a_mistake_of_the_arguments(photos):
    done = headrace("inspect", photos, "--option", "folders=cat")
    assert done.returncode == 2
    assert "has no option 'folders'; it has classes" in done.stderr


def test_an_endless_pipeline_wants_an_end(plan):
    whole = json.loads(plan.read_text())
    whole["plan"] = {"verb": "repeat", "times": 0, "input": whole["plan"]}
    plan.write_text(json.dumps(whole))
    done = headrace("run", plan)
    assert done.returncode == 2
    assert "--batches" in done.stderr
    assert headrace("run", plan, "--batches", 1).returncode == 0


@pytest.mark.parametrize(
    "command",
    ["", "inspect", "verify", "doctor", "view", "explain", "run", "bench", "index", "formats", "ops"],
)
def test_every_help_tells_the_exit_codes(command):
    done = headrace(*command.split(), "--help")
    assert done.returncode == 0
    for words in (
        "exit codes:",
        "0 success",
        "1 a problem with the data, the run or a file",
        "2 the arguments",
    ):
        assert words in done.stdout


def test_what_cannot_be_written_to_standard_output_is_an_error(photos):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [executable(), "bench", photos, "--seconds", "0.2"],
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert "cannot" in done.stderr and "space" in done.stderr


def test_it_starts_without_the_package():
    script = "import os, sys, headrace_cli; os.execv = lambda program, _: print(program, *sys.modules); headrace_cli.main()"
    started = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stdout
    program, *modules = started.split()
    assert Path(program).name == "headrace"
    assert not {"headrace", "headrace._core", "numpy"} & set(modules)


def test_a_reader_that_goes_away_ends_it_quietly(photos):
    """Through the Python entry point, which ignores SIGPIPE for itself."""
    script = (
        "import sys; from headrace_cli import main; sys.argv = ['headrace', 'inspect', sys.argv[1]]; main()"
    )
    read, write = os.pipe()
    os.close(read)
    process = subprocess.Popen(
        [sys.executable, "-c", script, photos], stdout=write, stderr=write, restore_signals=False
    )
    os.close(write)
    assert process.wait(timeout=60) == -signal.SIGPIPE


def test_images_are_those_of_a_folder_of_them_however_many_are_broken(tmp_path):
    (tmp_path / "cats").mkdir()
    for i in range(40):
        (tmp_path / "cats" / f"{i:02}.jpg").write_text("not an image")
    done = headrace("verify", tmp_path)
    assert done.returncode == 1 and "40 of 40 samples broken" in done.stdout


def test_texts_of_a_database_are_no_broken_images(tmp_path):
    hr = pytest.importorskip("headrace")
    image = io.BytesIO()
    Image.new("RGB", (32, 17)).save(image, "JPEG")
    pairs = {
        "image-000000001": image.getvalue(),
        "image-000000002": image.getvalue(),
        "label-000000001": "GRÄN".encode(),
        "label-000000002": b"",
        "num-samples": b"2",
    }
    for i, (second, broken) in enumerate([(pairs["image-000000002"], 0), (b"", 1), (b"<html>404</html>", 1)]):
        pairs["image-000000002"] = second
        keys = [key.encode() for key in pairs]
        hr.from_arrays({"key": keys, "value": list(pairs.values())}).write(tmp_path / f"{i}.lmdb")
        run = headrace("verify", tmp_path / f"{i}.lmdb")
        assert f"{broken} of 5 samples broken (read and decoded" in run.stdout and run.returncode == broken
    assert "2 JPEG" in headrace("inspect", tmp_path / "0.lmdb").stdout
    values = {"key": [f"{i:05}".encode() for i in range(3)], "value": [image.getvalue(), b"<html>", b""]}
    hr.from_arrays(values).write(tmp_path / "crawled.lmdb")
    assert "2 of 3 samples broken" in headrace("verify", tmp_path / "crawled.lmdb").stdout


@pytest.mark.parametrize(
    ("words", "kind", "facts"),
    [
        (["inspect", "none.csv"], "not_found", {"file": "none.csv", "operator": "read"}),
        (
            ["inspect", "t.csv", "--option", "columns=a"],
            "usage",
            {
                "option": "columns",
                "expected": "a list of str",
                "got": '"a"',
                "format": "csv",
                "file": "t.csv",
            },
        ),
        (["inspect", "t.csv", "--option", "nulls=never"], "usage", {"option": "nulls", "got": '"never"'}),
        (["verify", "none"], "not_found", {"file": "none"}),
        (["run", "plan.json"], "invalid", {"operator": "plan", "expected": "version 1", "got": "99"}),
        (
            ["convert", "t.csv", "out", "--format", "npy"],
            "invalid",
            {"format": "npy", "expected": "one field"},
        ),
        (["convert", "none.csv", "out.jsonl"], "not_found", {"file": "none.csv", "operator": "read"}),
        (["doctor", "t.csv", "--format", "arrow"], "corrupt", {"format": "arrow", "file": "t.csv"}),
    ],
)
def test_errors_in_json_have_facts(tmp_path, words, kind, facts):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    (tmp_path / "plan.json").write_text(json.dumps({"headrace": 99, "seed": 0, "plan": {"verb": "range"}}))
    said = headrace(*words, "--json", cwd=tmp_path)
    told = json.loads(said.stderr)
    assert said.returncode == told["exit_code"] != 0
    assert (told["kind"], facts) == (kind, {key: told["facts"].get(key) for key in facts})


def test_broken_samples_in_json_have_facts(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,x\n")
    said = headrace("verify", tmp_path / "t.csv", "--option", 'dtypes={"b": "int64"}', "--json")
    (broken,) = json.loads(said.stdout)["broken"]
    assert said.returncode == 1
    assert {k: broken["facts"][k] for k in ("field", "expected", "got")} == {
        "field": "b",
        "expected": "int64",
        "got": "'x'",
    }
