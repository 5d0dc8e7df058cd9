"""The page of a report: one file that says what the report says, whatever samples are called, and that can be read.

What a browser makes of it is looked at in a real one, where there is one.
"""

import json
import pickle
import re
import time
from itertools import pairwise

import pytest
from PIL import Image

import headrace as hr
from headrace import ops

from .browser import browser, look_at, picture_of, start
from .pictures import picture

pytestmark = pytest.mark.alone  # runs of so many seconds, of which a page shows what was done

HOSTILE = '<script>alert(1)</script>&".jpg'  # the slash divides folder and file
WIDTHS = (400, 900, 1400)
RUNS = ("tuned", "photographs", "hostile", "unordered", "many", "broken")
SECTIONS = ["Over time", "Activity", "Cost per sample", "Slowest samples", "CPU time by operator", "Memory", "Settings and counts"]  # fmt: skip

needs_browser = pytest.mark.skipif(
    browser() is None, reason="no browser is installed: tools/install_system_packages.sh --dev"
)


def augment(s):
    return {"image": ops.random_flip(ops.random_resized_crop(ops.decode_image(s.image), size=64))}


def sleeps(x):
    time.sleep(0.05 if x % 50 == 7 else 0.001)
    return x * 2


def save_photos(folder, count):
    folder.mkdir(parents=True)
    for i in range(count):
        Image.fromarray(picture(i, 160 + 7 * i, 240)).save(folder / f"{i}.jpg", quality=90)
    return folder


def run(ds, seconds, epochs=1000, step=0.0, until=lambda report: True):
    """Epochs until the time is up and the report holds what is wanted, at most 8 times as long."""
    loader = ds.numpy().at_its_first_epoch()
    begin = time.perf_counter()
    is_over = lambda: time.perf_counter() - begin > seconds * (1 if until(loader.report()) else 8)  # noqa: E731
    for _ in range(epochs):
        for _ in loader:
            time.sleep(step)
            if is_over():
                break
        if is_over():
            break
    report = loader.report()
    loader.close()
    return report


