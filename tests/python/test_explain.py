"""explain(): the plan with the sizes of its elements, what each rewrite changed, and an estimate of memory."""

import re

import numpy as np
import pytest

import headrace as hr
from headrace import ops

UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


def size(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def part(text, heading):
    """What stands under a heading, up to the next empty line."""
    return text.split(f"{heading}\n", 1)[1].split("\n\n", 1)[0].splitlines()


def sizes(text, heading="as written:"):
    """The verbs under a heading, each with what is said of its elements' size."""
    out, verb = [], ""
    for line in part(text, heading):
        if found := re.search(
            r"\}, (?:[\d]+ elements|endless|length unknown until run), (.*?)(?:    \(|$)", line
        ):
            out.append((verb, found[1]))
        elif found := re.match(r" *(\w+)", line):
            verb = found[1] if not line.startswith("     ") else verb
    return out


def memory(text):
    """The estimate: the sum, and {what: (bytes or None, how)}."""
    lines = text.split("memory, estimated: ", 1)[1].splitlines()
    held = {}
    for line in lines[1:]:
        if not line.startswith("    ") or line.startswith("    this"):
            break
        found = re.match(r"    (.{36}) +(\?|[\d.]+ \w+)   (.*)", line)
        held[found[1].strip()] = (None if found[2] == "?" else size(found[2]), found[3])
    total = re.match(r"(at least )?([\d.]+ \w+) of a budget of ([\d.]+ \w+)", lines[0])
    return size(total[2]), held


def pixels(s):
    return {"x": ops.resize(ops.decode_image(s.image), size=[32, 32]), "label": s.label}


def test_sizes_follow_from_shapes_where_they_are_known():
    data = hr.from_arrays({"x": np.zeros((100, 5), np.float32), "y": np.zeros(100, np.int64)})
    plan = data.shuffle(seed=1).map(lambda s: {"x": ops.cast(s.x, dtype="u8"), "y": s.y}).batch(8)
    assert sizes(plan.explain()) == [
        ("read", "28 B each"),
        ("shuffle", "28 B each"),
        ("map", "13 B each"),
        ("batch", "104 B each"),
    ]
    assert ("as it runs:" in plan.explain()) and sizes(plan.explain(), "as it runs:")[-1] == (
        "map",
        "104 B each",
    )
    assert sizes(data.filter(lambda s: s.y > 3).window(4).explain())[1:] == [
        ("filter", "28 B each"),
        ("window", "112 B each"),
    ]
    assert sizes(hr.range(10).repeat().explain())[-1] == ("repeat", "8 B each")
    assert sizes(hr.zip([hr.range(3), data.take(3)]).explain())[-1] == ("zip", "36 B each")


def test_what_shapes_do_not_say_is_unknown_until_it_is_measured(photos):
    plan = (
        hr.read(photos).map(lambda s: {"x": ops.decode_image(s.image), "jpeg": s.image}).batch(3, ragged=True)
    )
    assert {said for _, said in sizes(plan.explain())} == {"size unknown until read"}
    measured = dict(sizes(plan.explain(measure=True)))
    files = [path.stat().st_size for path in photos.rglob("*.jpg")]
    assert measured["read"] == f"about {(sum(files) + 8 * 12) / 12 / 1e3:.1f} kB each (mean of 12)"
    whole = [element["x"].nbytes + len(element["jpeg"]) for element in plan.unbatch()]
    assert measured["map"] == f"about {sum(whole) / 12 / 1e3:.1f} kB each (mean of 12)"
    assert measured["batch"] == f"about {3 * sum(whole) / 12 / 1e3:.1f} kB each (mean of 12)"
    plan = plan.options(memory_budget=1 << 28)  # what is free changes while others run
    assert plan.explain(measure=True) == plan.explain(measure=True)


def test_looking_takes_sixteen_of_many_from_everywhere_and_two_batches():
    seen = []

    def look(s):
        seen.append(int(s["i"]))
        return {"i": np.zeros(s["i"] % 3, np.int64)}

    data = hr.range(10_000).map(lambda i: {"i": i})
    plan = data.map(look, python=True)
    seen.clear()
    assert "mean of 16" in dict(sizes(plan.explain(measure=True)))["map"]
    assert 16 <= len(set(seen)) < 200 and max(seen) > 5000
    batched = data.batch(4).map(lambda s: {"i": np.zeros((s["i"].size % 5, 2))}, python=True)
    assert sizes(batched.explain(measure=True))[-1] == ("map", "about 64 B each (mean of 2)")


def test_looking_fills_no_cache(photos, tmp_path):
    folder = tmp_path / "kept"
    for plan in (
        hr.read(photos).map(pixels).cache(folder).batch(4),
        hr.read(photos).cache().batch(4, ragged=True),
    ):
        plan.explain(measure=True)
        loader = plan.numpy().at_its_first_epoch()
        list(loader)
        assert loader.report()["caches"][0]["hits"] == 0


def test_data_that_fail_while_they_are_looked_at_stay_unknown():
    broken = hr.from_list([b"no picture"] * 4).map(ops.decode_image)
    assert sizes(broken.explain(measure=True)) == [
        ("read", "about 10 B each (mean of 4)"),
        ("map", "size unknown until read"),
    ]


def test_streams_are_looked_at_from_their_beginning():
    def numbers():
        for i in range(100):
            yield {"x": np.zeros(i, np.uint8)}

    plan = hr.from_generator(numbers).filter(lambda s: ops.length(s.x) >= 0)
    assert sizes(plan.explain(measure=True))[-1] == ("filter", "about 8 B each (mean of 16)")


def test_defaults_are_left_out_and_fields_are_no_numbers(photos):
    text = hr.read(photos).map(lambda s: ops.random_flip(ops.decode_image(s.image, match="exact"))).explain()
    assert 'map  decode_image(match="exact"), random_flip()\n' in text
    boxes = hr.from_arrays({"x": np.zeros((4, 8, 8, 3), np.uint8), "p": np.ones(4, np.float32)})
    assert "random_flip(p=<field>)" in boxes.map(lambda s: ops.random_flip(s.x, p=s.p)).explain()


def marks(text, heading, verb):
    """How the nodes of a verb are marked in what changed."""
    return [line[2] for line in part(text, heading) if re.match(rf"  [-+] *{verb}", line)]


def test_rewrites_say_what_they_changed():
    plan = hr.range(10).map(lambda x: x + 1).map(lambda x: x * 2).shuffle(seed=3).batch(2)
    text = plan.explain()
    assert marks(text, "after sink_order_verbs (2x):", "shuffle") == ["+", "-"]  # it goes up
    assert marks(text, "after sink_order_verbs (2x):", "map") == []
    fused = part(text, "after fuse_maps (1x):")
    assert (
        fused[0]
        == "    adjacent maps run as one program: no samples are assembled in between, and unused fields are not"
    )
    assert "  - map  add(value=1)" in fused and "  - map  multiply(value=2)" in fused
    assert "  + map  add(value=1), multiply(value=2)" in fused
    hoisted = "after hoist_over_batch (1x):"
    assert sorted(marks(text, hoisted, "map")) == ["+", "-"] and marks(text, hoisted, "read") == []
    assert [verb for verb, _ in sizes(text, "as it runs:")] == ["read", "shuffle", "batch", "map"]
    plain = plan.options(rewrites=False).explain()
    assert "after " not in plain and "as it runs:" not in plain


def test_what_is_done_before_the_rewrites_is_shown_too(photos):
    text = hr.read(photos).map(pixels).filter(lambda s: s.label < 1).explain()
    assert sorted(marks(text, "before the rewrites:", "filter")) == ["+", "-"]
    assert [verb for verb, _ in sizes(text, "as it runs:")] == ["read", "filter", "map"]


def test_lines_of_the_plan_keep_to_a_hundred_columns(photos):
    def augment(s):
        image = ops.random_resized_crop(ops.decode_image(s.image), size=224)
        image = ops.normalize(
            ops.random_flip(image), mean=hr.IMAGENET_MEAN, std=hr.IMAGENET_STD, layout="CHW"
        )
        return {f"a_field_with_a_long_name_{i}": image for i in range(6)}

    text = hr.read(photos).map(augment).batch(4).explain().replace(str(photos), "photos")
    for heading in ("as written:", "before the rewrites:", "after fuse_decode", "as it runs:"):
        lines = text.split(heading, 1)[1].split("\n\n", 1)[0].splitlines()[1:]
        assert lines
        for line in lines:
            assert len(line) <= 104 or "->" in line or "}, 12 elements" in line or "}, 3 elements" in line, (
                line
            )


# ---- memory


def test_the_estimate_is_near_what_a_run_holds(photos):
    plan = hr.read(photos).map(pixels).repeat(20).batch(8).options(workers=2, ready=4)
    total, held = memory(plan.explain(measure=True))
    assert held["elements in progress and ready"] == (
        pytest.approx(4 * 8 * (32 * 32 * 3 + 8), rel=0.01),
        "4 of 24.6 kB",
    )
    assert held["bytes read ahead"][0] > 0 and held["scratch memory of workers"][0] > 0
    loader = plan.numpy()
    list(loader)
    peak = loader.report()["memory"]["peak"]
    assert peak / 3 < total < 3 * peak


def test_windows_and_caches_are_in_it():
    data = hr.from_arrays({"x": np.zeros((1000, 100), np.uint8)})
    plan = data.filter(lambda s: ops.length(s.x) > 0).shuffle(seed=1, window=50).batch(10)
    _, held = memory(plan.explain())
    assert held["shuffle window"] == (5000, "50 of 100 B")
    assert held["elements in progress and ready"][1].endswith(" of 1.0 kB")
    large = hr.from_arrays({"x": np.zeros((100, 10_000), np.uint8)})
    kept = large.map(lambda s: {"x": s.x}).cache(max_memory=2_000_000).shuffle(seed=1).batch(10)
    total, held = memory(kept.explain())
    assert held["cache, outside the budget"] == (1_000_000, "100 of 10.0 kB, at most 2.0 MB")
    assert total < 1_000_000  # it has memory of its own
    loader = kept.numpy().at_its_first_epoch()
    list(loader)
    assert loader.report()["caches"][0]["bytes"] == pytest.approx(1_000_000, rel=0.1)


def test_what_does_not_fit_is_said():
    data = (
        hr.from_arrays({"x": np.zeros((100, 1000), np.uint8)})
        .batch(50)
        .options(memory_budget=100_000, ready=4)
    )
    text = data.explain()
    assert "memory, estimated: at least 200.0 kB of a budget of 100.0 kB" in text
    assert "    this does not fit: " in text
    assert "this does not fit" not in data.options(memory_budget=10**6).explain()


def test_explaining_a_loader_is_explaining_its_dataset(photos):
    plan = hr.read(photos).map(pixels).batch(4).options(memory_budget=1 << 28)
    assert plan.numpy().explain(measure=True) == plan.explain(measure=True)
    with pytest.raises(TypeError, match="explain: measure"):
        plan.explain(measure=3)
