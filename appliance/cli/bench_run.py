"""``bench run``: run a suite, show how far it is, print what came of it."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from appliance import text
from appliance.bench.progress import Progress, progress_json, progress_line
from appliance.cli.results import EXIT_OF_STATE, run_document, run_text
from appliance.errors import UsageError
from appliance.figures.efficiency import Efficiency, efficiencies

if TYPE_CHECKING:
    from appliance.bench.runner import Target


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line names to be measured: at the most one of the first four."""

    volume: str = ""
    target: str | None = None
    raw_read: str | None = None
    raw_write: str | None = None
    serial: str | None = None
    members: bool = False


def run(
    suite_name: str,
    asked: Asked,
    *,
    db: Path,
    time_factor: float,
    as_json: bool,
    progress: str,
    wait_seconds: float,
) -> int:
    """Run a suite to its end, showing progress on stderr, and print its results.

    ``suite_name`` may say on which mounted volume: ``smoke:data``, as the units' names do.
    ``progress`` is ``json`` for a JSON object a line and second, else a bar on a terminal.
    """
    from appliance.bench import runner
    from appliance.bench.suitefile import find_suite
    from appliance.history import queries

    suite_name, volume = _suite_and_volume(suite_name)
    suite = find_suite(suite_name)
    target = _target(replace(asked, volume=volume))
    show = ProgressLines() if progress == "json" else ProgressBar()
    run_id = runner.run_suite(
        suite,
        target=target,
        db=db,
        time_factor=time_factor,
        on_progress=show.show,
        wait_seconds=wait_seconds,
    )
    show.finish()
    with queries.open_readonly(db) as reader:
        record, results = reader.run(run_id), reader.results(run_id)
    each = efficiencies(results, record.members)
    if as_json:
        document = run_document(record, results)
        document["stripe_efficiency"] = [_efficiency_document(one) for one in each]
        print(json.dumps(document, indent=2))
    else:
        print(run_text(record, results))
        for one in each:
            print(_efficiency_text(one))
    return EXIT_OF_STATE[record.state]


def _suite_and_volume(text: str) -> tuple[str, str]:
    """``smoke:data`` in its two halves. A file of a suite may have any name, and no volume."""
    if text.endswith(".toml") or ":" not in text:
        return text, ""
    suite, _, volume = text.partition(":")
    if not volume:
        raise UsageError(f"no volume is named in {text!r}", f"leave the colon out: {suite}")
    return suite, volume


def _target(asked: Asked) -> Target:
    from appliance.bench import runner
    from appliance.bench import target as place

    if asked.volume and any((asked.target, asked.raw_read, asked.raw_write)):
        raise UsageError(
            f"volume {asked.volume!r} and another target do not go together",
            "name the volume behind the suite, or the target, and not both",
        )
    if (asked.raw_write is None) != (asked.serial is None):
        raise UsageError(
            "--raw-write DEVICE and --serial SERIAL belong together",
            "writing to a device destroys what is on it: type the serial of the disk, too",
        )
    if asked.members and (asked.raw_read is not None or asked.raw_write is not None):
        raise UsageError(
            "--members is for files on a stripe, and not for a device",
            "name a directory on the stripe with --target",
        )
    if asked.raw_write is not None and asked.serial is not None:
        return runner.Target(asked.raw_write, place.RAW_WRITE, serial=asked.serial)
    if asked.raw_read is not None:
        return runner.Target(asked.raw_read, place.RAW_READ)
    directory: Path | str
    if asked.volume:
        directory = runner.target_on(asked.volume)
    else:
        directory = runner.default_target() if asked.target is None else asked.target
    return runner.Target(directory, members=asked.members)


def _efficiency_document(one: Efficiency) -> dict[str, object]:
    return {
        "job": one.job,
        "direction": one.direction,
        "stripe_iops": one.stripe_iops,
        "member_iops": one.member_iops,
        "share": one.share,
    }


def _efficiency_text(one: Efficiency) -> str:
    return (
        f"  {one.job} {one.direction}: the stripe does {one.share * 100:.0f} % of what its "
        f"{len(one.member_iops)} members do alone "
        f"({text.count(one.stripe_iops)} of {text.count(sum(one.member_iops.values()))} IOPS)"
    )


class _Teller:
    """Writes to stderr as long as somebody reads it: a run does not fail because ``head`` or
    a terminal has gone.
    """

    def __init__(self) -> None:
        self._gone = False

    def __call__(self, words: str) -> None:
        if self._gone:
            return
        try:
            sys.stderr.write(words)
            sys.stderr.flush()
        except OSError:
            self._gone = True


class ProgressBar:
    """One changing line on a terminal, a line a phase otherwise."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._last_phase = ("", 0)
        self._tell = _Teller()

    def show(self, progress: Progress) -> None:
        phase = (progress.phase, progress.job_index)
        if self._terminal:
            width = shutil.get_terminal_size().columns
            self._tell(f"\r{progress_line(progress, width)}\x1b[K")
        elif phase != self._last_phase:
            self._last_phase = phase
            self._tell(progress_line(progress, text.WIDTH) + "\n")

    def finish(self) -> None:
        if self._terminal:
            self._tell("\n")


class ProgressLines:
    """A JSON object a line, for programs that follow."""

    def __init__(self) -> None:
        self._tell = _Teller()

    def show(self, progress: Progress) -> None:
        self._tell(progress_json(progress) + "\n")

    def finish(self) -> None:
        """Nothing: every line is whole."""