def crowded(report):
    """The same with more than fits: names, numbers, decisions and operators that no page is made for."""
    values = json.loads(report.json())
    slow = values["sample_cost"]["slowest"][0]
    long_name = "/data/" + "a-long-name-without-any-place-to-break-it" * 5 + "/ünïcödé 💧.jpg"
    values["sample_cost"]["slowest"] = [dict(slow, sample=f"{i} of {long_name}") for i in range(10)]
    values["sample_cost"]["histogram"] = [
        {"from_us": 2.0**i, "to_us": 2.0 ** (i + 1), "count": 10 ** (i % 7)} for i in range(-3, 28)
    ]
    for moment in values["history"]:
        moment.update(at_s=moment["at_s"] * 1e5, seconds=moment["seconds"] * 1e5)
    end = max(m["at_s"] + m["seconds"] for m in values["history"])
    values["history"] = [
        dict(m, memory=3 * 10**12 + i, samples_per_s=1.2e8 + i, workers=i % 190, io=1000, ready=12345)
        for i, m in enumerate(values["history"])
    ]
    values["memory"].update(budget=4 * 10**12, peak=3 * 10**12 + 7, peak_other=1)
    values["decisions"] = [
        {
            "at_s": end * i / 40,
            "knob": "workers",
            "from": i,
            "to": 100 + i,
            "why": "a reason, " * 6,
            "predicted_samples_per_s": 1.23456e8,
            **({"obtained_samples_per_s": 0.001234} if i % 3 else {}),
            "undone": i % 2 == 0,
        }
        for i in range(40)
    ]
    values["operators"] += [
        {"name": f"an_operator_with_{'quite_' * 6}a_long_name_{i}", "calls": 10**12, "cpu_s": 3.0**-i, "bytes": 10**14}
        for i in range(20)
    ]  # fmt: skip
    values.update(
        samples=10**12, wall_s=86400.0 * 3, consumer_wait_s=1e-7, samples_per_s=3858024.69, cpu_s=1e6
    )
    return type(report)(values, report.text, "read → " * 40 + "batch")


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Name of a page to the report that it shows."""
    folder = tmp_path_factory.mktemp("data")
    photos = save_photos(folder / "photos", 24)
    hostile = save_photos(folder / "hostile", 3) / HOSTILE
    hostile.parent.mkdir()
    (hostile.parent.parent / "0.jpg").rename(hostile)
    broken = save_photos(folder / "broken", 8)
    (broken / "3.jpg").write_bytes((broken / "3.jpg").read_bytes()[:900])
    has_decided = lambda report: len(report["decisions"]) > 0  # noqa: E731
    out = {
        "tuned": run(hr.range(160).map(sleeps, python=True).batch(8), 1.5, until=has_decided),
        "photographs": run(hr.read(photos).shuffle(seed=1).map(augment).batch(8), 0.8),
        "hostile": run(hr.read(hostile.parent.parent).map(augment).batch(1), 0.5),
        "not begun": hr.read(photos).map(augment).batch(4).numpy().report(),
        "unordered": run(hr.read(photos).map(augment).batch(2).options(deterministic=False), 0.5, step=0.002),
        "many": run(hr.range(3000).map(lambda x: x * 3, python=True).batch(10), 0.4),
        "broken": run(hr.read(broken).map(augment).on_error("replace").batch(4), 0.5),
    }
    out["pickled"] = pickle.loads(pickle.dumps(out["photographs"]))
    out["crowded"] = crowded(out["tuned"])
    return out


@pytest.fixture(scope="module")
def pages(reports, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    out = {}
    for name, report in reports.items():
        out[name] = folder / f"{name.replace(' ', '-')}.html"
        report.html(out[name])
    return out


@pytest.fixture(scope="module")
def seen(pages):
    return look_at(pages, WIDTHS)


def data_of(page):
    text = page.read_text(encoding="utf-8")
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1]
    )


@pytest.mark.alone(ci=True)
def test_a_page_holds_what_the_report_says_and_the_timeline_unless_it_was_pickled(reports, pages):
    for name, report in reports.items():
        data = data_of(pages[name])
        assert data["report"] == json.loads(report.json()) == report.dict()
        assert ("timeline" in data) == (name in RUNS), name
        if name in RUNS:
            tracks = data["timeline"]["tracks"]
            assert [track["name"] == "consumer" for track in tracks] == [True] + [False] * (len(tracks) - 1)
            assert len(tracks) > 1
    assert reports["broken"]["replaced"] > 0


@pytest.mark.alone(ci=True)
def test_a_page_refers_to_nothing_outside(pages):
    for page in pages.values():
        text = page.read_text(encoding="utf-8")
        for attribute in re.findall(r'\b(?:src|href|action|poster|srcset)\s*=\s*"([^"]*)"', text):
            assert attribute == "data:,"
        assert not re.search(r"@import|url\(|\bfetch\(|XMLHttpRequest|import\(|WebSocket", text)
        assert set(re.findall(r"\w+://[^\s\"'<)]*", text)) <= {"http://www.w3.org/2000/svg"}


@pytest.mark.alone(ci=True)
def test_no_name_of_a_sample_becomes_markup(reports, pages):
    costs = reports["hostile"]["sample_cost"]["slowest"]
    assert any(HOSTILE in one["sample"] for one in costs)
    text = pages["hostile"].read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert text.count("</script>") == text.count("<script") == 2
    card = reports["hostile"]._repr_html_()
    assert "<script" not in card


def test_a_decision_stands_where_the_settings_change(reports):
    report = reports["tuned"].dict()
    for before, after in pairwise(report["history"]):
        for knob in ("workers", "io", "ready"):
            if before[knob] == after[knob]:
                continue
            turned = [
                one for one in report["decisions"]
                if one["knob"] == knob and after[knob] in {one["to"], one["from"]}
            ]  # fmt: skip
            assert turned, (knob, before, after)
            if not any(one["undone"] for one in turned):
                assert min(abs(one["at_s"] - after["at_s"]) for one in turned) < 1e-6


@needs_browser
def test_a_browser_draws_every_section(reports, seen):
    for width in WIDTHS:
        for name in (*RUNS, "crowded", "pickled"):
            page, costs = seen[name][width], reports[name]["sample_cost"]["slowest"]
            assert "samples/s" in page["words"]
            for heading in SECTIONS:
                assert heading in page["headings"], (name, heading)
            for panel in ("Throughput", "Consumer waits", "Busy", "Settings", "Memory"):
                assert panel in page["words"], (name, panel)
            assert ("Tuner decisions" in page["headings"]) == bool(reports[name]["decisions"])
            assert any(one.startswith("Timeline") for one in page["headings"]) == (name in RUNS)
            assert 1 <= len(costs) <= 10
            for one in costs:
                assert one["sample"] in page["words"].replace("\n", " "), name
        assert [
            len(reports[name]["sample_cost"]["slowest"]) for name in ("tuned", "photographs", "many")
        ] == [10, 10, 10]
        assert "No samples yet" in seen["not begun"][width]["words"]
        assert "nothing has run" in seen["not begun"][width]["words"]
        assert "alert(1)" in seen["hostile"][width]["words"]
        assert "replaced" in seen["broken"][width]["words"]


@needs_browser
def test_no_page_complains_or_shows_what_is_no_number(seen):
    for name, widths in seen.items():
        for width, page in widths.items():
            assert page["wrong"] == [], (name, width)
            for wrong in ("NaN", "undefined", "Infinity", "[object", ">null<", ">-"):
                assert wrong not in page["markup"], (name, width)
            assert page["scripts"] == 4  # the page's two, and those that look


@needs_browser
def test_no_label_touches_another_or_is_cut_off(seen):
    for name, widths in seen.items():
        for width, page in widths.items():
            assert page["trouble"] == [], (name, width)
            assert page["labels"] > 20 or name == "not begun"


@needs_browser
def test_a_chart_says_what_was_at_the_pointer(seen):
    for name in ("tuned", "photographs", "crowded"):
        told = [one for one in seen[name][900]["pointed_at"] if re.match(r"at [\d.,]+ (s|h): ", one)]
        assert len(told) >= 3, name


@needs_browser
def test_the_page_as_it_is_written_opens_without_a_word_in_the_console(pages):
    printed = start(pages["tuned"], "--dump-dom", "--enable-logging=stderr", "--log-level=0")
    assert "<svg" in printed
    assert "Cost per sample" in printed


@needs_browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_page_is_drawn_in_light_and_in_dark(pages, tmp_path, dark):
    image = Image.open(
        picture_of(pages["photographs"], tmp_path / "page.png", width=900, height=2000, dark=dark)
    )
    assert image.size == (900, 2000)
    colours = image.convert("RGB").getcolors(1 << 20)
    assert len(colours) > 100
    most = max(colours)[1]
    assert (sum(most) < 150) == dark
    assert (sum(most) > 700) == (not dark)


@needs_browser
def test_what_looks_for_trouble_finds_it(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        '<!DOCTYPE html><meta charset="utf-8"><img src="https://example.org/x.png"><svg width="2000" height="90">'
        '<text x="5" y="30">one</text><text x="20" y="34">two</text><text x="390" y="60">three</text></svg>'
        '<div class="scroll" style="overflow-x: auto; width: 50px"><p style="width: 90px">x</p></div>'
        "<script>missing.x = 1</script>"
    )
    found = look_at({"page": page}, (400,))["page"][400]
    assert any("missing is not defined" in one for one in found["wrong"])
    assert any("example.org" in one for one in found["wrong"])
    for trouble in ('"one" and "two" overlap', '"three" is cut off', "the page is ", "a table is 90 wide"):
        assert any(trouble in one for one in found["trouble"]), trouble
