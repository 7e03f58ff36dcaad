"""``bench import``: other people's fio reports, judged by the rules for our own."""

from __future__ import annotations

import stat
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from appliance import text
from appliance.cli.command import Command
from appliance.cli.results import findings_text, verdict
from appliance.errors import EXIT_OK, OperatorError, UsageError

if TYPE_CHECKING:
    from appliance.fio_import import Imported
    from appliance.model.measurement import Measurement

# A text becomes up to four times its size in memory. Ten thousand reports have 25 MB.
MAX_FILE_BYTES = 100 * 1024 * 1024
_WORDS = {
    "iops": "IOPS",
    "bandwidth_bytes": "bandwidth",
    "total_ios": "I/Os",
    "runtime_ms": "run time",
    "latency_mean_ns": "latency",
}
_WHAT_IS_READ = "what is read: fio's normal output and its JSON, with any text around them"


class _File(NamedTuple):
    path: str
    sha256: str
    imported: Imported
    is_text: bool

    @property
    def judged(self) -> tuple[Measurement, ...]:
        return self.imported.judged


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a text or JSON file with fio reports in it"
    )
    parser.add_argument(
        "--machine", default="", metavar="TYPE", help="measured on this type, whatever FILE says"
    )
    parser.add_argument("--db", type=Path, metavar="FILE", help="keep them in this history")


def import_files(*, files: Sequence[str], machine: str, db: Path | None, as_json: bool) -> int:
    """Read, judge, show, and with ``db`` keep the reports in ``files``.

    All files are read before anything is kept. Raises :class:`UsageError` for a file that
    cannot be read, and :class:`OperatorError` if there is no report in any of them.
    """
    from appliance.clouds.provider import is_type

    read = [_read(path, machine) for path in files]
    if machine and not is_type(machine):
        print(
            f"note: no published limits are known for machine type {text.printable(machine)!r};"
            " nothing is compared with them",
            file=sys.stderr,
        )
    kept = [] if db is None else _keep(read, machine, db)
    if as_json:
        _print_json(read, None if db is None else kept)
    elif any(file.judged for file in read):
        print("\n\n".join(_file_text(file) for file in read if file.judged))
    for file in read:
        for note in file.imported.notes:
            print(text.printable(f"note: {file.path}: {note}"), file=sys.stderr)
    empty = [file for file in read if not file.judged]
    if len(empty) == len(read):
        names = ", ".join(file.path for file in empty)
        hint = _WHAT_IS_READ
        if not all(file.is_text for file in empty):
            hint = f"that is not text; unpack a compressed file first; {hint}"
        raise OperatorError(f"no fio report in {names}", hint)
    for file in empty:
        print(f"note: no fio report in {text.printable(file.path)}", file=sys.stderr)
    return EXIT_OK


def _print_json(read: Sequence[_File], kept: list[int] | None) -> None:
    """The document, one result at a time: all of them at once are several times the file."""
    import json
    import textwrap

    from appliance.history.json_documents import report_to_json

    results = (report_to_json(one) for file in read for one in file.judged)
    print('{\n  "results": [', end="")
    separator = "\n"
    for result in results:
        print(separator + textwrap.indent(json.dumps(result, indent=2), "    "), end="")
        separator = ",\n"
    end = "]" if separator == "\n" else "\n  ]"
    imports = "" if kept is None else f',\n  "imports": {json.dumps(kept)}'
    print(f"{end}{imports}\n}}")


def _read(path: str, machine_type: str) -> _File:
    import hashlib

    from appliance.fio_import import import_reports

    data = _content(path)
    return _File(
        path,
        hashlib.sha256(data).hexdigest(),
        import_reports(data, file=path, machine_type=machine_type),
        # UTF-16 is full of zero bytes, but begins with its mark.
        is_text=b"\0" not in data[:65536] or data[:2] in (b"\xff\xfe", b"\xfe\xff"),
    )


def _content(path: str) -> bytes:
    hint = "give the file that fio's output was pasted or written to"
    try:
        mode = Path(path).stat().st_mode
        # A pipe may never end, and opening it may wait for ever; a disk is no text.
        if not stat.S_ISREG(mode):
            raise UsageError(f"{path}: not a regular file", hint)
        with Path(path).open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{path}: {reason}", hint) from error
    if len(data) > MAX_FILE_BYTES:
        limit = text.size(MAX_FILE_BYTES)
        raise UsageError(f"{path}: larger than {limit}", "split it; a report is a few KiB")
    return data


def _keep(read: Sequence[_File], machine_type: str, db: Path) -> list[int]:
    from appliance.history.store import History

    with History.open_writable(db) as history:
        return [
            history.add_import(
                # A name that is no UTF-8 cannot be kept as it is.
                text.printable(file.path),
                sha256=file.sha256,
                machine_type=machine_type,
                judged=file.judged,
            )
            for file in read
            if file.judged
        ]


# --------------------------------------------------------------------------- in words


def _file_text(file: _File) -> str:
    from appliance.history.json_documents import missing

    valid = sum(one.valid for one in file.judged)
    machines = sorted({one.machine_type for one in file.judged} - {""})
    on = f" on {', '.join(machines)}" if machines else ""
    heading = f"{file.path}: {len(file.judged)} results{on}, {valid} valid"
    columns = ("LINE", "WHAT", "ON", "IOPS", "BANDWIDTH", "MEAN", "OF PUBLISHED", "VERDICT")
    lines = [
        text.printable(heading),
        text.table([columns, *map(_row, file.judged)], fold=True),
    ]
    for one in file.judged:
        if lacking := missing(one):
            words = ", ".join(_WORDS[name] for name in lacking)
            lines.append(f"  line {one.line}: cut off, without {words}")
        lines += findings_text(f"line {one.line}", one)
    return "\n".join(lines)


def _row(one: Measurement) -> tuple[str, ...]:
    from appliance.clouds import capability

    size = "" if one.block_size_bytes is None else f" {text.size(one.block_size_bytes)}"
    pattern = one.rw or one.direction
    mixed = f" {one.direction}" if one.other_direction_iops is not None else ""
    published = capability.percent_of_published(one)
    return (
        str(one.line),
        f"{pattern}{mixed}{size}",
        one.device or " ".join(one.members) or "-",
        "-" if one.iops is None else text.count(one.iops),
        "-" if one.bandwidth_bytes is None else text.bandwidth(one.bandwidth_bytes),
        "-" if one.latency_mean_ns is None else text.latency(one.latency_mean_ns),
        "-" if published is None else f"{published:.0f} %",
        verdict(one),
    )


COMMANDS = (
    Command("bench import", import_files, "judge fio reports from elsewhere",
        "bench import diary.txt --db history.db", _arguments,
        more="Reads text or JSON, with anything around the reports."),
)  # fmt: skip
