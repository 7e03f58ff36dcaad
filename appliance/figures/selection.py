"""What one side of a comparison is: ``12``, ``epoch:3``, ``import:1``, ``import:1:md0``. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from appliance.errors import UsageError
from appliance.figures import comparison, quantities
from appliance.figures.comparison import Key, Observation
from appliance.model.measurement import ImportedResult, JobResult, Measurement
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
    run: RunRecord, results: Sequence[JobResult], *, layout: str, rates: Sequence[Sequence[float]]
) -> list[Observation]:
    """A run's results. ``rates`` are those of each second of each result, or empty."""
    return [
        Observation(
            **_figures(result, engine=result.engine or run.engine),
            unit=run.id,
            label=f"run {run.id}",
            layout=result.member or layout,
            disks=1 if result.member else len(run.members),
            member=result.member,
            blocks=comparison.block_means(seconds),
            bins=tuple(result.bins.items()),
        )
        for result, seconds in zip(results, rates or [()] * len(results), strict=True)
    ]


def of_import(reports: Sequence[ImportedResult], device: str) -> list[Observation]:
    """Imported reports, those on ``device`` (an array or a disk) alone if it is given."""
    return [
        Observation(
            **_figures(one, engine=one.engine),
            unit=number,
            label=f"line {one.line}",
            layout=one.device,
            disks=len(one.members) or (1 if one.device else 0),
            member="",
        )
        for number, one in enumerate(reports)
        if device in ("", one.device)
    ]


class _Figures(TypedDict):
    key: Key
    job: str
    iops: float | None
    valid: bool
    codes: tuple[str, ...]
    corrected_iops: float | None


def _figures(of: Measurement, *, engine: str) -> _Figures:
    """What takes part of a result, wherever it comes from."""
    return {
        "key": Key.of(
            rw=of.rw,
            direction=of.direction,
            block_size_bytes=of.block_size_bytes,
            jobs=of.jobs,
            iodepth=of.iodepth,
            engine=engine,
        ),
        "job": of.job,
        "iops": of.iops,
        "valid": of.valid,
        "codes": tuple(finding.code for finding in of.findings),
        "corrected_iops": quantities.corrected_iops(of),
    }
