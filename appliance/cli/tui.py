"""``tui``: the screens, and without a terminal what they would say first, as text."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path

from appliance import paths
from appliance.cli import fleet as many
from appliance.cli import results, status
from appliance.cli.command import Command, complain


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--readonly", action="store_true", help="look only: nothing can be changed or started"
    )
    parser.add_argument(
        "--theme",
        choices=("dark", "light", "terminal"),
        default="",
        help="colours (default: dark; the terminal's own if it has 16, or NO_COLOR is set)",
    )
    parser.add_argument(
        "--fleet", default="", metavar="DIR", help="show the machines whose Parquet is in DIR"
    )
    parser.add_argument(
        "--mouse",
        action="store_true",
        help="take the mouse; hold shift to select text in the terminal",
    )


def tui(*, fleet: str, readonly: bool, theme: str, mouse: bool, db: Path, as_json: bool) -> int:
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _as_text(db, fleet, as_json=as_json)
    from tui.start import run
    from tui.terminal import TerminalUnusable

    try:
        return run(db, fleet=fleet, readonly=readonly, theme=theme, mouse=mouse)
    except TerminalUnusable as error:
        complain(error.message, error.hint)
        return _as_text(db, fleet, as_json=False)


def _as_text(db: Path, fleet: str, *, as_json: bool) -> int:
    """The status; of a fleet, or of a history that is not this machine's, what is in it."""
    if fleet:
        return many.fleet(place=fleet, normal=None, output=None, as_json=as_json)
    if db.absolute() == paths.HISTORY_DB:
        return status.status(db=db, as_json=as_json)
    return results.results(run=None, suite="", db=db, as_json=as_json)


COMMANDS = (
    Command("tui", tui, "open the screens", "tui --readonly --db history.db", _arguments, db=True,
        more="With --json, and where there is no terminal, it prints the status instead; with --db,"
        " the last runs and imports of that history; with --fleet what fleet says."),
)  # fmt: skip
