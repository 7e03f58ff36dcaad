"""The history as metrics, for Prometheus and the node exporter's textfile collector. Reads only.

Two readers have to accept the text. OpenMetrics 1.0 wants ``# EOF`` at the end, units at the
end of names, and ``_total`` on the samples of a counter but not on its name. The textfile
collector reads Prometheus' text format 0.0.4, for which that counter would be two metrics,
which does not know the types ``info`` and ``stateset``, and refuses time stamps. Both take the
same gauges: so everything is a gauge, which is also the truth, because a history that was set
aside begins again from nothing; moments are values; UNIT and EOF are comments to the
collector; and help texts hold no quotes or backslashes, which the two escape differently.
https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from appliance.figures import quantities
from appliance.history.queries import Reader
from appliance.model.confirmations import CONFIRM_SUITE
from appliance.model.findings import DriftSeverity, DriftState, FindingRecord, by_gravity
from appliance.model.measurement import JobResult
from appliance.model.runs import RunRecord, RunState
from appliance.text import printable

# Each label is a series in a metrics database: never more of them than this.
_MOST_FINDINGS = 50
_MAX_LABEL_CHARS = 120
_STATES = tuple(state for state in DriftState if state is not DriftState.CLOSED)
Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Gauge:
    """One metric family. ``unit`` is the end of ``name``, or empty if it has none."""

    name: str
    unit: str
    summary: str
    samples: tuple[tuple[Labels, float], ...]


def metrics_text(reader: Reader, *, drift_checked_at: float | None = None) -> str:
    """The exposition of :func:`gauges`."""
    return render(gauges(reader, drift_checked_at=drift_checked_at))


def gauges(reader: Reader, *, drift_checked_at: float | None = None) -> list[Gauge]:
    """How runs ended and when, and of each series what was last measured and may be quoted; what
    drift there is. ``drift_checked_at`` is when it was last looked for, seconds since the epoch.
    """
    counts = reader.run_counts()
    states = [{"suite": one.suite, "state": one.state.value} for one in counts]
    runs = Gauge(
        "stripewright_runs",
        "",
        "Runs in the history, by the state they are in.",
        tuple(zip(states, (float(one.count) for one in counts), strict=True)),
    )
    last = Gauge(
        "stripewright_last_run_timestamp_seconds",
        "seconds",
        "When the last run of a suite in this state ended, or began if it has not.",
        tuple(zip(states, (one.last_at for one in counts), strict=True)),
    )
    found = [(_series_labels(run, result), run, result) for run, result in reader.latest_results()]
    return [
        runs,
        last,
        *(
            Gauge(
                f"stripewright_result_{name}",
                unit,
                f"{summary}, of the last valid result of a series.",
                tuple(
                    (labels, value)
                    for labels, run, result in found
                    if (value := value_of(run, result)) is not None
                ),
            )
            for name, unit, summary, value_of in _RESULT_GAUGES
        ),
        *drift_gauges(reader, checked_at=drift_checked_at),
    ]


def last_runs(reader: Reader, most: int) -> tuple[int, ...]:
    """The last run of each suite on each target that is complete and has results, latest first;
    as :meth:`Reader.latest_results` counts runs.
    """
    found = reader.all(
        "SELECT max(run.id) AS id FROM run JOIN result ON run_id = run.id"
        " WHERE state = ? AND time_factor = 1 AND suite != ?"
        " GROUP BY suite, target ORDER BY 1 DESC LIMIT ?",
        RunState.COMPLETE.value,
        CONFIRM_SUITE,
        most,
    )
    return tuple(row["id"] for row in found)


def _series_labels(run: RunRecord, result: JobResult) -> Labels:
    return {
        "suite": run.suite,
        "target": run.target,
        "job": result.job,
        "direction": result.direction,
        "member": result.member,
    }


def _seconds(latency_ns: float | None) -> float | None:
    return None if latency_ns is None else latency_ns / 1e9


_RESULT_GAUGES: tuple[tuple[str, str, str, Callable[[RunRecord, JobResult], float | None]], ...] = (
    ("iops", "", "I/O operations a second", lambda _, result: result.iops),
    ("bandwidth_bytes_per_second", "bytes_per_second", "Bytes a second",
        lambda _, result: result.bandwidth_bytes),
    ("latency_mean_seconds", "seconds", "Mean latency from submission to completion",
        lambda _, result: _seconds(result.latency_mean_ns)),
    ("latency_p99_seconds", "seconds", "The 99th percentile of latency",
        lambda _, result: _seconds(quantities.percentile_ns(result, 99.0))),
    ("published_ratio", "ratio", "I/O operations a second over those that the provider publishes",
        lambda _, result: result.iops / result.published_iops if result.published_iops else None),
    ("timestamp_seconds", "seconds", "End of the run in Unix time", lambda run, _: run.ended_at),
)  # fmt: skip


def drift_gauges(reader: Reader, *, checked_at: float | None) -> list[Gauge]:
    """How many findings there are of each severity and state, and which; when the last check was.

    ``checked_at`` is seconds since the epoch. The counts are there with zeros from the first check
    on: an alarm on a series that does not exist is never raised.
    """
    found = reader.drift_findings()
    if checked_at is None and not found:
        return []
    counts = Counter((one.fact.severity, one.state) for one in found)
    return [
        Gauge(
            "stripewright_drift_findings",
            "",
            "Findings of drift that are not closed.",
            tuple(
                (
                    {"severity": severity.value, "state": state.value},
                    float(counts[severity, state]),
                )
                for severity in DriftSeverity
                for state in _STATES
            ),
        ),
        Gauge(
            "stripewright_drift_finding_opened_timestamp_seconds",
            "seconds",
            "Since when a finding is open; the gravest fifty.",
            tuple(
                (_finding_labels(one), one.opened_at)
                for one in sorted(found, key=by_gravity)[:_MOST_FINDINGS]
            ),
        ),
        Gauge(
            "stripewright_drift_checked_timestamp_seconds",
            "seconds",
            "When drift was last looked for.",
            () if checked_at is None else (({}, checked_at),),
        ),
    ]


def _finding_labels(record: FindingRecord) -> dict[str, str]:
    fact = record.fact
    return {
        "finding": str(record.id),
        "code": fact.code,
        "severity": fact.severity.value,
        "state": record.state.value,
        "subject": fact.subject[:_MAX_LABEL_CHARS],
        "member": fact.member[:_MAX_LABEL_CHARS],
    }


def render(families: Iterable[Gauge]) -> str:
    """The exposition; a family without a sample, and a value that is no number, is left out."""
    lines: list[str] = []
    for gauge in families:
        samples = [one for one in gauge.samples if math.isfinite(one[1])]
        if not samples:
            continue
        lines.append(f"# TYPE {gauge.name} gauge")
        if gauge.unit:
            lines.append(f"# UNIT {gauge.name} {gauge.unit}")
        lines.append(f"# HELP {gauge.name} {gauge.summary}")
        lines += [f"{gauge.name}{_labels(labels)} {_number(value)}" for labels, value in samples]
    return "\n".join([*lines, "# EOF", ""])


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    # What could steer a terminal becomes visible first; of what is left, these three mean
    # something to a parser.
    return printable(value).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
