"""What can be asked of ``stripewright drift``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

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

    def action(name: str, summary: str, *, db: bool = True) -> argparse.ArgumentParser:
        sub = actions.add_parser(name, help=summary, description=f"{summary.capitalize()}.")
        sub.set_defaults(does=f"drift {name}")
        add_json(sub)
        if db:
            add_db(sub)
        return sub

    action("check", "look now; exit status 5 if there is something grave that nobody knows of")
    listed = action("list", "the findings there are")
    listed.add_argument("--all", action="store_true", help="those that are closed, too")
    action("show", "one finding with its evidence and what became of it").add_argument(
        "id", type=_finding_id, metavar="ID"
    )
    for name, summary in (
        ("ack", "say that a finding is known: it raises no alarm any more"),
        ("approve", "say that a change of speed is the new normal"),
    ):
        sub = action(name, summary)
        sub.add_argument("id", type=_finding_id, metavar="ID")
        sub.add_argument("--note", default="", metavar="TEXT", help="kept with the finding")
    action("confirm", "repeat what is suspect, beside a job that touches no disk")
    action("accept", "judge the first run on these disks by what is published for them")
    replay = action("replay", "run the detector over a series from a file", db=False)
    replay.add_argument("file", type=Path, metavar="FILE.csv", help="columns slot,value[,epoch]")
    replay.add_argument(
        "--better", choices=("higher", "lower"), default="higher", help="which way is good"
    )


def _finding_id(text: str) -> int:
    # SQLite's integers have 63 bits; an id is never that large.
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a finding")
    return int(text)
