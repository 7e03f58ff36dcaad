"""Impossible figures (NaN, below zero, beyond 64 bits) are taken as not known.

An imported file can say anything; no rule may fail on it.
"""

from __future__ import annotations

import dataclasses

from appliance.model.measurement import DeviceIo, Measurement

_MOST = 2**63
_FIGURES = (
    "block_size_bytes",
    "jobs",
    "iodepth",
    "iops",
    "bandwidth_bytes",
    "io_bytes",
    "total_ios",
    "runtime_ms",
    "runtime_asked_ms",
    "latency_mean_ns",
    "printed_iops",
    "printed_bandwidth_bytes",
    "cpu_percent",
    "host_cpu_percent",
    "other_direction_iops",
    "other_direction_latency_mean_ns",
)


def plausible(evidence: Measurement) -> Measurement:
    """``evidence`` without what cannot be a figure; the same object if all of it can."""
    changes: dict[str, object] = {
        name: None for name in _FIGURES if not _is_figure(getattr(evidence, name))
    }
    percentiles = evidence.percentiles_ns or {}
    if not all(map(_is_figure, percentiles.values())):
        changes["percentiles_ns"] = {
            percent: ns for percent, ns in percentiles.items() if _is_figure(ns)
        }
    if not all(map(_is_plausible, evidence.device_io)):
        changes["device_io"] = tuple(filter(_is_plausible, evidence.device_io))
    return dataclasses.replace(evidence, **changes) if changes else evidence  # type: ignore[arg-type]


def _is_figure(figure: object) -> bool:
    if figure is None:
        return True
    # NaN is neither above nor below anything.
    return isinstance(figure, int | float) and 0 <= figure <= _MOST


def _is_plausible(io: DeviceIo) -> bool:
    counts = (getattr(io, field.name) for field in dataclasses.fields(io) if field.name != "device")
    return all(map(_is_figure, counts))
