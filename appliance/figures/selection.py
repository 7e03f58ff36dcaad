"""What one side of a comparison is: ``12``, ``epoch:3``, ``import:1``, ``import:1:md0``. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from appliance.errors import UsageError
from appliance.figures import comparison
from appliance.figures.comparison import Key, Observation
from appliance.figures.metric import Metric
from appliance.model.measurement import JobResult, Measurement
from appliance.model.runs import RunRecord

# 18 digits: SQLite's integers have 63 bits.
_FORM = re.compile(r"(?:(epoch|import):)?([0-9]{1,18})(?::([!-~]{1,64}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Selector:
    """``kind`` is ``run``, ``epoch`` or ``import``; ``device`` narrows an import, or is empty."""

    kind: str
    number: int
    device: str = ""


def parse(text: str) -> Selector:
    """A side as it was typed; :class:`UsageError` for anything else."""
    found = _FORM.fullmatch(text)
    if found is None or (found[3] and found[1] != "import"):
        raise UsageError(
            f"{text!r} cannot be compared",
            "give the number of a run, epoch:N, import:N or import:N:DEVICE;"
            " 'stripewright results' lists them",
        )
    return Selector(found[1] or "run", int(found[2]), found[3] or "")


def of_run(
    run: RunRecord,
    results: Sequence[JobResult],
    *,
    layout: str,
    rates: Sequence[Sequence[float]],
    metric: Metric = Metric.IOPS,
) -> list[Observation]:
    """A run's results. ``rates`` are those of each second of each result, or empty."""
    return [
        _observation(
            result,
            metric,
            engine=result.engine or run.engine,
            unit=run.id,
            label=f"run {run.id}",
            layout=result.member or layout,
            disks=1 if result.member else len(run.members),
            member=result.member,
            # The seconds of a run have rates alone.
            blocks=() if metric.is_latency else comparison.block_means(seconds),
            bins=tuple(result.bins.items()),
        )
        for result, seconds in zip(results, rates or [()] * len(results), strict=True)
    ]


def of_import(
    reports: Sequence[Measurement], device: str, *, metric: Metric = Metric.IOPS
) -> list[Observation]:
    """Imported reports, those on ``device`` (an array or a disk) alone if it is given."""
    return [
        _observation(
            one,
            metric,
            engine=one.engine,
            unit=number,
            label=f"line {one.line}",
            layout=one.device,
            disks=len(one.members) or (1 if one.device else 0),
        )
        for number, one in enumerate(reports)
        if device in ("", one.device)
    ]


def _observation(of: Measurement, metric: Metric, *, engine: str, **place: Any) -> Observation:  # noqa: ANN401 - each field has its own
    """A result as it takes part, wherever it comes from."""
    return Observation(
        key=Key.of(
            rw=of.rw,
            direction=of.direction,
            block_size_bytes=of.block_size_bytes,
            jobs=of.jobs,
            iodepth=of.iodepth,
            engine=engine,
        ),
        job=of.job,
        value=metric.of(of),
        valid=of.valid,
        codes=tuple(finding.code for finding in of.findings),
        corrected=metric.corrected(of),
        **place,
    )
