"""What it does to a job that fio is asked for its figures while it measures.

``python -m tests.bench.interim [PAIRS]``: jobs with questions beside jobs without, in turns; inside
one job the tenths of a second with a question beside all others; and short jobs that are asked
again and again in their middle, and at their end, which is what the program never does.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from appliance.bench import fio, fio_process
from appliance.bench.fio_process import Interim
from appliance.model.runs import Job
from appliance.system import process

_ENGINE = "io_uring"
_FILE_BYTES = 256 * 1024 * 1024
_PAIR_SECONDS = 20.0
_INSIDE_SECONDS = 90.0
_WINDOW_MS = 100
_SHORT_SECONDS = 1.5
_SHORT_JOBS = 40
_NAMES = ("data.0", "data.1")
_SHOWN = ("50.000000", "99.000000", "99.900000", "99.990000")


@dataclass(frozen=True, slots=True)
class Ended:
    """One job: its report at the end, how many answers came before that."""

    report: fio.FioReport
    answers: int


@functools.cache
def _opened(place: Path) -> int:
    """Open to the end of this program."""
    return os.open(place, os.O_RDONLY | os.O_DIRECTORY)


def _job(seconds: float) -> Job:
    return Job("rand-read-4k", "randread", 4096, iodepth=32, jobs=2, runtime_seconds=seconds)


def _arguments(job: Job) -> tuple[str, ...]:
    workers = fio.share_files(_NAMES, job.jobs)
    return fio.job_arguments(job, workers, file_size_bytes=_FILE_BYTES, engine=_ENGINE)


def _measured(place: Path, *, asked: bool) -> Ended:
    job = _job(_PAIR_SECONDS)
    answers: list[fio.FioReport] = []
    ended = fio_process.run_fio(
        _arguments(job),
        directory=_opened(place),
        timeout_seconds=300,
        on_tick=lambda: None,
        interim=Interim(job.runtime_seconds, answers.append) if asked else None,
    )
    return Ended(fio.parse_report(fio.without_interim(ended.output)), len(answers))


def pairs(place: Path, count: int) -> Iterator[str]:
    """Jobs as the program asks them, beside jobs that are not asked."""
    ways: dict[bool, list[Ended]] = {True: [], False: []}
    for number in range(count):
        for asked in (True, False) if number % 2 else (False, True):
            ways[asked].append(_measured(place, asked=asked))
    figures: dict[str, Callable[[Ended], float]] = {
        "IOPS": lambda one: one.report.directions["read"].iops,
        "mean ns": lambda one: one.report.directions["read"].latency_mean_ns,
        "processor %": lambda one: one.report.cpu_percent,
        "run time ms": lambda one: float(one.report.directions["read"].runtime_ms),
    }
    for key in _SHOWN:
        figures[f"p{float(key):g} ns"] = lambda one, key=key: float(  # type: ignore[misc]
            one.report.directions["read"].percentiles_ns[key]
        )
    yield f"{count} pairs of {_PAIR_SECONDS:g} s, {[one.answers for one in ways[True]]} answers"
    for name, of in figures.items():
        asked, alone = ([of(one) for one in ways[way]] for way in (True, False))
        ratios = [a / b for a, b in zip(asked, alone, strict=True)]
        yield (
            f"{name:12} asked {statistics.median(asked):12.1f} alone"
            f" {statistics.median(alone):12.1f} ratio {statistics.median(ratios):.3f}"
            f" ({min(ratios):.3f} to {max(ratios):.3f}); alone among themselves"
            f" {min(alone) / statistics.median(alone):.3f} to"
            f" {max(alone) / statistics.median(alone):.3f}"
        )


def inside(place: Path) -> Iterator[str]:
    """One job, asked twice as often as the program does: windows with a question and without."""
    logs = (
        "--write_iops_log=w",
        "--write_lat_log=w",
        f"--log_avg_msec={_WINDOW_MS}",
        "--per_job_logs=0",
    )
    job = _job(_INSIDE_SECONDS)
    with (place / "out").open("w+b") as output:
        running = process.start(
            ("fio", *logs, *_arguments(job)), stdout=output, directory=_opened(place)
        )
        began = due = time.monotonic()
        spent_ms: list[float] = []
        while running.poll() is None:
            now = time.monotonic()
            if now - due > 1.5 and now - began < _INSIDE_SECONDS - 5:
                due, before = now, _not_workers_ns(running.pid)
                process.tell(running, signal.SIGUSR1)
                time.sleep(0.3)
                spent_ms.append((_not_workers_ns(running.pid) - before) / 1e6)
            time.sleep(0.05)
        output.seek(0)
        reports, _ = fio.interim_reports(output.read().decode())
    at = [one.directions["read"].runtime_ms // _WINDOW_MS for one in reports[:-1]]
    # The answer's own time is when it was begun; the log counts from the same moment.
    asked = {window + later for window in at for later in (0, 1)}
    for name, merge in (("iops", sum), ("lat", statistics.fmean)):
        windows: dict[int, list[int]] = {}
        for line in (place / f"w_{name}.log").read_text().splitlines():
            moment, value = line.split(",")[:2]
            windows.setdefault(int(moment) // _WINDOW_MS, []).append(int(value))
        values = {window: float(merge(found)) for window, found in windows.items()}
        last = _INSIDE_SECONDS * 1000 / _WINDOW_MS - 10
        hit = [value for window, value in values.items() if window in asked]
        rest = [v for window, v in values.items() if window not in asked and 10 < window < last]
        error = statistics.stdev(rest) / statistics.fmean(rest) / len(hit) ** 0.5
        yield (
            f"{name}: {len(at)} answers, mean of {len(hit)} windows with one"
            f" {statistics.fmean(hit):.1f}, of {len(rest)} others {statistics.fmean(rest):.1f},"
            f" ratio {statistics.fmean(hit) / statistics.fmean(rest):.4f}, standard error"
            f" {error:.4f}"
        )
    yield f"an answer costs {statistics.median(spent_ms):.2f} ms of processor time (median)"


def _not_workers_ns(pid: int) -> int:
    """Processor time of fio's main thread and of the one that makes its reports, in ns
    (/proc/PID/task/TID/schedstat); the workers were started after these two.
    """
    first = sorted(int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir())[:2]
    return sum(
        int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[0]) for thread in first
    )


def again_and_again(place: Path, count: int) -> Iterator[str]:
    """Short jobs of sixteen workers in turns: not asked, asked every 3 ms in their middle, and
    while they end.
    """
    ways = {"not asked": (0.0, 0.0), "in the middle": (0.3, 1.0), "at the end": (1.4, 1.9)}
    ran_ms: dict[str, list[int]] = {way: [] for way in ways}
    for _ in range(count):
        for way, (begin, end) in ways.items():
            ran_ms[way] += _short(place, begin, end)
    for way, found in ran_ms.items():
        times = f"{min(found)} to {max(found)}, median {statistics.median(found)}"
        yield f"{way}: {count} jobs, {count - len(found)} crashed; run time in ms {times}"


def _short(place: Path, begin: float, end: float) -> list[int]:
    """The run time in the report at the end, in ms; nothing if fio did not come to it."""
    job = Job("j", "randread", 4096, iodepth=8, jobs=16, runtime_seconds=_SHORT_SECONDS)
    workers = fio.share_files(_NAMES, job.jobs)
    arguments = fio.job_arguments(job, workers, engine="null", file_size_bytes=_FILE_BYTES)
    with (place / "out").open("w+b") as output:
        began = time.monotonic()
        running = process.start(
            ("fio", "--rate_iops=2000", *arguments), stdout=output, directory=_opened(place)
        )
        while running.poll() is None:
            if begin < time.monotonic() - began < end:
                process.tell(running, signal.SIGUSR1)
            time.sleep(0.003)
        output.seek(0)
        text = output.read().decode()
    if running.returncode:
        return []
    return [fio.parse_report(fio.without_interim(text)).directions["read"].runtime_ms]


def main(count: int) -> None:
    print(json.dumps({"fio": fio_process.find_fio()}))
    with tempfile.TemporaryDirectory(prefix="stripewright-bench-", dir="/var/tmp") as name:
        place = Path(name)
        written = fio.prepare_arguments(_NAMES, file_size_bytes=_FILE_BYTES, engine=_ENGINE)
        subprocess.run(("fio", *written), cwd=place, capture_output=True, check=True)
        for part in (pairs(place, count), inside(place), again_and_again(place, _SHORT_JOBS)):
            for line in part:
                print(line, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
