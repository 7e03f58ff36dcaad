"""SIGKILL at random moments of real runs and imports, and what the history is worth after each.

``python3 -m tests.fio.kills [--moments N] [--seed N] [--json FILE]``. Half of the moments are
anywhere between the start of the command and its usual end; the other half are within the
first milliseconds of a write, when SQLite's journal has just appeared: seldom hit otherwise,
and the only ones that could leave half of anything.

The whole process group is killed, fio too, as a unit's is. One history goes through it all.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from appliance.bench import runner
from appliance.errors import OperatorError
from appliance.history import queries
from appliance.model.runs import RunState

ROOT = Path(__file__).parents[2]
DIARY = ROOT / "tests" / "corpus" / "diaries" / "i3-single-and-stripe.txt"
# Long enough that writing it takes a while.
_DIARIES_IN_A_FILE = 30
# About as long as a write takes.
_WRITE_SECONDS = {"run": 0.02, "import": 0.2}
_SUITE = """summary = "two short jobs, one in both directions"
[[job]]
name = "read"
rw = "randread"
block_size = "4KiB"
iodepth = 4
jobs = 1
runtime_seconds = 1
[[job]]
name = "mix"
rw = "randrw"
read_percent = 50
block_size = "16KiB"
iodepth = 4
jobs = 1
runtime_seconds = 1
"""
_RESULTS_OF_A_RUN = 3
# The command itself, on a machine that may be busy with other things.
_COMMAND = """
import functools, sys
from appliance.cli.main import main
from appliance.bench import directory, runner
from appliance.bench import idle_check
idle_check.WINDOW_SECONDS = 0.2
directory.MAX_BUDGET_BYTES = directory.MIN_BUDGET_BYTES
patience = idle_check.Patience(max_foreign_util=100.0)
runner.run_suite = functools.partial(runner.run_suite, patience=patience)
sys.exit(main(sys.argv[1:]))
"""


def diary_text(times: int) -> str:
    """A diary of the corpus, ``times`` times over."""
    return DIARY.read_text() * times


@dataclass
class Tally:
    """What was hit, and what was found. ``problems`` has to stay empty."""

    moments: Counter[str] = field(default_factory=Counter)
    half_writes: int = 0
    ended_before: int = 0
    runs: Counter[str] = field(default_factory=Counter)
    imports: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.moments.items()))
        runs = ", ".join(f"{count} {state}" for state, count in sorted(self.runs.items()))
        return (
            f"SIGKILL at {self.moments.total()} moments ({kinds}): {self.half_writes} left a half"
            f" write to undo; {self.ended_before} came too late and do not count; runs: {runs};"
            f" whole imports: {self.imports}; problems: {len(self.problems)}"
        )


class Range:
    """A directory with one history, and the commands that are killed over it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.db = folder / "history.db"
        self.chance = random.Random(seed)  # noqa: S311
        self.tally = Tally()
        self.target = folder / "target"
        self.target.mkdir()
        self.suite = folder / "short.toml"
        self.suite.write_text(_SUITE)
        self._files = 0
        self._kept: dict[str, object] = {}
        # An undisturbed one of each: how long they take, and what a whole import has.
        self.usual_seconds = {kind: self._undisturbed(kind) for kind in ("run", "import")}
        with queries.open_readonly(self.db) as reader:
            self.reports = reader.imports()[0].reports

    def _arguments(self, kind: str) -> list[str]:
        if kind == "run":
            return ["bench", "run", str(self.suite), "--target", str(self.target)]
        self._files += 1
        diary = self.folder / "diary.txt"
        diary.write_text(diary_text(_DIARIES_IN_A_FILE) + f"# {self._files}\n")
        return ["bench", "import", str(diary)]

    def _start(self, kind: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-c", _COMMAND, *self._arguments(kind), "--db", str(self.db)],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _undisturbed(self, kind: str) -> float:
        began = time.monotonic()
        child = self._start(kind)
        assert child.wait() == 0, kind
        return time.monotonic() - began

    def shoot(self, kind: str, when: str) -> None:
        """Start a command, kill it ``any time`` or ``in a write``, and look at what is left.

        A command that ended before it could be killed counts as no moment: once more.
        """
        killed = False
        while not killed:
            began = time.monotonic()
            child = self._start(kind)
            if when == "any time":
                self._sleep(child, self.chance.uniform(0.0, self.usual_seconds[kind]))
            else:
                self._wait_for_a_write(child, self.chance.randint(1, 8) if kind == "run" else 1)
                self._sleep(child, self.chance.uniform(0.0, _WRITE_SECONDS[kind]))
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
            killed = child.wait() == -signal.SIGKILL
            if killed:
                self.tally.moments[f"{kind}, {when}"] += 1
            else:
                self.tally.ended_before += 1
                self.usual_seconds[kind] = time.monotonic() - began
            self._look(f"{kind}, {when}, moment {self.tally.moments.total()}")

    @staticmethod
    def _sleep(child: subprocess.Popen[bytes], seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=seconds)

    def _wait_for_a_write(self, child: subprocess.Popen[bytes], number: int) -> None:
        """Until the ``number``-th write of ``child`` has begun, or it has ended."""
        journal = self.db.with_name("history.db-journal")
        seen, there = 0, False
        while child.poll() is None:
            was, there = there, journal.exists()
            seen += there and not was
            if seen == number:
                return
            time.sleep(0.0002)

    # ------------------------------------------------------------------ what is left

    def _look(self, moment: str) -> None:
        before = self._read(moment)
        # What the next writer does; the unit does it at once.
        try:
            runner.reap(self.db)
        except OperatorError as error:
            self._problem(moment, f"reap: {error.message}")
        with contextlib.closing(sqlite3.connect(self.db)) as connection:
            for pragma, good in (("integrity_check", [("ok",)]), ("foreign_key_check", [])):
                if (found := connection.execute(f"PRAGMA {pragma}").fetchall()) != good:
                    self._problem(moment, f"{pragma}: {found}")
            half = connection.execute(
                "SELECT (SELECT count(run_id) FROM result) - (SELECT count(*) FROM histogram),"
                " (SELECT count(*) FROM run WHERE state = 'running')"
            ).fetchone()
            if half != (0, 0):
                self._problem(moment, f"results without a histogram, running runs: {half}")
        after = self._read(moment)
        if before is not None and before != after:
            self._problem(moment, f"a reader saw {before} before the reap and {after} after it")
        if after is None:
            self._problem(moment, "it cannot be read after a reap")
        else:
            self._compare(moment, after)
        if left := [path.name for path in self.folder.glob("*.damaged-*")]:
            self._problem(moment, f"set aside: {left}")
        if left := [path.name for path in self.target.rglob("data.*")]:
            self._problem(moment, f"test files left after a reap: {left}")

    def _read(self, moment: str) -> dict[str, object] | None:
        """Every ended run and import as a reader sees them; ``None`` if there is a half write."""
        try:
            with queries.open_readonly(self.db) as reader:
                found: dict[str, object] = {}
                for run in reader.runs(-1):
                    results = len(reader.results(run.id))
                    found[f"run {run.id}"] = (run.state.value, results)
                    if run.state is RunState.COMPLETE and results != _RESULTS_OF_A_RUN:
                        self._problem(moment, f"run {run.id} is complete with {results} results")
                    if run.state is RunState.RUNNING:
                        self._problem(moment, f"run {run.id} is shown as running")
                for record in reader.imports():
                    whole = len(reader.import_reports(record.id))
                    found[f"import {record.id}"] = whole
                    if self._kept and whole != self.reports:
                        self._problem(moment, f"import {record.id} has {whole} reports")
                return found
        except OperatorError as error:
            if "unfinished write" not in error.message:
                self._problem(moment, f"a reader: {error.message}")
            self.tally.half_writes += "unfinished write" in error.message
            return None

    def _compare(self, moment: str, after: dict[str, object]) -> None:
        """Nothing that was there before has changed or gone; at most one thing is new."""
        for name, was in self._kept.items():
            if after.get(name) != was:
                self._problem(moment, f"{name} was {was} and is {after.get(name)}")
        if self._kept and len(after) > len(self._kept) + 1:
            self._problem(moment, f"{len(after) - len(self._kept)} new rows of one command")
        self._kept = after
        self.tally.runs = Counter(
            str(value[0]) for value in after.values() if isinstance(value, tuple)
        )
        self.tally.imports = sum(isinstance(value, int) for value in after.values())

    def _problem(self, moment: str, what: str) -> None:
        self.tally.problems.append(f"{moment}: {what}")


@contextlib.contextmanager
def rifle_range(seed: int) -> Iterator[Range]:
    with tempfile.TemporaryDirectory(prefix="stripewright-kills-") as name:
        Path(name).chmod(0o755)
        yield Range(Path(name), seed)


def kill(moments: int, seed: int) -> Tally:
    """``moments`` kills in turn of both commands, in and out of writes."""
    kinds = [(kind, when) for when in ("any time", "in a write") for kind in ("run", "import")]
    with rifle_range(seed) as place:
        for number in range(moments):
            place.shoot(*kinds[number % len(kinds)])
            if number % 20 == 19:
                print(place.tally, flush=True)
        return place.tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    tally = kill(arguments.moments, arguments.seed)
    print("\n".join([str(tally), *tally.problems]))
    if arguments.json:
        arguments.json.write_text(json.dumps(asdict(tally), indent=1) + "\n")
    return 1 if tally.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
