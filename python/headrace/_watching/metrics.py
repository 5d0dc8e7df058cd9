"""The metrics of all loaders in this process, as OpenMetrics text for Prometheus and similar systems.

The format: https://prometheus.io/docs/specs/om/open_metrics_spec/. Counters accumulate over all iterations of a loader; when a
loader is deleted, its series disappear.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .. import _core
from .._version import __version__
from ..loaders.loader import Loader, alive

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"

Labels = Mapping[str, str]
Kind = Literal["counter", "gauge", "info", "stateset"]


@dataclass
class Family:
    """All series of one name."""

    name: str
    kind: Kind
    doc: str
    series: list[tuple[Labels, float]] = field(default_factory=list)

    @property
    def unit(self) -> str:
        """The unit, which is the end of the name."""
        return next((unit for unit in ("seconds", "bytes") if self.name.endswith(f"_{unit}")), "")

    def lines(self) -> Iterable[str]:
        """Format it as OpenMetrics."""
        yield f"# TYPE {self.name} {self.kind}"
        if self.unit:
            yield f"# UNIT {self.name} {self.unit}"
        yield f"# HELP {self.name} {_escaped(self.doc)}"
        suffix = {"counter": "_total", "info": "_info"}.get(self.kind, "")
        for labels, value in self.series:
            named = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
            yield f"{self.name}{suffix}{f'{{{named}}}' if named else ''} {value!r}"


def metrics() -> str:
    """Return the metrics of all loaders in this process, as OpenMetrics text.

    Each series has the labels `loader`, a number in order of creation, `rank`, and `name` if the loader has one
    (`loader.name = "train"`). The values are those of `loader.report()`. `serve_metrics` serves this text over HTTP.

    Example:
        # TYPE headrace_samples counter
        # HELP headrace_samples Samples handed out.
        headrace_samples_total{loader="0",rank="0",name="train"} 81920
        ...
        # EOF
    """
    return text_of((labels_of(loader), loader.report(), _place_of(loader)) for loader in alive())


def labels_of(loader: Loader[Any]) -> Labels:
    """Return the labels that identify a loader."""
    labels = {"loader": str(loader.number), "rank": str(loader.rank_and_world[0])}
    return labels | {"name": loader.name} if loader.name else labels


def _place_of(loader: Loader[Any]) -> dict[str, Any]:
    size = loader.pipeline._node.size
    known = {} if size is None else {"epoch_size": size}
    return known | {
        "epoch": loader.epoch,
        "position": loader._core.position,
        "world": loader.rank_and_world[1],
        "fingerprint": loader._core.fingerprint,
    }


def text_of(loaders: Iterable[tuple[Labels, Mapping[str, Any], Mapping[str, Any]]]) -> str:
    """Format the reports of loaders, each with its labels and position."""
    families: dict[str, Family] = {}

    def add(name: str, kind: Kind, doc: str, labels: Labels, value: float) -> None:
        families.setdefault(name, Family(name, kind, doc)).series.append((labels, value))

    add("headrace", "info", "The version of Headrace.", {"version": __version__}, 1)
    for labels, report, place in loaders:
        _add_loader(add, labels, report, place)
    lines = [line for family in families.values() for line in family.lines()]
    return "\n".join([*lines, "# EOF", ""])


# (key in the report, metric name, kind, help).
_NUMBERS: tuple[tuple[str, str, Kind, str], ...] = (
    ("elements", "elements", "counter", "Elements, mostly batches, handed out."),
    ("samples", "samples", "counter", "Samples handed out."),
    ("wall_s", "iteration_seconds", "counter", "Wall-clock time of iterations."),
    ("consumer_wait_s", "consumer_wait_seconds", "counter", "Time that the consumer waited for elements."),
    ("cpu_s", "cpu_seconds", "counter", "CPU time of workers and readers."),
    ("core_wait_s", "core_wait_seconds", "counter", "Time that workers and readers had work but no core."),
    ("skipped", "skipped_samples", "counter", 'Broken samples skipped by on_error("skip").'),
    ("replaced", "replaced_samples", "counter", 'Broken samples replaced by on_error("replace").'),
    ("io.reads", "io_reads", "counter", "Reads from storage."),
    ("io.bytes", "io_read_bytes", "counter", "Bytes read from storage."),
    ("io.seconds", "io_seconds", "counter", "Time in reads from storage, over all readers."),
    ("io.cpu_s", "io_cpu_seconds", "counter", "CPU time of the readers, which also decompress and verify."),
    ("in_flight", "in_flight_elements", "gauge", "Elements in progress or ready."),
    (
        "consumer_samples_per_s",
        "consumer_samples_per_second",
        "gauge",
        "Samples per second that the consumer would take from a loader that never makes it wait.",
    ),
    ("memory.budget", "memory_budget_bytes", "gauge", "Memory that the run may hold."),
    ("memory.peak", "memory_peak_bytes", "gauge", "Peak memory in use."),
    ("memory.allocations", "memory_allocations", "counter", "Memory blocks allocated from the system."),
    ("memory.reuses", "memory_reuses", "counter", "Memory blocks reused."),
)
_MEMORY = ("in_use", "kept_for_reuse", "with_the_consumer")
_OPERATOR: tuple[tuple[str, str, str], ...] = (
    ("calls", "operator_calls", "Calls of each operator."),
    ("cpu_s", "operator_cpu_seconds", "CPU time of each operator."),
    ("bytes", "operator_output_bytes", "Output bytes of each operator."),
)
_CACHE: tuple[tuple[str, str, Kind, str], ...] = (
    ("hits", "cache_hits", "counter", "Elements found in a cache."),
    ("misses", "cache_misses", "counter", "Elements not found in a cache."),
    ("elements", "cache_elements", "gauge", "Elements in a cache."),
    ("bytes", "cache_bytes", "gauge", "Bytes in a cache."),
)


def _add_loader(add: Any, labels: Labels, report: Mapping[str, Any], place: Mapping[str, Any]) -> None:
    def put(name: str, kind: Kind, doc: str, value: Any, **more: str) -> None:
        if value is not None:
            add(f"headrace_{name}", kind, doc, {**labels, **more}, value)

    who = {"world": str(place["world"]), "fingerprint": place["fingerprint"]}
    put("loader", "info", "The loader and its pipeline.", 1, **who)
    put("epoch", "gauge", "The current epoch, or the next one.", place["epoch"])
    put("epoch_position", "gauge", "Elements of the epoch handed out on this rank.", place["position"])
    put("epoch_size", "gauge", "Elements of an epoch on this rank.", place.get("epoch_size"))
    for path, name, kind, doc in _NUMBERS:
        put(name, kind, doc, _at(report, path))
    for state in _MEMORY:
        doc = "Memory of the run: in use, kept for reuse, and held by the consumer, outside the budget."
        put("memory_bytes", "gauge", doc, report["memory"].get(state), use=state)
    for name, value in report["memory"].items():
        if name.startswith("peak_"):
            use = name.removeprefix("peak_")
            put("memory_peak_of_use_bytes", "gauge", "Peak memory in use, by use.", value, use=use)
    for knob, value in report.get("settings", {}).items():
        put("settings", "gauge", "The three tuned settings.", value, knob=knob)
    _add_limit(put, report)
    for phase, states in report.get("phases", {}).items():
        for state, value in states.items() if isinstance(states, Mapping) else [("ready", states)]:
            doc = "Work items by phase: queued, running, or ready for the consumer."
            put("tickets", "gauge", doc, value, phase=phase, state=state)
    for knob, count in sorted(Counter(one["knob"] for one in report.get("decisions", ())).items()):
        put("tuner_decisions", "counter", "Changes of a setting by the tuner.", count, knob=knob)
    _add_operators(put, report["operators"])
    for number, cache in enumerate(report["caches"]):
        for key, name, kind, doc in _CACHE:
            put(name, kind, doc, cache[key], cache=str(number))


def _add_limit(put: Any, report: Mapping[str, Any]) -> None:
    named = report.get("limited_by")
    if named is None:
        return
    for limit in dict.fromkeys((*_core.limit_names(), named)):
        put(
            "limited_by",
            "stateset",
            "What limits the speed of the run.",
            int(limit == named),
            headrace_limited_by=limit,
        )


def _add_operators(put: Any, operators: list[Mapping[str, Any]]) -> None:
    for ordinal, operator in enumerate(operators):
        which = {"operator": operator["name"], "ordinal": str(ordinal)}
        for key, name, doc in _OPERATOR:
            put(name, "counter", doc, operator[key], **which)
        for decoder, images in operator.get("decoders", {}).items():
            put(
                "decoded_images",
                "counter",
                "Images decoded by each decoder.",
                images,
                decoder=decoder,
                **which,
            )


def _at(report: Mapping[str, Any], path: str) -> Any:
    found: Any = report
    for key in path.split("."):
        found = found.get(key) if found is not None else None
    return found


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
