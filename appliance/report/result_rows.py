"""Results as rows of a report: what was asked, against what is published, what is normal. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from appliance import text
from appliance.clouds import capability
from appliance.figures import quantities
from appliance.figures.provisioned import in_words
from appliance.model.measurement import Capability, DeviceIo, JobResult, Measurement, Source
from appliance.model.slots import Detail, Slot
from appliance.report.markup import clipped
from appliance.report.page import (
    NAME,
    BesideNormal,
    MemberShare,
    Normals,
    Published,
    Row,
    Trend,
)

# More runs would make the marks of a trend touch each other.
MAX_TREND_RUNS = 60


def _percentiles(found: dict[str, int]) -> tuple[tuple[float, int], ...]:
    """Percent texts as fio writes them, as numbers, ascending; what is no number is left out."""
    pairs = []
    for key, ns in found.items():
        try:
            percent = float(key)
        except ValueError:
            continue
        if 0 < percent <= 100:
            pairs.append((percent, ns))
    return tuple(sorted(pairs))


def result_rows(results: Sequence[JobResult], normals: Normals) -> tuple[Row, ...]:
    """A row for each result, numbered by job; ``normals`` is what each is compared with."""
    numbers: dict[tuple[str, str, int], int] = {}
    return tuple(
        _row(
            result,
            number=numbers.setdefault(
                (result.job, result.member, result.pass_index), len(numbers) + 1
            ),
            normals=normals,
        )
        for result in results
    )


def trends(
    rows: Sequence[Row], results: Sequence[JobResult], past: Sequence[Detail], *, run: Detail
) -> tuple[Trend, ...]:
    """What each job did in earlier runs, for the jobs that earlier runs had too."""
    made: dict[tuple[object, ...], Trend] = {}
    for row, result in zip(rows, results, strict=True):
        key = _key(result)
        if key in made or row.baseline is None:
            continue
        points = [
            found
            for one in (*past[-MAX_TREND_RUNS:], run)
            if (found := _of_run(one, key)) is not None
        ]
        if len(points) > 1:
            made[key] = Trend(row.number, row.label, tuple(points), row.baseline)
    return tuple(made.values())


def _row(result: JobResult, *, number: int, normals: Normals) -> Row:
    job = result.job if result.pass_index == 1 else f"{result.job} (pass {result.pass_index})"
    return dataclasses.replace(
        row(result, number, where=f"{result.member} alone" if result.member else ""),
        job=job,
        bins=tuple(sorted(result.bins.items())),
        baseline=dataclasses.replace(
            normals.get((result.job, result.direction, result.member), BesideNormal()),
            value=result.iops if result.valid else None,
        ),
    )


def row(of: Measurement, number: int, *, where: str) -> Row:
    """A result, wherever it comes from."""
    corrected, block = quantities.corrected_iops(of), of.block_size_bytes
    return Row(
        number=number,
        job=of.job,
        of=of,
        asked=_asked(of),
        where=where,
        percentiles=_percentiles(of.percentiles_ns or {}),
        corrected_iops=corrected,
        corrected_bytes_per_s=corrected * block if corrected is not None and block else None,
        published=_published(of, corrected),
        by_the_disks=in_words(of.device_latencies),
    )


def _asked(of: Measurement) -> str:
    asked = text.workload(
        clipped(of.rw, NAME),
        block_size_bytes=of.block_size_bytes,
        iodepth=of.iodepth,
        jobs=of.jobs,
        direction=of.direction,
    )
    # All results of a run have the same engine, which the page says once.
    return f"{asked}, {of.engine}" if of.source is Source.IMPORT and of.engine else asked


def _published(of: Measurement, corrected: float | None) -> tuple[Published, ...]:
    known = of.capability
    if known is None:
        return ()
    by_others = [
        f"{known.measured_iops:,.0f} IOPS" if known.measured_iops else "",
        text.bandwidth(known.measured_bytes_per_s) if known.measured_bytes_per_s else "",
    ]
    return (
        *_beside_limits(of, known, corrected),
        *(
            Published(None, words, source=known.measured_source, verb="measured by others")
            for words in by_others
            if words
        ),
    )


def _beside_limits(
    of: Measurement, known: Capability, corrected: float | None
) -> tuple[Published, ...]:
    """A result beside its published limits: the nearer one, or both where the job cannot reach
    either. ``corrected`` IOPS are what is believed in place of those of an invalid result.
    """
    shares = [
        (100 * (value or 0.0) / limit, words)
        for value, limit, words in (
            (of.iops, known.iops, f"{known.iops or 0:,.0f} IOPS"),
            (of.bandwidth_bytes, known.bytes_per_s, text.bandwidth(known.bytes_per_s or 0.0)),
        )
        if limit
    ]
    percent = capability.percent_of_published(of) if of.valid or corrected is not None else None
    if not shares:
        return ()
    if percent is None:
        return tuple(Published(None, words, known.basis, known.source) for _, words in shares)
    believed = corrected / of.iops if not of.valid and corrected is not None and of.iops else 1.0
    share, words = min(shares, key=lambda one: abs(one[0] - percent))
    if abs(share - percent) > 0.01 * percent:
        # IOPS and bandwidth contradict each other: then neither limit alone gives it.
        words = "the published figures"
    return (
        Published(percent * believed, words, known.basis, known.source, corrected=believed != 1.0),
    )


def member_shares(devices: Iterable[DeviceIo], direction: str) -> tuple[MemberShare, ...]:
    """Bytes and await of each member during a job, in the order given."""
    shares = []
    for did in devices:
        ios, ticks_ms = quantities.ios(did, direction), quantities.ticks_ms(did, direction)
        shares.append(
            MemberShare(
                member=did.device,
                size_bytes=quantities.io_bytes(did, direction),
                ios=ios,
                await_ms=ticks_ms / ios if ticks_ms is not None and ios else None,
            )
        )
    return tuple(shares)


def _key(result: JobResult) -> tuple[object, ...]:
    """What must be the same for two results to be of one series."""
    return (
        result.job,
        result.direction,
        result.rw,
        result.block_size_bytes,
        result.jobs,
        result.iodepth,
        result.engine,
        result.member,
    )


def _of_run(run: Detail, key: tuple[object, ...]) -> Slot | None:
    """A run's value in one series, as drift has it."""
    same = [(one.iops, one.valid) for one in run.results if _key(one) == key]
    return Slot.of_passes(run.run.id, run.run.started_at, same) if same else None
