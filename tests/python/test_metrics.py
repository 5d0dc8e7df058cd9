"""Metrics are OpenMetrics text of what the reports say, and a local endpoint answers with them."""

import http.client
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import warnings

import pytest
from headrace._watching import metrics as _metrics

import headrace as hr
from headrace import ops

parser = pytest.importorskip("prometheus_client.openmetrics.parser")


def parsed(text):
    """Families by name, as a reader of OpenMetrics sees them."""
    return {family.name: family for family in parser.text_string_to_metric_families(text)}


def series(loader, text=None):
    """The samples of one loader: {name: [(other labels, value)]}."""
    out = {}
    for family in parsed(hr.metrics() if text is None else text).values():
        for sample in family.samples:
            labels = dict(sample.labels)
            if labels.pop("loader", None) == str(loader.number):
                labels.pop("rank"), labels.pop("name", None)
                out.setdefault(sample.name, []).append((labels, sample.value))
    return out


def value(loader, name, **labels):
    (found,) = [number for had, number in series(loader)[name] if had == labels]
    return found


def test_numbers_are_those_of_the_report(photos):
    data = hr.read(photos).map(lambda s: {"image": ops.resize(ops.decode_image(s.image), size=[16, 16])})
    loader = data.cache().batch(5).numpy()
    for _ in range(2):
        assert len(list(loader)) == 3
    report = loader.report()
    assert value(loader, "headrace_samples_total") == report["samples"] == 24
    assert value(loader, "headrace_elements_total") == 6
    assert value(loader, "headrace_consumer_wait_seconds_total") == report["consumer_wait_s"]
    assert value(loader, "headrace_iteration_seconds_total") == report["wall_s"]
    assert value(loader, "headrace_io_read_bytes_total") == report["io"]["bytes"] > 0
    assert value(loader, "headrace_memory_budget_bytes") == report["memory"]["budget"]
    assert value(loader, "headrace_memory_peak_bytes") == report["memory"]["peak"]
    assert value(loader, "headrace_memory_bytes", use="with_the_consumer") >= 0
    decode, resize = report["operators"]
    assert (
        value(loader, "headrace_operator_cpu_seconds_total", operator="decode_image", ordinal="0")
        == decode["cpu_s"]
    )
    assert value(loader, "headrace_operator_calls_total", operator="resize", ordinal="1") == resize["calls"]
    assert value(loader, "headrace_cache_elements", cache="0") == 12
    assert value(loader, "headrace_cache_hits_total", cache="0") == report["caches"][0]["hits"]
    assert value(loader, "headrace_epoch") == 2 and value(loader, "headrace_epoch_size") == 3
    assert value(loader, "headrace_epoch_position") == 3
    for knob, number in report["settings"].items():
        assert value(loader, "headrace_settings", knob=knob) == number
    limits = {labels["headrace_limited_by"]: on for labels, on in series(loader)["headrace_limited_by"]}
    assert [limit for limit, on in limits.items() if on] == [report["limited_by"]]
    assert {"cpu", "store latency", "consumer"} <= set(limits)


def test_kinds_and_units_are_declared():
    loader = hr.range(10).batch(2).numpy()
    families = parsed(hr.metrics())
    assert families["headrace_samples"].type == "counter"
    assert (families["headrace_cpu_seconds"].type, families["headrace_cpu_seconds"].unit) == (
        "counter",
        "seconds",
    )
    assert (families["headrace_memory_bytes"].type, families["headrace_memory_bytes"].unit) == (
        "gauge",
        "bytes",
    )
    assert families["headrace_limited_by"].type == "stateset"
    (version,) = families["headrace"].samples
    assert (version.name, version.labels) == ("headrace_info", {"version": hr.__version__})
    assert all(family.documentation for family in families.values())
    assert all(family.name.startswith("headrace") for family in families.values())
    assert value(loader, "headrace_loader_info", world="1", fingerprint=loader._core.fingerprint) == 1


def test_every_loader_has_series_of_its_own_for_as_long_as_it_lives():
    ranks = [hr.range(10).shard(rank, 2).batch(2).numpy() for rank in (0, 1)]
    ranks[1].name = 'the "second"\\\n'
    list(ranks[1].at_its_first_epoch())
    assert value(ranks[0], "headrace_samples_total") == 0
    assert value(ranks[1], "headrace_samples_total") == 5
    samples = {
        (sample.labels["loader"], sample.labels["rank"], sample.labels.get("name")): sample.value
        for sample in parsed(hr.metrics())["headrace_samples"].samples
    }
    assert samples[str(ranks[0].number), "0", None] == 0
    assert samples[str(ranks[1].number), "1", 'the "second"\\\n'] == 5  # what was escaped comes back
    gone = ranks.pop()
    number = gone.number
    del gone
    assert f'loader="{number}"' not in hr.metrics()
    assert hr.metrics().endswith("# EOF\n")


def test_metrics_of_no_loader_are_valid():
    assert list(parsed(_metrics.text_of([]))) == ["headrace"]


