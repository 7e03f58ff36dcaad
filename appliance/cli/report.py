"""``report``: one run, or one imported file, as a page or a text to attach to a ticket."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from appliance.cli.command import Command, number_of
from appliance.cli.output import print_json, require_writable, write_file
from appliance.errors import EXIT_OK, UsageError
from appliance.text import fields, printable


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--output", required=True, type=Path, metavar="FILE", help="FILE.html or FILE.md"
    )
    subject = parser.add_mutually_exclusive_group()
    subject.add_argument(
        "--run",
        type=number_of("a run"),
        metavar="ID",
        help="this run (default: the latest of a suite with results)",
    )
    subject.add_argument(
        "--import",
        type=number_of("an import"),
        metavar="ID",
        dest="import_id",
        help="this imported file",
    )


def report(*, output: Path, run: int | None, import_id: int | None, db: Path, as_json: bool) -> int:
    from appliance.history import queries
    from appliance.report import sources

    suffix = output.suffix.lower()
    if suffix not in sources.REPORTS:
        raise UsageError(
            f"--output {output}: a report is written as {' or '.join(sources.REPORTS)}",
            f"for example: --output {output.with_suffix('.html').name or 'report.html'}",
        )
    require_writable(output, db)
    with queries.open_readonly(db) as reader:
        made = (
            sources.of_run(reader, run)
            if import_id is None
            else sources.of_import(reader, import_id)
        )
    write_file(output, (sources.REPORTS[suffix](made),))
    if as_json:
        print_json(
            {
                "output": str(output),
                **fields(made, "kind title headline"),
                "results": len(made.rows),
                "valid": sum(row.valid for row in made.rows),
                "size_bytes": output.stat().st_size,
            }
        )
    else:
        print(printable(f"{output}: {made.title}; {made.headline}"))
    return EXIT_OK


COMMANDS = (
    Command("report", report, "write a run or an import as HTML or Markdown",
        "report --run 41 --output smoke.html", _arguments, db=True),
)  # fmt: skip
