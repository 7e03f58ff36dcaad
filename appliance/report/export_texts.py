"""A run, an import or the whole history as a new file, in the form that its name asks for."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from appliance import text
from appliance.errors import OperatorError, UsageError
from appliance.figures.selection import Selector
from appliance.history import exports, queries
from appliance.report import html, markdown, sources
from appliance.report.page import ReportDocument
from appliance.system import files

# What a name may end in, and what is written then.
FORMS: Mapping[str, str] = {
    ".html": "a report, as a page",
    ".md": "a report, as text for a ticket",
    ".json": "every figure, for other programs",
    ".csv": "the results of the whole history, for a spreadsheet",
}
_REPORTS: Mapping[str, Callable[[ReportDocument], str]] = {
    ".html": html.page,
    ".md": markdown.text,
}


def write_new(db: Path, what: Selector, output: Path) -> str:
    """Write ``what`` (a run or an import) to the new file ``output``; says what was written.

    :class:`OperatorError` if the name has another ending, if something has that name
    already (it stays as it is), or if it cannot be written.
    """
    form = output.suffix.lower()
    if form not in FORMS:
        raise UsageError(
            f"{output.name or output} does not say what to write", f"end it in {', '.join(FORMS)}"
        )
    if os.path.lexists(output):
        raise _exists(output)
    try:
        with queries.open_readonly(db) as reader:
            files.create_text(output, _pieces(reader, what, form))
    except FileExistsError as error:
        raise _exists(output) from error
    except OSError as error:
        raise OperatorError(
            f"{output} cannot be written: {os.strerror(error.errno or 0)}",
            "name a file in a directory that you may write, on a filesystem with space",
        ) from error
    return f"{output.absolute()}: {FORMS[form]}, {text.size(output.stat().st_size)}"


def _exists(output: Path) -> OperatorError:
    return OperatorError(f"{output} exists and was left as it is", "type another name")


def _pieces(reader: queries.Reader, what: Selector, form: str) -> Iterable[str]:
    if form == ".csv":
        return exports.csv_text(reader)
    is_import = what.kind == "import"
    if form == ".json":
        if is_import:
            record = next((one for one in reader.imports() if one.id == what.number), None)
            if record is None:
                raise OperatorError(
                    f"there is no import {what.number} in {reader.path}",
                    "it may have been removed since: read the list again",
                )
            document = exports.import_document(reader, record)
        else:
            document = exports.run_document(reader, reader.run(what.number))
        return (json.dumps(document, indent=1), "\n")
    made = sources.of_import if is_import else sources.of_run
    return (_REPORTS[form](made(reader, what.number)),)
