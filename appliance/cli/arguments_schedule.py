"""The words of ``schedule``: what can be asked of it (:mod:`appliance.cli.arguments`)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


def add(
    command: argparse.ArgumentParser,
    kind: type[argparse.ArgumentParser],
    add_json: Callable[[argparse.ArgumentParser], None],
) -> None:
    """Give ``command`` its actions, made by ``kind``."""
    actions = command.add_subparsers(title="actions", metavar="ACTION", parser_class=kind)
    words = "What runs when, by the schedule and by default."
    show = actions.add_parser("show", help="what runs when", description=words)
    show.set_defaults(does="schedule show")
    add_json(show)
    words = "Change when a suite runs, or install a whole schedule.toml."
    change = actions.add_parser("set", help="change when something runs", description=words)
    change.set_defaults(does="schedule set")
    change.add_argument("suite", nargs="?", default="", metavar="SUITE", help="a suite's name")
    change.add_argument("--file", type=Path, metavar="FILE", help="a whole schedule.toml")
    when = change.add_mutually_exclusive_group()
    when.add_argument("--every", default="", metavar="TIME", help='for example "4h"')
    when.add_argument("--at", default="", metavar="TIME", help='for example "Mon..Fri 02:30"')
    when.add_argument(
        "--off", dest="state", action="store_const", const="off", default="", help="never"
    )
    when.add_argument(
        "--default", dest="state", action="store_const", const="default", help="as in the image"
    )
    change.add_argument(
        "--jitter", default="", metavar="TIME", help="start up to so much later: 30min"
    )
    add_json(change)
