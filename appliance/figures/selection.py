"""What one side of a comparison is: ``12``, ``epoch:3``, ``import:1``, ``import:1:md0``. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from appliance.errors import UsageError
from appliance.figures import comparison, quantities
from appliance.figures.comparison import Key, Observation
from appliance.model import JobResult, Judged, RunRecord

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
            key=Key.of(
                rw=result.rw,
                direction=result.direction,
                block_size_bytes=result.block_size_bytes,
                jobs=result.jobs,
                iodepth=result.iodepth,
                engine=result.engine or run.engine,
            ),
            unit=run.id,
            label=f"run {run.id}",
            job=result.job,
            layout=result.member or layout,
            disks=1 if result.member else len(run.members),
            member=result.member,
            iops=result.iops,
            valid=result.valid,
            codes=tuple(finding.code for finding in result.findings),
            corrected_iops=quantities.corrected_iops(result),
            blocks=comparison.block_means(seconds),
            bins=tuple(result.bins.items()),
        )
        for result, seconds in zip(results, rates or [()] * len(results), strict=True)
    ]


def of_import(reports: Sequence[Judged], device: str) -> list[Observation]:
    """Imported reports, those on ``device`` (an array or a disk) alone if it is given."""
    return [
        Observation(
            key=Key.of(
                rw=one.evidence.rw,
                direction=one.evidence.direction,
                block_size_bytes=one.evidence.block_size_bytes,
                jobs=one.evidence.jobs,
                iodepth=one.evidence.iodepth,
                engine=one.evidence.engine,
            ),
            unit=number,
            label=f"line {one.line}",
            job=one.evidence.job,
            layout=one.evidence.device,
            disks=len(one.evidence.members) or (1 if one.evidence.device else 0),
            member="",
            iops=one.evidence.iops,
            valid=one.valid,
            codes=tuple(finding.code for finding in one.findings),
            corrected_iops=quantities.corrected_iops(one),
        )
        for number, one in enumerate(reports)
        if device in ("", one.evidence.device)
    ]
