"""``drift replay FILE``: the detector alone on any series, to see what it would have said."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from appliance import text
from appliance.cli.command import Command
from appliance.cli.output import print_json
from appliance.errors import EXIT_OK

if TYPE_CHECKING:
    from appliance.drift.detection.normal import Baseline
    from appliance.drift.detection.settling import Change
    from appliance.drift.replay import Replay

_TELL_AFTER_SECONDS = 1.0


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=_series, metavar="FILE.csv", help="the file; - is standard input"
    )
    parser.add_argument(
        "--better",
        choices=("higher", "lower"),
        default="higher",
        help="which way is good: higher (IOPS, the default) or lower (latency). Changes both ways "
        "are shown; this only says which are for the worse",
    )


def _series(words: str) -> Path:
    if not words:
        raise argparse.ArgumentTypeError("the name is empty; name a CSV file, or - for stdin")
    return Path(words)


def replay(*, file: Path, better: str, as_json: bool) -> int:
    """Print the changes of the series in ``file``; ``better`` is ``higher`` or ``lower``.

    Changes to both sides are printed; ``better`` only says which of them are for the worse.
    """
    from appliance.drift import replay as replaying

    found = replaying.read(file, _progress())
    if as_json:
        print_json(_document(found, better))
    else:
        print(_as_text(found, better))
    return EXIT_OK


def _progress() -> Callable[[int], None] | None:
    """Says on a terminal how far it is, once it takes long."""
    if not sys.stderr.isatty():
        return None
    told = time.monotonic()

    def tell(rows: int) -> None:
        nonlocal told
        if time.monotonic() - told >= _TELL_AFTER_SECONDS:
            told = time.monotonic()
            print(f"{rows:,} rows read", file=sys.stderr)

    return tell


def _is_worse(change: Change, better: str) -> bool:
    return (change.direction == "down") == (better == "higher")


def _document(found: Replay, better: str) -> dict[str, object]:
    baseline = found.detector.baseline
    return {
        "findings": [
            {
                **text.fields(change, "change_slot alarm_slot direction"),
                "effect_pct": None if change.percent is None else round(change.percent, 3),
                "worse": _is_worse(change, better),
                **text.fields(change, "shape provisional epoch"),
                "baseline": _baseline(change.baseline),
            }
            for change in found.changes
        ],
        "slots": found.rows,
        "slots_without_value": found.empty,
        "epochs": found.epochs,
        "baseline": None if baseline is None else _baseline(baseline),
        "note": _note(found),
    }


def _baseline(baseline: Baseline) -> dict[str, object]:
    return {
        **text.fields(baseline, "median scale_down scale_up low high"),
        "slots": baseline.count,
        **text.fields(baseline, "first_slot last_slot provisional"),
    }


def _note(found: Replay) -> str:
    """What the reader has to know of the end of the series; empty if nothing."""
    from appliance.drift.detection.normal import FULL, LEAST

    baseline = found.detector.baseline
    if baseline is None:
        return (
            f"too short for a baseline: {found.rows} slots with a value"
            f"{' in all epochs' if found.epochs > 1 else ''}; {LEAST} are needed"
        )
    if found.detector.settling:
        return "the last change has not settled yet; its date and effect may still move"
    if baseline.provisional:
        return f"the baseline is provisional: {baseline.count} slots, and {FULL} make a full one"
    return ""


def _as_text(found: Replay, better: str) -> str:
    empty = f", {found.empty} without a value" if found.empty else ""
    epochs = f", {found.epochs} epochs" if found.epochs > 1 else ""
    lines = [f"{found.rows} slots{empty}{epochs}"]
    baseline = found.detector.baseline
    if baseline is not None:
        lines += [
            f"baseline: median {baseline.median:.6g},"
            f" scale -{baseline.scale_down:.3g} +{baseline.scale_up:.3g},"
            f" from {baseline.count} slots ({baseline.first_slot} to {baseline.last_slot})",
            f"a slot counts below {baseline.low:.6g} or above {baseline.high:.6g}",
        ]
    if note := _note(found):
        lines.append(f"note: {note}")
    changes = found.changes
    lines.append("" if changes else "no change found")
    if changes:
        rows = [_row(change, better) for change in changes]
        lines.append(text.table([("slot", "found at", "change", "", "kind"), *rows]))
    return "\n".join(lines)


def _row(change: Change, better: str) -> tuple[str, str, str, str, str]:
    size = "" if change.percent is None else f" {change.percent:+.1f} %"
    epoch = f", epoch {text.printable(change.epoch)}" if change.epoch else ""
    return (
        str(change.change_slot),
        str(change.alarm_slot),
        change.direction + size,
        "worse" if _is_worse(change, better) else "better",
        f"{change.shape}{', provisional baseline' if change.provisional else ''}{epoch}",
    )


COMMANDS = (
    Command("drift replay", replay, "run the detector over a series from a file",
        "drift replay series.csv --better lower", _arguments,
        more="The file is CSV, separated by commas. Its first line names the columns: slot "
        "(ascending whole numbers) and value (empty: no measurement in this slot), and epoch, "
        "which resets what is normal where it changes; others are ignored. The history is neither "
        "read nor written."),
)  # fmt: skip
