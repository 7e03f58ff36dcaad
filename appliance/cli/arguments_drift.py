"""What can be asked of ``stripewright drift``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from appliance import paths

AddOption = Callable[[argparse.ArgumentParser], None]
ACTIONS = ("check", "list", "show", "ack", "approve", "confirm", "accept", "replay")


def add(
    drift: argparse.ArgumentParser,
    *,
    parser_class: type[argparse.ArgumentParser],
    add_json: AddOption,
    add_db: AddOption,
) -> None:
    """Add the actions to the command ``drift``."""
    actions = drift.add_subparsers(title="actions", metavar="ACTION", parser_class=parser_class)

    def action(
        name: str, summary: str, more: str = "", *, db: bool = True
    ) -> argparse.ArgumentParser:
        words = f"{summary[0].upper()}{summary[1:]}. {more}".strip()
        sub = actions.add_parser(name, help=summary, description=words)
        sub.set_defaults(does=f"drift {name}")
        add_json(sub)
        if db:
            add_db(sub)
        return sub

    action(
        "check",
        "look now; exit status 5 for a critical or warning finding that is not acknowledged",
    )
    listed = action("list", "the findings there are")
    listed.add_argument("--all", action="store_true", help="those that are closed, too")
    action("show", "one finding with its evidence and what became of it").add_argument(
        "id", type=_finding_id, metavar="ID"
    )
    for name, summary in (
        ("ack", "say that a finding is known: it raises no more alarms"),
        ("approve", "say that a change of speed is the new normal"),
    ):
        sub = action(name, summary)
        sub.add_argument("id", type=_finding_id, metavar="ID")
        sub.add_argument("--note", default="", metavar="TEXT", help="kept with the finding")
    action(
        "confirm",
        "repeat what is suspect, beside a job that touches no disk",
        "It takes minutes: each suspect job runs five times, for as long as in its suite (30 s in "
        "smoke), at most three of them in one call, and their files are laid out before. It writes "
        f"where the suspect run did, in {paths.BENCH_DIR_NAME} of that directory or volume, and "
        "removes its files. It is skipped while something else uses the disks.",
    )
    action(
        "accept",
        "judge the latest smoke run on these disks by what is published for them",
        "If there is none since the disks last changed, the suite is run first: about three "
        f"minutes in {paths.BENCH_DIR_NAME} of the first mounted volume. Exit status 5 if a disk "
        "is behind the others, or the stripe behind what is published.",
    )
    replay = action(
        "replay",
        "run the detector over a series from a file",
        "The file is CSV, separated by commas. Its first line names the columns: slot (whole "
        "numbers that ascend) and value (empty: no measurement in this slot), and epoch where what "
        "was normal begins anew; others are ignored. No history is read or written.",
        db=False,
    )
    replay.add_argument(
        "file", type=_series, metavar="FILE.csv", help="the file; - is standard input"
    )
    replay.add_argument(
        "--better",
        choices=("higher", "lower"),
        default="higher",
        help="which way is good: higher (IOPS, the default) or lower (latency). Changes both ways "
        "are told; this only says which are for the worse",
    )


def _series(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("the name is empty; name a CSV file, or - for stdin")
    return Path(text)


def _finding_id(text: str) -> int:
    # SQLite's integers have 63 bits; an id is never that large.
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a finding")
    return int(text)
