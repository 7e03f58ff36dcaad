"""``report``: one run, or one imported diary, as a page or a text that goes into a ticket."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from appliance.cli import output as output_file
from appliance.errors import EXIT_OK, UsageError
from appliance.history import queries
from appliance.report import html, markdown, sources
from appliance.report.page import ReportDocument
from appliance.text import printable

_FORMS: dict[str, Callable[[ReportDocument], str]] = {".html": html.page, ".md": markdown.text}


def report(
    db: Path, *, output: Path, run_id: int | None, import_id: int | None, as_json: bool
) -> int:
    """Write the report of a run (the latest of a suite that measured something) or of an import."""
    form = _FORMS.get(output.suffix.lower())
    if form is None:
        raise UsageError(
            f"--output {output}: a report is written as {' or '.join(_FORMS)}",
            f"for example: --output {output.with_suffix('.html').name or 'report.html'}",
        )
    output_file.require_writable(output, db)
    with queries.open_readonly(db) as reader:
        made = (
            sources.of_run(reader, run_id)
            if import_id is None
            else sources.of_import(reader, import_id)
        )
    output_file.write(output, (form(made),))
    if as_json:
        print(json.dumps(_document(made, output), indent=2))
    else:
        print(printable(f"{output}: {made.title}; {made.headline}"))
    return EXIT_OK


def _document(made: ReportDocument, output: Path) -> dict[str, object]:
    return {
        "output": str(output),
        "kind": made.kind,
        "title": made.title,
        "headline": made.headline,
        "results": len(made.rows),
        "valid": sum(row.valid for row in made.rows),
        "size_bytes": output.stat().st_size,
    }
