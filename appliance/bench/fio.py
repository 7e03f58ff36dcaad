"""fio: arguments from typed fields, and its json+ output back into numbers. Pure.

fio runs in the private directory and gets file names without any folder, because it
splits paths at ``:``; a device it gets as a path in /proc, which has none. Each worker is a
fio job of its own over its own files or part of a device, merged into one report by
``group_reporting``; ``--thread`` makes it one process, so that ending fio ends all of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from appliance.errors import OperatorError
from appliance.model.runs import Job

_T = TypeVar("_T")

# In order of preference. Part of a result's key: numbers of different engines differ.
ENGINES = ("io_uring", "libaio", "psync")
PREPARE_BLOCK_BYTES = 1024 * 1024
_PREPARE_IODEPTH = 4
FILL_BLOCK_BYTES = 128 * 1024
_FILL_IODEPTH = 32
_PROBE_BYTES = 64 * 1024


class FioOutputError(OperatorError):
    """fio's output is not a whole json+ report."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"fio's report cannot be used: {what}",
            "see what fio said in the journal, and try the suite again",
        )


@dataclass(frozen=True, slots=True)
class DirectionReport:
    """What fio did in one direction. Rates are per second; ``runtime_ms`` is fio's own."""

    io_bytes: int
    total_ios: int
    iops: float
    bandwidth_bytes: float
    runtime_ms: int
    latency_mean_ns: float
    percentiles_ns: dict[str, int]
    bins: dict[int, int]


@dataclass(frozen=True, slots=True)
class FioReport:
    """One fio run. ``cpu_percent`` is the mean share of a core that a worker used."""

    error: int
    cpu_percent: float
    directions: dict[str, DirectionReport]


@dataclass(frozen=True, slots=True)
class Worker:
    """Where one worker does its I/O: fio's name of a file or device (several with ``:``).

    With a size it keeps to that part of it, else it has all of it.
    """

    target: str
    offset_bytes: int = 0
    size_bytes: int = 0


def offered_engines(enghelp: str) -> tuple[str, ...]:
    """Those of :data:`ENGINES` that ``fio --enghelp`` lists; being listed is not yet working."""
    listed = set(enghelp.split())
    return tuple(engine for engine in ENGINES if engine in listed)


def probe_arguments(engine: str, target: str, *, read_only: bool = False) -> tuple[str, ...]:
    """A tiny direct I/O with ``engine``: works only if kernel, policy and filesystem let it.

    It writes, or reads where nothing may be written.
    """
    return (
        "--output-format=json+",
        "--eta=never",
        *(("--readonly",) if read_only else ()),
        "--name=probe",
        f"--filename={target}",
        f"--ioengine={engine}",
        "--direct=1",
        f"--rw={'read' if read_only else 'write'}",
        "--bs=4096",
        f"--size={_PROBE_BYTES}",
        "--thread",
    )


def prepare_arguments(
    file_names: Sequence[str], *, file_size_bytes: int, engine: str
) -> tuple[str, ...]:
    """Write every byte of every file once: direct, 1 MiB blocks, incompressible, synced."""
    return (
        *_global_arguments(engine),
        "--rw=write",
        f"--bs={PREPARE_BLOCK_BYTES}",
        f"--iodepth={_PREPARE_IODEPTH}",
        f"--filesize={file_size_bytes}",
        # Space first and in few extents; the writes then turn it from unwritten to written.
        "--fallocate=native",
        "--end_fsync=1",
        *_arguments_of(share_files(file_names, len(file_names))),
    )


def fill_arguments(
    target: str, *, size_bytes: int, write_bytes: int, engine: str
) -> tuple[str, ...]:
    """Write ``write_bytes`` to a device from its beginning, and again from there at its end.

    128 KiB blocks in sequence, as the SNIA test specification preconditions (PTS 2.0.2, 3.3).
    """
    return (
        *_global_arguments(engine),
        "--rw=write",
        f"--bs={FILL_BLOCK_BYTES}",
        f"--iodepth={_FILL_IODEPTH}",
        f"--io_size={write_bytes}",
        "--allow_file_create=0",
        "--end_fsync=1",
        *_arguments_of((Worker(target, 0, size_bytes),)),
    )


def job_arguments(
    job: Job,
    workers: Sequence[Worker],
    *,
    engine: str,
    file_size_bytes: int = 0,
    read_only: bool = False,
) -> tuple[str, ...]:
    """Measure ``job`` on what exists already; a missing file is an error.

    ``read_only`` has fio itself refuse to write anything.
    """
    return (
        *_global_arguments(engine),
        *(("--readonly",) if read_only else ()),
        f"--rw={job.rw}",
        *(() if job.read_percent is None else (f"--rwmixread={job.read_percent}",)),
        f"--bs={job.block_size_bytes}",
        f"--iodepth={job.iodepth}",
        *((f"--thinktime={job.think_time_ms}ms",) if job.think_time_ms else ()),
        *((f"--filesize={file_size_bytes}",) if file_size_bytes else ()),
        "--allow_file_create=0",
        "--time_based",
        f"--runtime={round(job.runtime_seconds * 1000)}ms",
        # Other offsets in each run and worker, and no map of visited blocks to keep.
        "--randrepeat=0",
        "--norandommap",
        *_arguments_of(workers),
    )


