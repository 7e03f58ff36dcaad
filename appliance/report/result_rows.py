"""Results as rows of a report: what was asked, against what is published, what is normal. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from appliance import text
from appliance.clouds import capability
from appliance.figures.provisioned import in_words
from appliance.figures.quantities import corrected_iops
from appliance.model import JobResult
from appliance.report.beside_normal import NOT_KNOWN, Normal, baseline
from appliance.report.markup import clipped
from appliance.report.page import NAME, Past, Published, Row, Trend, TrendPoint

_ACCESS = {
    "read": "sequential read",
    "write": "sequential write",
    "rw": "sequential reads and writes",
    "readwrite": "sequential reads and writes",
    "randread": "random read",
    "randwrite": "random write",
    "randrw": "random reads and writes",
}
# More runs would make the marks of a trend touch each other.
MAX_TREND_RUNS = 60


def access(rw: str, direction: str) -> str:
    """The access pattern (fio's ``rw``) in plain words; the direction without one."""
    return clipped(_ACCESS.get(rw, rw or direction), NAME)


def percentiles(found: dict[str, int]) -> tuple[tuple[float, int], ...]:
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


# Job, direction and member, which name a series of one suite on one target.
Normals = Mapping[tuple[str, str, str], Normal]


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
    rows: Sequence[Row], results: Sequence[JobResult], past: Sequence[Past], *, run: Past
) -> tuple[Trend, ...]:
    """What each job did in earlier runs, for the jobs that earlier runs had too."""
    made: dict[tuple[object, ...], Trend] = {}
    for row, result in zip(rows, results, strict=True):
        key = _key(result)
        if key in made or row.baseline is None:
            continue
        points = [
            TrendPoint(one.run.id, one.run.started_at, iops, valid)
            for one in (*past[-MAX_TREND_RUNS:], run)
            if (found := _of_run(one.results, key)) is not None
            for iops, valid in (found,)
        ]
        if len(points) > 1:
            made[key] = Trend(row.number, row.label, tuple(points), row.baseline)
    return tuple(made.values())


def _row(result: JobResult, *, number: int, normals: Normals) -> Row:
    corrected = corrected_iops(result)
    job = result.job if result.pass_index == 1 else f"{result.job} (pass {result.pass_index})"
    return Row(
        number=number,
        job=job,
        direction=result.direction,
        asked=f"{access(result.rw, result.direction)}, {text.size(result.block_size_bytes)}, "
        f"{result.jobs} × {result.iodepth}",
        where=f"{result.member} alone" if result.member else "",
        iops=result.iops,
        bytes_per_s=result.bandwidth_bytes,
        latency_mean_ns=result.latency_mean_ns,
        percentiles=percentiles(result.percentiles_ns),
        bins=tuple(sorted(result.bins.items())),
        findings=result.findings,
        valid=result.valid,
        coverage=result.coverage,
        corrected_iops=corrected,
        corrected_bytes_per_s=None if corrected is None else corrected * result.block_size_bytes,
        published=_published(result, corrected),
        by_the_disks=in_words(result.device_latencies),
        baseline=baseline(
            normals.get((result.job, result.direction, result.member), NOT_KNOWN),
            result.iops if result.valid else None,
        ),
    )


def _published(result: JobResult, corrected: float | None) -> tuple[Published, ...]:
    return against(
        capability.percent_of_published(result) if result.valid or corrected is not None else None,
        iops=result.iops,
        bytes_per_s=result.bandwidth_bytes,
        limit_iops=result.published_iops,
        limit_bytes_per_s=result.published_bytes_per_s,
        corrected_iops=None if result.valid else corrected,
        basis=result.published_basis,
        source=result.published_source,
    )


def against(
    percent: float | None,
    *,
    iops: float | None,
    bytes_per_s: float | None,
    limit_iops: float | None,
    limit_bytes_per_s: float | None,
    corrected_iops: float | None,
    basis: str,
    source: str,
) -> tuple[Published, ...]:
    """A result beside its published limits.

    ``percent`` is of the limit that is nearer, ``None`` where the job cannot reach either.
    ``corrected_iops`` is what is believed in place of ``iops`` of an invalid result.
    """
    shares = [
        (100 * (value or 0.0) / limit, words)
        for value, limit, words in (
            (iops, limit_iops, f"{limit_iops or 0:,.0f} IOPS"),
            (bytes_per_s, limit_bytes_per_s, text.bandwidth(limit_bytes_per_s or 0.0)),
        )
        if limit
    ]
    if not shares:
        return ()
    if percent is None:
        return tuple(Published(None, words, basis, source) for _, words in shares)
    believed = corrected_iops / iops if corrected_iops is not None and iops else 1.0
    share, words = min(shares, key=lambda one: abs(one[0] - percent))
    if abs(share - percent) > 0.01 * percent:
        # IOPS and bandwidth contradict each other: then neither limit alone gives it.
        words = "the published figures"
    return (Published(percent * believed, words, basis, source, corrected=believed != 1.0),)


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


def _of_run(results: Sequence[JobResult], key: tuple[object, ...]) -> tuple[float, bool] | None:
    """A run's IOPS in one series and whether it is valid: the median of its passes."""
    same = [result for result in results if _key(result) == key]
    if not same:
        return None
    valid = [result.iops for result in same if result.valid]
    # As drift has it: half of the passes is not what a whole run is.
    is_valid = 2 * len(valid) > len(same)
    return statistics.median(valid or [result.iops for result in same]), is_valid
