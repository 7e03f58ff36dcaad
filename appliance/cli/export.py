"""``export``: the history as a text, on stdout or in a file; as Parquet in a folder."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from appliance.cli.command import Command, complain
from appliance.cli.output import StatusLine, require_writable, write_file
from appliance.errors import EXIT_FAILED, EXIT_OK, UsageError

if TYPE_CHECKING:
    from appliance.history.queries import Reader

_FORMS = ("csv", "json", "metrics", "io-properties", "parquet")


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("form", choices=_FORMS, metavar="|".join(_FORMS), help="the format")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="replace FILE in one step; of parquet a folder, to which what is new is added",
    )
    parser.add_argument(
        "--machine", metavar="NAME", help="of parquet: the machine's name (its host's)"
    )


def export(*, form: str, output: Path | None, machine: str | None = None, db: Path) -> int:
    from appliance.history import queries

    if machine is not None and form != "parquet":
        raise UsageError(f"--machine is of parquet, not of {form}", "leave it out")
    if form == "parquet":
        if output is None:
            raise UsageError("parquet is a folder of files", "name it: --output DIR")
        return _parquet(output, machine, db)
    if output is not None:
        require_writable(output, db)
    left_out: list[str] = []
    with queries.open_readonly(db) as reader:
        if output is None:
            sys.stdout.writelines(pieces(form, reader, left_out))
        else:
            write_file(output, pieces(form, reader, left_out))
    return _told(left_out, db)


def _told(left_out: list[str], db: Path) -> int:
    if left_out:
        complain(f"history {db} is damaged", "")
    for one in left_out:
        complain(f"not in the export: {one}", "")
    return EXIT_FAILED if left_out else EXIT_OK


def _parquet(folder: Path, machine: str | None, db: Path) -> int:
    from appliance.fleet import from_history
    from appliance.history import queries

    left_out: list[str] = []
    line = StatusLine()
    with queries.open_readonly(db) as reader:
        made = from_history.export(
            reader,
            folder,
            left_out,
            name=machine,
            tell=lambda runs: line.show("export", f"{runs} runs") if runs % 100 == 0 else None,
        )
    line.finish()
    print(f"{made.machine.name}: runs: {made.runs}, files: {made.files}; {folder}")
    return _told(left_out, db)


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
    from appliance.client import monitoring

    return (monitoring.exposition(reader),)


COMMANDS = (
    Command("export", export, "export the history as CSV, JSON, metrics, io_properties, Parquet",
        "export csv --output results.csv", _arguments, json=False, db=True),
)  # fmt: skip
