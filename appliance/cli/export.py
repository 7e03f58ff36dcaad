"""``export csv|json|metrics``: the history as a text, on stdout or in a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from appliance.cli import output as output_file
from appliance.drift import check_summary
from appliance.errors import EXIT_OK
from appliance.history import exports, metrics, queries

FORMS: dict[str, Callable[[queries.Reader], Iterable[str]]] = {
    "csv": exports.csv_text,
    "json": exports.json_text,
    "metrics": lambda reader: (
        metrics.metrics_text(reader, drift_checked_at=check_summary.last_check(reader)),
    ),
}


def export(form: str, *, db: Path, output: Path | None) -> int:
    """Write the history in ``form``; ``output`` is replaced in one step."""
    if output is not None:
        output_file.require_writable(output, db)
    with queries.open_readonly(db) as reader:
        pieces = FORMS[form](reader)
        if output is not None:
            output_file.write(output, pieces)
        else:
            sys.stdout.writelines(pieces)
    return EXIT_OK
