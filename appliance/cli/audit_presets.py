"""``audit-presets``: whether what others set as a disk's speed can be true."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from appliance import paths, text
from appliance.cli.command import Command
from appliance.cli.output import print_json
from appliance.errors import EXIT_DRIFT, EXIT_OK, UsageError

if TYPE_CHECKING:
    from appliance.presets.audit import Judgement, Own

_MOST_PLACE_CHARS = 40
_WORDS = {
    "plausible": "plausible",
    "impossible": "cannot be true",
    "high": "above what was measured",
    "low": "low",
    "unknown": "cannot be judged",
}


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="io_properties, a table of them, or io.cost"
    )
    parser.add_argument(
        "--machine", default="", metavar="TYPE", help="for this machine type (of a table, its row)"
    )
    parser.add_argument(
        "--db",
        type=Path,
        metavar="FILE",
        help=f"the results to compare with (default: {paths.HISTORY_DB}, if it is there)",
    )


def audit_presets(*, files: Sequence[str], machine: str, db: Path | None, as_json: bool) -> int:
    """Read and judge all ``files``. Raises :class:`UsageError` for one that cannot be read."""
    from appliance.clouds.provider import is_type
    from appliance.presets import audit, preset_file

    if machine and not is_type(machine):
        raise UsageError(
            f"nothing is known of machine type {machine!r}", "see all: stripewright types"
        )
    if db is None and paths.HISTORY_DB.exists():
        db = paths.HISTORY_DB
    measured = _measured(db)
    found: list[tuple[str, list[Judgement]]] = []
    for name in files:
        judged = list(audit.judge(preset_file.presets(name, _content(name)), machine, measured))
        if not judged:
            of = f" for machine type {machine}" if machine else ""
            raise UsageError(f"{name}: there is no figure{of} in it", preset_file.WHAT_IS_READ)
        found.append((name, judged))
    if as_json:
        print_json(
            {
                "history": None if db is None else str(db),
                "files": [
                    {"file": name, "figures": [_document(one) for one in judged]}
                    for name, judged in found
                ],
            }
        )
    else:
        print("\n\n".join("\n".join(_file_lines(*one)) for one in found))
        if db is None:
            print("note: there is no history: compared with what is published", file=sys.stderr)
    impossible = any(one.verdict == "impossible" for _, judged in found for one in judged)
    return EXIT_DRIFT if impossible else EXIT_OK


def _measured(db: Path | None) -> tuple[Own, ...]:
    from appliance.history import queries
    from appliance.presets import own

    if db is None:
        return ()
    with queries.open_readonly(db) as reader:
        return own.measured(reader)


def _content(name: str) -> bytes:
    from appliance.presets.preset import MAX_FILE_BYTES
    from appliance.presets.preset_file import WHAT_IS_READ
    from appliance.system import files

    try:
        return files.read_bounded(name, MAX_FILE_BYTES, follow=True)
    except (OSError, ValueError) as error:
        number = error.errno if isinstance(error, OSError) else None
        said = os.strerror(number) if number else str(error)
        raise UsageError(
            f"cannot read {name}: {said}",
            f"give a file of at most {text.size(MAX_FILE_BYTES)}; {WHAT_IS_READ}",
        ) from error


# ------------------------------------------------------------------------------- in words


def _file_lines(name: str, judged: Sequence[Judgement]) -> Iterator[str]:
    from collections import Counter

    # A family's row has a verdict for each of its types.
    figures = len({(one.preset.place, one.figure.name) for one in judged})
    counts = Counter(one.verdict for one in judged)
    said = ", ".join(f"{count:,} {_WORDS[word]}" for word, count in counts.most_common())
    yield from text.wrapped(f"{name}: {figures:,} figures: {said}", indent="  ")
    shown = [one for one in judged if one.verdict in {"impossible", "high", "low"}]
    if shown:
        of = ("PUBLISHED", "MEASURED") if any(one.own for one in judged) else ("PUBLISHED",)
        rows = [("WHERE", "FIGURE", "SET", *of, "TIMES", "VERDICT")]
        yield text.table([*rows, *(_row(one, measured=len(of) > 1) for one in shown)], fold=True)
    if count := sum(one.multiplied for one in judged):
        yield f"  × N disks ({count:,}): as if the figure of all N disks were that of one"
    for why, count in Counter(one.why for one in judged if one.why).items():
        yield from text.wrapped(f"  {count:,} cannot be judged: {why}", indent="    ")


def _row(one: Judgement, *, measured: bool) -> tuple[str, ...]:
    place = one.preset.place
    if one.preset.machine_type and one.machine_type not in place:
        place = f"{place} on {one.machine_type}"
    own = [None if one.own is None else one.own.value] if measured else []
    return (
        text.bounded(place, _MOST_PLACE_CHARS),
        one.figure.name,
        *("-" if of is None else _rate(one, of) for of in (one.value, one.published, *own)),
        "-" if one.times is None else f"{one.times:.2f}",
        _WORDS[one.verdict] + (f", × {one.disk_count} disks" if one.multiplied else ""),
    )


def _rate(one: Judgement, value: float) -> str:
    return text.count(value) if one.figure.unit == "iops" else text.bandwidth(value)


def _document(one: Judgement) -> dict[str, object]:
    from dataclasses import asdict

    return {
        "place": one.preset.place,
        **text.fields(one.figure, "name unit line"),
        "figure": one.figure.value,
        "scope": one.preset.scope,
        **text.fields(one, "machine_type disk_count value verdict times multiplied why published"),
        **text.fields(one, "published_basis published_source is_limit"),
        "measured": asdict(one.own) if one.own else None,
    }


COMMANDS = (
    Command("audit-presets", audit_presets, "judge disk speeds that others set",
        "audit-presets /etc/scylla.d/io_properties.yaml --machine i4i.8xlarge", _arguments,
        more="Reads Seastar's io_properties and the kernel's io.cost. Exit status 5: a figure"
        " cannot be true."),
)  # fmt: skip