def _global_arguments(engine: str) -> tuple[str, ...]:
    return (
        "--output-format=json+",
        "--eta=never",
        "--thread",
        "--group_reporting",
        f"--ioengine={engine}",
        "--direct=1",
        # Random buffers with a changed word in each block: nothing below can compress or
        # deduplicate them, and it costs far less processor than refilling them.
        "--scramble_buffers=1",
        # Latency from submission to completion. clat alone misleads: an I/O that completes
        # inside the submitting system call has nearly all of its time in slat.
        "--lat_percentiles=1",
        "--clat_percentiles=0",
    )


def share_files(file_names: Sequence[str], count: int) -> tuple[Worker, ...]:
    """``count`` workers: files are dealt out in turn; more workers than files share them."""
    return tuple(
        Worker(":".join(file_names[at::count] or (file_names[at % len(file_names)],)))
        for at in range(count)
    )


def share_device(
    target: str, *, size_bytes: int, count: int, block_bytes: int
) -> tuple[Worker, ...]:
    """``count`` workers with an equal part of a device each, so that none reads or writes what
    another does; none at all where the parts would be smaller than a block.
    """
    align = max(block_bytes, PREPARE_BLOCK_BYTES)
    part = size_bytes // count // align * align
    return tuple(Worker(target, at * part, part) for at in range(count)) if part else ()


def _arguments_of(workers: Sequence[Worker]) -> list[str]:
    """Each worker is a job of its own."""
    arguments: list[str] = []
    for number, worker in enumerate(workers):
        arguments += [f"--name=w{number}", f"--filename={worker.target}"]
        if worker.size_bytes:
            arguments += [f"--offset={worker.offset_bytes}", f"--size={worker.size_bytes}"]
    return arguments


# --------------------------------------------------------------------------- its report


def parse_report(text: str) -> FioReport:
    """The report in ``text``, with or without other lines before and after it.

    fio prints notes and warnings ahead of its JSON, into the same file. Raises
    :class:`FioOutputError` if there is no report, or only a part of one.
    """
    for document, _, _ in _documents(text):
        return _report(document)
    raise FioOutputError("it is broken or cut off" if "{" in text else "it holds no JSON")


def _report(document: dict[str, Any]) -> FioReport:
    jobs = _get(document, "jobs", list)
    if len(jobs) != 1 or not isinstance(jobs[0], dict):
        raise FioOutputError(f"{len(jobs)} job groups where one was asked for")
    job: dict[str, Any] = jobs[0]
    return FioReport(
        error=_get(job, "error", int),
        cpu_percent=_number(job, "usr_cpu") + _number(job, "sys_cpu"),
        directions={
            direction: _direction(_get(job, direction, dict))
            for direction in ("read", "write")
            if _get(_get(job, direction, dict), "total_ios", int) > 0
        },
    )


def interim_reports(text: str) -> tuple[tuple[FioReport, ...], int]:
    """The whole reports in what a running fio has printed so far, and where the last one ends.

    What it is asked for on the way (SIGUSR1) has the form of the report at its end; all figures
    are from the beginning of the job. Raises :class:`FioOutputError` as :func:`parse_report`.
    """
    found = tuple(_documents(text))
    return tuple(_report(one) for one, _, _ in found), found[-1][2] if found else 0


def without_interim(text: str) -> str:
    """``text`` without the reports before its last one.

    Raises :class:`FioOutputError` if something begins behind that and is cut off: then it is not
    the one at the end of the job.
    """
    found = tuple(_documents(text))
    if not found:
        return text
    (_, first, _), (_, last, end) = found[0], found[-1]
    if "\n{" in text[end:]:
        raise FioOutputError("the report at the end is cut off")
    return text[:first] + text[last:]


def _documents(text: str) -> Iterator[tuple[dict[str, Any], int, int]]:
    """Each whole report in ``text`` with where it begins and ends."""
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            if isinstance(found, dict) and "jobs" in found:
                yield found, start, end
        # Only a brace at the beginning of a line can open a report; anything else would
        # try every brace of a long broken text.
        start = text.find("\n{", end)
        start = start + 1 if start >= 0 else -1


def _direction(report: dict[str, Any]) -> DirectionReport:
    mean = _get(report, "lat_ns", dict)
    # With lat_percentiles=1 the histogram is of total latency; reports made without it
    # have one of completion latency only.
    histogram = mean if "percentile" in mean or "bins" in mean else _get(report, "clat_ns", dict)
    return DirectionReport(
        io_bytes=_get(report, "io_bytes", int),
        total_ios=_get(report, "total_ios", int),
        iops=_number(report, "iops"),
        bandwidth_bytes=_number(report, "bw_bytes"),
        runtime_ms=_get(report, "runtime", int),
        latency_mean_ns=_number(mean, "mean"),
        percentiles_ns={
            str(key): _whole(value) for key, value in _optional(histogram, "percentile").items()
        },
        bins={
            _whole(key): _whole(value)
            for key, value in _optional(histogram, "bins").items()
            if _whole(value) > 0
        },
    )


def _get(table: dict[str, Any], key: str, kind: type[_T]) -> _T:
    value = table.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise FioOutputError(f"'{key}' is missing or not what fio prints there")
    return value


def _optional(table: dict[str, Any], key: str) -> dict[str, Any]:
    """``table[key]``, or nothing: fio leaves it out when there was nothing to count."""
    return _get(table, key, dict) if key in table else {}


def _number(table: dict[str, Any], key: str) -> float:
    value = table.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise FioOutputError(f"'{key}' is missing or not a number")
    return float(value)


def _whole(value: object) -> int:
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError) as error:
        raise FioOutputError("its histogram holds something that is no number") from error