def test_what_a_report_may_lack_is_left_out_and_what_is_new_is_taken():
    bare = {"operators": [], "caches": [], "memory": {"budget": 5, "peak_slot": 3}}
    place = {"epoch": 0, "position": 0, "world": 1, "fingerprint": "a-b"}
    more = {
        **bare,
        "limited_by": "the moon",
        "decisions": [{"knob": "io"}, {"knob": "workers"}, {"knob": "io"}],
        "phases": {"io": {"queued": 3, "running": 2}, "done": 1},
        "consumer_samples_per_s": 1234.5,
        "operators": [
            {"name": "decode_image", "calls": 7, "cpu_s": 0.5, "bytes": 9, "decoders": {"jpeg": 6, "png": 1}}
        ],
    }
    text = _metrics.text_of([({"loader": "0"}, bare, place), ({"loader": "1"}, more, place)])
    families = parsed(text)
    assert "headrace_samples" not in families

    def numbers(name):
        return {
            tuple(v for k, v in s.labels.items() if k != "loader"): s.value for s in families[name].samples
        }

    assert numbers("headrace_tuner_decisions") == {("io",): 2, ("workers",): 1}
    assert numbers("headrace_tickets") == {("io", "queued"): 3, ("io", "running"): 2, ("done", "ready"): 1}
    assert numbers("headrace_consumer_samples_per_second") == {(): 1234.5}
    assert numbers("headrace_limited_by")["the moon",] == 1
    assert numbers("headrace_decoded_images")["jpeg", "decode_image", "0"] == 6
    assert numbers("headrace_memory_peak_of_use_bytes") == {("slot",): 3}


def test_metrics_may_be_asked_for_while_loaders_run_come_and_go():
    over = threading.Event()
    failures = []

    def ask():
        while not over.is_set():
            try:
                parsed(hr.metrics())
            except Exception as error:  # noqa: BLE001 -- told below
                failures.append(error)
                return

    asking = threading.Thread(target=ask)
    asking.start()
    for _ in range(50):
        for _ in hr.range(1000).map(lambda x: x + 1).batch(10):
            pass
    over.set()
    asking.join()
    assert not failures


# ---- the endpoint


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.status, answer.headers["Content-Type"], answer.read().decode()


def test_the_endpoint_answers_with_metrics_and_with_nothing_else():
    loader = hr.range(10).batch(2).numpy()
    list(loader)
    with hr.serve_metrics() as server:
        assert server.host == "127.0.0.1" and server.port > 0
        status, kind, text = get(server.url)
        assert (status, kind) == (200, "application/openmetrics-text; version=1.0.0; charset=utf-8")
        assert dict(series(loader, text))["headrace_samples_total"] == [({}, 10.0)]
        assert get(server.url + "?x=1")[0] == 200
        for path in ("", "/", "/metrics/", "/other"):
            with pytest.raises(urllib.error.HTTPError) as told:
                get(f"http://127.0.0.1:{server.port}{path}")
            assert told.value.code == 404
        asking = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        asking.request("POST", "/metrics")
        assert asking.getresponse().status == 501
    with pytest.raises(urllib.error.URLError):
        get(server.url)
    server.close()
    assert "closed" in repr(server)


def test_it_listens_on_this_machine_alone():
    with hr.serve_metrics() as server:
        table = bound_addresses(server.port)
        assert table == {"0100007F"}  # 127.0.0.1
    with hr.serve_metrics(host="0.0.0.0") as server:
        assert bound_addresses(server.port) == {"00000000"}


def bound_addresses(port):
    """Addresses that listen at a port, as /proc has them."""
    with open("/proc/net/tcp") as table:  # noqa: PTH123
        rows = [line.split() for line in table][1:]
    return {
        row[1].partition(":")[0]
        for row in rows
        if row[3] == "0A" and int(row[1].partition(":")[2], 16) == port
    }


def test_the_same_port_again_is_an_error_that_leaves_nothing():
    before = threading.active_count()
    with hr.serve_metrics() as server, pytest.raises(OSError):
        hr.serve_metrics(server.port)
    assert threading.active_count() == before
    with hr.serve_metrics(server.port) as again:  # it is free again
        assert again.port == server.port


def test_closing_does_not_wait_for_a_client_that_says_nothing():
    server = hr.serve_metrics()
    with socket.create_connection((server.host, server.port)) as silent:
        while server._server._asking is None:
            time.sleep(0.001)
        began = time.monotonic()
        server.close()
        assert time.monotonic() - began < 1.5  # of the 2 s that the client would have had
        assert silent.recv(100) == b""
    assert not server._thread.is_alive()


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="serve_metrics: port"):
        hr.serve_metrics(70_000)
    with pytest.raises(TypeError, match="serve_metrics: host"):
        hr.serve_metrics(host=1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_lets_the_port_be_and_knows_no_loader_of_its_parent():
    loader = hr.range(10).batch(2).numpy()
    server = hr.serve_metrics()
    told, tell = os.pipe()
    done, release = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that threads are there is what is tested
        child = os.fork()
    if child == 0:
        status = 1
        try:
            own = hr.range(4).batch(2).numpy()
            said = hr.metrics()
            if f'loader="{loader.number}"' not in said and f'loader="{own.number}"' in said:
                with hr.serve_metrics() as mine:
                    status = 0 if "headrace_samples_total" in get(mine.url)[2] else 2
            server.close()
            os.write(tell, bytes([status]))
            os.read(done, 1)
        finally:
            os._exit(status)
    os.close(tell)  # a child that dies is told by the end of what it says
    try:
        assert os.read(told, 1) == b"\0"
        assert "headrace_samples_total" in get(server.url)[2]  # the parent answers on
        server.close()
        with pytest.raises(ConnectionRefusedError):  # nobody listens any more, though the child lives
            socket.create_connection((server.host, server.port), timeout=10)
    finally:
        os.write(release, b"x")
        os.waitpid(child, 0)


def test_a_process_with_an_endpoint_and_an_iteration_ends_at_once_and_quietly():
    program = """
import headrace as hr, urllib.request
server = hr.serve_metrics()
loader = hr.range(10**9).map(lambda x: x + 1).batch(10).numpy()
running = iter(loader)
next(running)
assert b"headrace_samples_total" in urllib.request.urlopen(server.url).read()
print("end")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
