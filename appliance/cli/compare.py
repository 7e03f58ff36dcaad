"""``compare A B``: two runs, epochs or imports side by side, each ratio with its interval."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from appliance import text
from appliance.cli.command import Command
from appliance.cli.output import print_json
from appliance.errors import EXIT_OK

if TYPE_CHECKING:
    from appliance.figures.comparison import Row, Side
    from appliance.figures.sides import Chosen


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="a run's number, epoch:N, import:N[:DEVICE]")
    parser.add_argument("b", metavar="B", help="the same")


def compare(*, a: str, b: str, db: Path, as_json: bool) -> int:
    from appliance.figures import comparison, selection
    from appliance.history import compare_source, queries

    selectors = (selection.parse(a), selection.parse(b))
    with queries.open_readonly(db) as reader:
        left, right = (compare_source.choose(reader, one, histograms=as_json) for one in selectors)
    rows = comparison.compare(left.observations, right.observations)
    if not as_json:
        print(_as_text((left, right), rows))
        return EXIT_OK
    both = {
        name: {"selector": word, "what": side.what, "notes": list(side.notes)}
        for name, word, side in (("a", a, left), ("b", b, right))
    }
    document = [_row_document(row) for row in rows]
    print_json({**both, "confidence": comparison.CONFIDENCE, "rows": document})
    return EXIT_OK


def _as_text(both: Sequence[Chosen], rows: Sequence[Row]) -> str:
    """The comparison for a screen of 80 columns: what A and B are, a table, its notes."""
    from appliance.figures import sides

    lines = []
    for name, side in zip("AB", both, strict=True):
        lines += text.wrapped(f"{name}  {side.what}", indent="   ")
        for note in side.notes:
            lines += text.wrapped(f"   {note}", indent="   ")
    worded = sides.in_words(both, rows)
    cells = [
        (row.workload, row.a, row.b, row.ratio, row.interval, ",".join(map(str, row.notes)))
        for row in worded.rows
    ]
    heading = ("WORKLOAD", "A IOPS", "B IOPS", "B/A", "95 %", "NOTE")
    lines += ["", text.table([heading, *cells]), ""]
    for number, note in enumerate(worded.notes, start=1):
        lines += text.wrapped(f"{number:>3}  {note}", indent="     ")
    return "\n".join(lines)


def _row_document(row: Row) -> dict[str, object]:
    key, ratio = row.key, row.ratio
    return {
        "workload": {
            "rw": key.rw,
            "direction": key.direction,
            "block_size_bytes": key.block_size_bytes or None,
            "jobs": key.jobs or None,
            "iodepth": key.iodepth or None,
            "engine": key.engine,
        },
        "a": _side_document(row.a),
        "b": _side_document(row.b),
        "ratio": None if ratio is None else ratio.value,
        "interval": None if ratio is None or ratio.low is None else [ratio.low, ratio.high],
        "basis": row.basis,
    }


def _side_document(side: Side | None) -> dict[str, object] | None:
    if side is None:
        return None
    from appliance.figures import histogram

    merged = histogram.merge(dict(one.bins) for one in side.valid)
    return {
        **text.fields(side, "jobs layouts"),
        "iops": side.median,
        "corrected": side.by_correction,
        "values": list(side.values),
        "p50_ns": histogram.percentile_ns(merged, 50.0),
        "p99_ns": histogram.percentile_ns(merged, 99.0),
        "not_compared": [
            {
                **text.fields(one, "label job"),
                "iops": one.value,
                "corrected_iops": one.corrected,
                "codes": one.codes,
            }
            for one in side.invalid
        ],
    }


COMMANDS = (
    Command("compare", compare, "compare two runs, epochs or imports", "compare epoch:1 epoch:2",
        _arguments, db=True),
)  # fmt: skip
