"""What measuring costs: a suite's job beside the same fio job by hand, and the sampler's CPU.

The job by hand has the same arguments and freshly written files of the same size; what it has
not is the sampler, the history and this program.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from appliance.bench import fio, idle_check, runner, sampler
from appliance.bench.suite import parse_suite
from appliance.history import queries
from appliance.model.runs import Suite

MEMBERS = 24
_SAMPLER_SECONDS = 20.0
_ENGINE = "libaio"
_SUITE = """
summary = "Random reads by two submitters"
files = 2
file_size = "32MiB"
[[job]]
name = "rand-read-4k"
rw = "randread"
block_size = "4KiB"
iodepth = 16
jobs = 2
engine = "libaio"
runtime_seconds = 8
"""


def measure(pairs: int) -> dict[str, Any]:
    """``iops``: the pairs and the median of their ratios; ``sampler``: its share of a core."""
    return {"iops": _iops(pairs), "sampler": _sampler()}


def lines(cost: dict[str, Any]) -> list[str]:
    """The figures of :func:`measure` for a person."""
    iops, watching = cost["iops"], cost["sampler"]
    ours, hand = (statistics.median(iops["iops"][way]) for way in ("ours", "by hand"))
    return [
        f"suite's job: {ours:.0f} IOPS, by hand {hand:.0f}, ratio {iops['ratio']:.3f}"
        f" (median of {iops['pairs']} pairs, {min(iops['ratios']):.3f} to"
        f" {max(iops['ratios']):.3f})",
        f"this program beside fio: {iops['core_share'] * 100:.2f} % of a core",
        f"sampler: {watching['core_share'] * 100:.2f} % of a core at {watching['members']} members",
    ]


def _iops(pairs: int) -> dict[str, Any]:
    suite = parse_suite("overhead", _SUITE)
    with tempfile.TemporaryDirectory(prefix="stripewright-bench-", dir="/var/tmp") as name:
        place = Path(name)
        ways: tuple[tuple[str, Callable[[Suite, Path], float]], ...] = (
            ("ours", _ours),
            ("by hand", _by_hand),
        )
        found: dict[str, list[float]] = {"ours": [], "by hand": []}
        shares: list[float] = []
        _by_hand(suite, place)  # once to bring both to the same beginning
        for number in range(pairs):
            # In turns, and each first as often as the other.
            for way, run in ways if number % 2 else reversed(ways):
                cpu, began = time.process_time(), time.monotonic()
                found[way].append(run(suite, place))
                if way == "ours":
                    shares.append((time.process_time() - cpu) / (time.monotonic() - began))
    ratios = [ours / hand for ours, hand in zip(found["ours"], found["by hand"], strict=True)]
    return {
        "pairs": pairs,
        "iops": found,
        "ratios": ratios,
        "ratio": statistics.median(ratios),
        # What this process itself used of a core, fio not counted: a busy machine makes the
        # ratios vary, and this hardly.
        "core_share": statistics.median(shares),
    }


def _ours(suite: Suite, place: Path) -> float:
    db = place / "history.db"
    run_id = runner.run_suite(suite, target=place, db=db, patience=idle_check.Patience(1.0))
    with queries.open_readonly(db) as reader:
        (result,) = reader.results(run_id)
    return result.iops


def _by_hand(suite: Suite, place: Path) -> float:
    """The same as a shell script would do it: write the files, measure, remove them."""
    names = tuple(f"data.{number}" for number in range(suite.files))
    size_bytes = suite.file_size_bytes
    try:
        _fio(fio.prepare_arguments(names, file_size_bytes=size_bytes, engine=_ENGINE), place)
        job = suite.jobs[0]
        workers = fio.share_files(names, job.jobs)
        arguments = fio.job_arguments(job, workers, file_size_bytes=size_bytes, engine=_ENGINE)
        return fio.parse_report(_fio(arguments, place)).directions["read"].iops
    finally:
        for name in names:
            (place / name).unlink(missing_ok=True)


def _fio(arguments: tuple[str, ...], place: Path) -> str:
    done = subprocess.run(
        ("fio", *arguments), cwd=place, capture_output=True, text=True, check=True
    )
    return done.stdout


def _sampler() -> dict[str, float]:
    """CPU time of the sampler's thread over :data:`_SAMPLER_SECONDS` at 1 Hz, everything else of
    this process asleep. Each of the 24 members is a disk of this machine, read anew.
    """
    disks = sorted(path.parent for path in Path("/sys/class/block").glob("*/stat"))
    with tempfile.TemporaryDirectory(prefix="stripewright-bench-") as name:
        names = [f"member{number}" for number in range(MEMBERS + 1)]
        for number, member in enumerate(names):
            (Path(name) / member).symlink_to(disks[number % len(disks)])
        watching = sampler.Sampler(
            names, read=lambda devices: sampler.read_all(devices, sys_block=Path(name))
        )
        before = time.process_time()
        began = time.monotonic()
        with watching:
            time.sleep(_SAMPLER_SECONDS)
        spent, lasted = time.process_time() - before, time.monotonic() - began
        taken = len(watching.drain())
    return {"members": MEMBERS, "samples": taken, "seconds": lasted, "core_share": spent / lasted}


if __name__ == "__main__":
    print("\n".join(lines(measure(int(sys.argv[1])))))
