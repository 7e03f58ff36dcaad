"""``export csv|json|metrics|io-properties``: the history as a text, on stdout or in a file."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from appliance.cli.command import Command, complain
from appliance.cli.output import require_writable, write_file
from appliance.errors import EXIT_FAILED, EXIT_OK

if TYPE_CHECKING:
    from appliance.history.queries import Reader

_FORMS = ("csv", "json", "metrics", "io-properties")


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("form", choices=_FORMS, metavar="|".join(_FORMS), help="the format")
    parser.add_argument("--output", type=Path, metavar="FILE", help="replace FILE in one step")


def export(*, form: str, output: Path | None, db: Path) -> int:
    from appliance.history import queries

    if output is not None:
        require_writable(output, db)
    left_out: list[str] = []
    with queries.open_readonly(db) as reader:
        if output is None:
            sys.stdout.writelines(pieces(form, reader, left_out))
        else:
            write_file(output, pieces(form, reader, left_out))
    if left_out:
        complain(f"history {db} is damaged", "")
    for one in left_out:
        complain(f"not in the export: {one}", "")
    return EXIT_FAILED if left_out else EXIT_OK


def pieces(form: str, reader: Reader, left_out: list[str]) -> Iterable[str]:
    from appliance.history import exports

    if form == "csv":
        return exports.csv_text(reader, left_out)
    if form == "json":
        return exports.json_text(reader, left_out)
    if form == "io-properties":
        from appliance.presets import own, own_properties

        # Whole before the first line: it may be refused.
        return tuple(own_properties.pieces(own.measured(reader, current=True)))
    from appliance.drift import check_summary
    from appliance.history import metrics

    # An alert cannot tell a series that is left out from one that ended: all or nothing.
    with reader.understood():
        checked_at = check_summary.last_check(reader)
        return (metrics.metrics_text(reader, drift_checked_at=checked_at),)


COMMANDS = (
    Command("export", export, "export the history as CSV, JSON, metrics or io_properties",
        "export csv --output results.csv", _arguments, json=False, db=True),
)  # fmt: skip
