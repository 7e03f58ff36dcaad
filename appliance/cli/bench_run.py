"""``bench``: the group; ``run``, with its progress and its results; ``reap``; and what makes a
volume's benchmark directory.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from appliance import text
from appliance.cli.command import Command, name_argument
from appliance.cli.initialise import declared
from appliance.cli.output import StatusLine, print_json
from appliance.cli.results import run_document, run_text
from appliance.errors import EXIT_FAILED, EXIT_OK, EXIT_REFUSED, OperatorError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from appliance.bench.progress import Progress
    from appliance.bench.runner import Target
    from appliance.figures.stripe_delivery import Efficiency

# By appliance.model.RunState; any other is a failure.
_EXIT_OF_STATE = {"complete": EXIT_OK, "skipped": EXIT_REFUSED}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "suite",
        metavar="SUITE",
        help="a suite's name, with :VOLUME for another than the first, or a FILE.toml of your own",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--target", metavar="DIR", help="measure here (default: the mounted volume)")
    where.add_argument("--raw-read", metavar="DEVICE", help="only read this device")
    where.add_argument(
        "--raw-write", metavar="DEVICE", help="overwrite this disk; as root, with --serial"
    )
    parser.add_argument("--serial", metavar="SERIAL", help="of the disk to overwrite")
    parser.add_argument(
        "--members", action="store_true", help="also measure each disk of the stripe alone; as root"
    )
    parser.add_argument(
        "--wait",
        type=_minutes,
        default=0,
        metavar="MINUTES",
        help="wait this long for another run in the same place (default: 0)",
    )
    parser.add_argument(
        "--progress", choices=("json",), default="", help="a JSON line per second on stderr"
    )
    parser.add_argument(
        "--time-factor", type=_factor, default=1.0, metavar="F", help="scale every run time by F"
    )


def run(
    *,
    suite: str,
    target: str | None,
    raw_read: str | None,
    raw_write: str | None,
    serial: str | None,
    members: bool,
    wait: int,
    progress: str,
    time_factor: float,
    db: Path,
    as_json: bool,
) -> int:
    """Run a suite to its end, showing progress on stderr, and print its results.

    ``suite`` may say on which mounted volume: ``smoke:data``, as the units' names do.
    """
    from appliance.bench import runner
    from appliance.bench.suite import find_suite
    from appliance.figures.stripe_delivery import efficiencies
    from appliance.history import queries

    name, volume = _suite_and_volume(suite)
    chosen = find_suite(name)
    if volume and any((target, raw_read, raw_write)):
        raise UsageError(
            f"volume {volume!r} and another target do not go together",
            "name the volume behind the suite, or the target, and not both",
        )
    if (raw_write is None) != (serial is None):
        raise UsageError(
            "--raw-write DEVICE and --serial SERIAL belong together",
            "writing to a device destroys what is on it: type the serial of the disk, too",
        )
    if members and (raw_read is not None or raw_write is not None):
        raise UsageError(
            "--members is for files on a stripe, and not for a device",
            "name a directory on the stripe with --target",
        )
    line = StatusLine()
    run_id = runner.run_suite(
        chosen,
        target=_target(volume, target, raw_read, raw_write, serial, members=members),
        db=db,
        time_factor=time_factor,
        on_progress=_json_on(line) if progress == "json" else progress_on(line),
        wait_seconds=wait * 60.0,
    )
    line.finish()
    with queries.open_readonly(db) as reader:
        record, results = reader.run(run_id), reader.results(run_id)
    each = efficiencies(results, record.members)
    if as_json:
        document = run_document(record, results)
        names = "job direction stripe_iops member_iops share"
        document["stripe_efficiency"] = [text.fields(one, names) for one in each]
        print_json(document)
    else:
        print("\n".join([run_text(record, results), *map(_efficiency_text, each)]))
    return _EXIT_OF_STATE.get(record.state, EXIT_FAILED)


def progress_on(line: StatusLine) -> Callable[[Progress], None]:
    """What shows the progress of a run for a person."""
    from appliance.bench.progress import progress_line

    def show(progress: Progress) -> None:
        step = (progress.phase, progress.job_index)
        line.show(step, progress_line(progress, line.columns))

    return show


def _json_on(line: StatusLine) -> Callable[[Progress], None]:
    """For programs: a JSON object a line."""
    from appliance.bench.progress import progress_json

    return lambda progress: line.write(progress_json(progress) + "\n")


def _suite_and_volume(words: str) -> tuple[str, str]:
    """``smoke:data`` in its two halves. A file of a suite may have any name, and no volume."""
    suite, colon, volume = words.partition(":")
    if words.endswith(".toml") or not colon:
        return words, ""
    if not volume:
        raise UsageError(f"no volume is named in {words!r}", f"leave the colon out: {suite}")
    return suite, volume


def _target(
    volume: str,
    directory: str | None,
    raw_read: str | None,
    raw_write: str | None,
    serial: str | None,
    *,
    members: bool,
) -> Target:
    from appliance.bench import fingerprint, runner
    from appliance.bench import target as place

    if raw_write is not None and serial is not None:
        return runner.Target(raw_write, place.RAW_WRITE, serial=serial)
    if raw_read is not None:
        return runner.Target(raw_read, place.RAW_READ)
    if directory is not None:
        return runner.Target(directory, members=members)
    return runner.Target(
        fingerprint.target_on(volume) if volume else fingerprint.default_target(), members=members
    )


def _efficiency_text(one: Efficiency) -> str:
    return (
        f"  {one.job} {one.direction}: the stripe does {one.share * 100:.0f} % of what its "
        f"{len(one.member_iops)} members do alone "
        f"({text.count(one.stripe_iops)} of {text.count(sum(one.member_iops.values()))} IOPS)"
    )


def _minutes(words: str) -> int:
    if not words.isascii() or not words.isdecimal() or len(words) > 6 or int(words) > 1440:
        raise argparse.ArgumentTypeError(f"{words!r} is not a number of minutes from 0 to 1440")
    return int(words)


def _factor(words: str) -> float:
    try:
        value = float(words)
    except ValueError:
        value = -1.0
    if not 0.001 <= value <= 1000:
        raise argparse.ArgumentTypeError(f"{words!r} is not a number from 0.001 to 1000")
    return value


def reap(*, db: Path) -> int:
    """Mark runs whose process is gone as aborted, and remove the files they left."""
    from appliance.bench import runner
    from appliance.history import queries

    # Without a history there is nothing to mark, and a mistyped name must not make one.
    with queries.open_readonly(db):
        pass
    count = runner.reap(db)
    print(f"runs whose process is gone, marked as aborted: {count or 'none'}")
    return EXIT_OK


def bench_dir(*, name: str) -> int:
    """What its unit runs: make the benchmark directory on the mounted volume ``name``."""
    from appliance.storage.execute import bench_dir as directory
    from appliance.system.kernel import Kernel

    where = declared(name).mount
    mounted = Kernel().mount_at(where)
    if mounted is None:
        raise OperatorError(f"volume '{name}' is not mounted", "see 'stripewright status'")
    directory.ensure(where, mounted.device)
    return EXIT_OK


COMMANDS = (
    Command("bench", None, "run a suite, or judge fio reports from elsewhere",
        "bench run smoke --target DIR --db FILE"),
    Command("bench reap", reap, "mark runs whose process is gone as aborted, after a crash",
        "bench reap --db history.db", json=False, db=True, more="Their test files are removed."),
    Command("bench-dir", bench_dir, arguments=name_argument, root=True),
    Command("bench run", run, "run a suite", "bench run smoke --target /mnt/data --db history.db",
        _arguments, db=True,
        more="It writes only to a directory of its own in DIR, unless --raw-write names a disk, and"
        " removes its files."),
)  # fmt: skip
