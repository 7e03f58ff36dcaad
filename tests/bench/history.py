"""Ten years of smoke runs: how long one waits for an answer, and how large the file gets.

``python3 -m tests.bench.history [--json FILE]``. Four series a suite, four suites a day, an
epoch twice a year, the last two weeks in samples and what is before in means, as retention
leaves it. Then ten thousand reports of a diary are imported.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
import math
import random
import statistics
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from appliance.bench.suite import load_suite
from appliance.cli import bench_import, compare, export, results
from appliance.drift.series import trends
from appliance.figures import sampling
from appliance.fio_import import import_reports
from appliance.history import format as file_format
from appliance.history import queries, rows
from appliance.history.store import History
from appliance.model.findings import SeriesKey
from appliance.model.measurement import Capability, DeviceIo, Finding, JobResult, Severity
from appliance.model.runs import Counters, Job, RunState, Sample

YEARS = 10
RUNS_A_DAY = 4
_RUNS = YEARS * 365 * RUNS_A_DAY
_RUNS_AN_EPOCH = _RUNS // (2 * YEARS)
_SERIES = 4
_MEMBERS = ("nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1")
_TARGET = "/mnt/scratch/.stripewright-bench"
_RUN_SECONDS = 150
_RUNS_IN_SAMPLES = 14 * RUNS_A_DAY + 8
_RUNS_WITH_REPORTS = 90 * RUNS_A_DAY + 8
_BEGAN = 1.5e9
_REPEATS = 7
_REPORTS = 10_000
_DIARY = Path(__file__).parents[1] / "corpus" / "diaries" / "i3-single-and-stripe.txt"
_COLUMNS = [field.name for field in dataclasses.fields(Counters)]


def measure_history(folder: Path) -> dict[str, object]:
    """Make the database in ``folder`` and measure; milliseconds are medians of seven."""
    db = folder / "history.db"
    began = time.perf_counter()
    fill(db)
    made_seconds = time.perf_counter() - began
    size_bytes = db.stat().st_size
    newest = _RUNS
    asked: dict[str, Callable[[], object]] = {
        "results": lambda: results.results(db=db, run=None, suite="", as_json=False),
        "results --run": lambda: results.results(db=db, run=9, suite="", as_json=False),
        "trend, ten years": lambda: _trend(db),
        "compare two runs": lambda: _compare(db, str(newest), str(newest - 9)),
        "compare two epochs": lambda: _compare(db, "epoch:1", f"epoch:{2 * YEARS}"),
        "export metrics": lambda: export.export(form="metrics", db=db, output=None),
    }
    queries_ms = {name: _milliseconds(ask) for name, ask in asked.items()}
    return {
        "runs": _RUNS,
        "results": _RUNS * _SERIES,
        "database_bytes": size_bytes,
        "made_seconds": made_seconds,
        "queries_ms": queries_ms,
        "import": _import(folder),
    }


def _trend(db: Path) -> None:
    key = SeriesKey("smoke", _TARGET, _jobs()[0].name, "read")
    with queries.open_readonly(db) as reader:
        whole = trends.whole(reader, key)
    # Some runs were skipped.
    assert sum(len(one.slots) for one in whole.stretches) >= 0.9 * _RUNS


def _compare(db: Path, a: str, b: str) -> None:
    compare.compare(a=a, b=b, db=db, as_json=False)


def _milliseconds(ask: Callable[[], object]) -> float:
    times = []
    for _ in range(_REPEATS):
        shown = io.StringIO()
        began = time.perf_counter()
        with contextlib.redirect_stdout(shown):
            ask()
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


def _import(folder: Path) -> dict[str, float]:
    """A file of the corpus again and again, until it has ten thousand reports."""
    text = _DIARY.read_text()
    reports = len(import_reports(text.encode(), file="", machine_type="").judged)
    times = math.ceil(_REPORTS / reports)
    long = folder / "diaries.txt"
    long.write_text("\n".join([text] * times))
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        bench_import.import_files(
            files=[str(long)], machine="i3.4xlarge", db=folder / "imported.db", as_json=False
        )
    seconds = time.perf_counter() - began
    with queries.open_readonly(folder / "imported.db") as reader:
        kept = reader.imports()[0].reports
    assert kept == reports * times, (kept, reports, times)
    return {
        "reports": kept,
        "file_bytes": long.stat().st_size,
        "seconds": seconds,
        "reports_per_second": kept / seconds,
        "database_bytes": (folder / "imported.db").stat().st_size,
    }


# ------------------------------------------------------------------------ the ten years


def _jobs() -> tuple[Job, ...]:
    return load_suite("smoke").jobs[:_SERIES]


def fill(db: Path) -> None:
    """Rows as the writer makes them, in large transactions and without its waits."""
    chance = random.Random(11)  # noqa: S311
    with History.open_writable(db) as history:
        fill = _Fill(history, chance)
        for first in range(1, _RUNS + 1, 500):
            with history._writer.transaction():
                for number in range(first, min(first + 500, _RUNS + 1)):
                    fill.run(number)


class _Fill:
    def __init__(self, history: History, chance: random.Random) -> None:
        self._history = history
        self._chance = chance
        self._suite = load_suite("smoke")
        self._bins = [_histogram(chance, 2e5 * (n + 1)) for n in range(40)]
        self._packed = [file_format.pack_bins(bins) for bins in self._bins]
        self._result_id = 0
        self._report = zlib.compress(
            json.dumps({"jobs": [{"bins": bins} for bins in self._bins[:2]]}).encode()
        )

    def _add(self, table: str, *records: rows.Row) -> None:
        names = ", ".join(f"[{name}]" for name in records[0])
        marks = ", ".join("?" for _ in records[0])
        self._history._writer._connection.executemany(
            f"INSERT INTO {table} ({names}) VALUES ({marks})",  # noqa: S608
            [tuple(record.values()) for record in records],
        )

    def run(self, number: int) -> None:
        at = _BEGAN + number * 86_400 / RUNS_A_DAY
        epoch = min(2 * YEARS, 1 + (number - 1) // _RUNS_AN_EPOCH)
        if number == 1:
            self._add("host", {"id": 1, "name": "host", "machine_type": "i3", "first_seen_at": at})
            self._add("suite", {"content_hash": "0", "name": "smoke", "jobs": "[]"})
        if (number - 1) % _RUNS_AN_EPOCH == 0 and epoch <= 2 * YEARS:
            self._epoch(epoch, at)
        self._add(
            "run",
            {
                "id": number,
                "suite_hash": "0",
                "suite": "smoke",
                "epoch_id": epoch,
                "state": (RunState.SKIPPED if number % 97 == 0 else RunState.COMPLETE).value,
                "target": _TARGET,
                "device": "md127",
                "members": rows.to_json(_MEMBERS),
                "machine_type": "i3.16xlarge",
                "engine": "io_uring",
                "fio_version": "fio-3.39",
                "time_factor": 1.0,
                "notes": "[]",
                "target_kind": "filesystem",
                "conditions": rows.to_json({"write cache": "write back", "scheduler": "none"}),
                "started_at": at,
                "ended_at": at + _RUN_SECONDS,
                "seen_at": at + _RUN_SECONDS,
                "phase": "",
                "phase_started_at": at,
                "pid": 1,
                "pid_start_ticks": 1,
                "boot_id": "00000000-0000-0000-0000-000000000000",
            },
        )
        for job in self._suite.jobs[:_SERIES]:
            self._result(number, job, at)
        self._rates(number, at)

    def _epoch(self, number: int, at: float) -> None:
        fingerprint = {"serials": str(number), "stripe": "md-raid0 chunk=262144 members=4"}
        self._add(
            "epoch",
            {
                "id": number,
                "host_id": 1,
                "subject": "appliance",
                "opened_at": at,
                "fingerprint": rows.to_json(fingerprint),
                "changed": rows.to_json({"serials": [str(number - 1), str(number)]}),
            },
        )

    def _result(self, run_id: int, job: Job, at: float) -> None:
        self._result_id += 1
        pick = self._chance.randrange(len(self._bins))
        bins = self._bins[pick]
        ios = sum(bins.values())
        direction = "read" if "read" in job.rw else "write"
        invalid = self._chance.random() < 0.02
        result = JobResult(
            job=job.name,
            direction=direction,
            engine="io_uring",
            block_size_bytes=job.block_size_bytes,
            iops=self._chance.gauss(800_000, 8000),
            bandwidth_bytes=self._chance.gauss(3e9, 3e7),
            io_bytes=ios * 4096,
            total_ios=ios,
            latency_mean_ns=self._chance.gauss(3e5, 3e3),
            percentiles_ns={f"{p:.6f}": 100_000 + round(p * 1e4) for p in _PERCENTS},
            bins={},
            runtime_ms=30_001,
            runtime_asked_ms=30_000,
            jobs=job.jobs,
            iodepth=job.iodepth,
            errors=0,
            cpu_percent=40.0,
            device_bytes=ios * 4096,
            device_io=(),
            findings=(
                (Finding("FOREIGN", Severity.BLOCK, "the disks did 9 % more", 0.09, 0.05),)
                if invalid
                else ()
            ),
            rw=job.rw,
            host_cpu_percent=12.0,
            capability=Capability(
                iops=825_000.0,
                bytes_per_s=4e9,
                basis="4 × 206,250 (i3.16xlarge)",
                source="https://docs.aws.amazon.com/ec2/latest/instancetypes/so.html",
            ),
        )
        row = {
            "run_id": run_id,
            "ended_at": at + 35,
            **rows.result_row(result, self._history._writer.columns("result")),
        }
        self._add("result", row)
        self._add("histogram", {"result_id": self._result_id, "bins": self._packed[pick]})
        deltas = [
            DeviceIo.of(Counters(device, ios, ios * 4096, 10**6, 5, 5 * 4096, 3, 0, 30_000))
            for device in ("md127", *_MEMBERS)
        ]
        of = {"result_id": self._result_id}
        self._add("device_delta", *({**of, **rows.delta_row(one)} for one in deltas))
        if invalid:
            self._add("finding", *({**of, **rows.row_of(one)} for one in result.findings))
        if run_id > _RUNS - _RUNS_WITH_REPORTS:
            self._add(
                "raw_report",
                {"run_id": run_id, "job": job.name, "at": at, "fio_json": self._report},
            )

    def _rates(self, run_id: int, at: float) -> None:
        samples = [
            Sample(
                int((at + second) * 1e9),
                device,
                self._chance.gauss(2e5, 2e3),
                0.0,
                self._chance.gauss(8e8, 8e6),
                0.0,
                self._chance.gauss(0.3, 0.01),
                0.99,
            )
            for second in range(0, _RUN_SECONDS, 1 if run_id > _RUNS - _RUNS_IN_SAMPLES else 10)
            for device in ("md127", *_MEMBERS)
        ]
        if run_id > _RUNS - _RUNS_IN_SAMPLES:
            of = {"run_id": run_id}
            self._add("sample", *({**of, **rows.row_of(one)} for one in samples))
        else:
            means = sampling.pack(sampling.means(samples))
            self._add("sample_mean", {"run_id": run_id, "means": means})


_PERCENTS = (1, 5, *range(10, 100, 10), 95, 99, 99.5, 99.9, 99.95, 99.99)


def _histogram(chance: random.Random, middle_ns: float) -> dict[int, int]:
    """As many bins as fio prints for a job of half a minute, around ``middle_ns``."""
    width = 1.011
    return {
        round(middle_ns * width**step): max(1, round(1e6 * math.exp(-((step / 60) ** 2)) * noise))
        for step in range(-130, 170)
        for noise in (chance.uniform(0.8, 1.2),)
    }


def table(found: dict[str, object]) -> str:
    """What was measured, as a text for people."""
    asked, imported = found["queries_ms"], found["import"]
    assert isinstance(asked, dict)
    assert isinstance(imported, dict)
    size = f"{found['runs']} runs, {found['results']} results"
    lines = [f"ten years of smoke runs: {size}, {found['database_bytes']:,} bytes"]
    lines += [f"{name:20} {ms:8.1f} ms" for name, ms in asked.items()]
    lines.append(
        f"import of {imported['reports']:,.0f} reports: {imported['seconds']:.1f} s,"
        f" {imported['reports_per_second']:,.0f} a second"
    )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stripewright-history-") as folder:
        found = measure_history(Path(folder))
    print(table(found))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
