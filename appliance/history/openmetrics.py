"""Metrics as text for the node exporter's textfile collector. Pure.

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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from appliance.text import printable

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Gauge:
    """One metric family. ``unit`` is the end of ``name``, or empty if it has none."""

    name: str
    unit: str
    summary: str
    samples: tuple[tuple[Labels, float], ...]


def render(gauges: Iterable[Gauge]) -> str:
    """The exposition; a family without a sample, and a value that is no number, is left out."""
    lines: list[str] = []
    for gauge in gauges:
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
