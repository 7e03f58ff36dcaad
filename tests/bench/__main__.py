"""``python3 -m tests.bench --harlequin PROGRAM [--pairs N] [--json FILE]``: ``make bench``."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tests.bench import history, overhead, planning
from tests.bench.screens import __main__ as screens
from tests.lab import guests
from tests.lab.rack import MIB
from tests.rig import uml
from tests.rig.build import build

_LEAST_PAIRS = 7


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=_LEAST_PAIRS)
    parser.add_argument("--harlequin", type=Path, required=True, help="what screens are set beside")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.pairs < _LEAST_PAIRS:
        parser.error(f"at least {_LEAST_PAIRS} pairs")
    if why := uml.missing():
        print(f"error: {why}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="stripewright-bench-") as folder:
        run = guests.run_guest(
            build().disk, Path(folder), ["tests.bench.guest", str(arguments.pairs)]
        )
    paths = run.results
    if "assemble" not in paths:
        print(f"error: the guest did not end:\n{run.console[-2000:]}", file=sys.stderr)
        return 1
    planned = planning.measure()
    cost = overhead.measure(arguments.pairs)
    with tempfile.TemporaryDirectory(prefix="stripewright-bench-") as folder:
        kept = history.measure_history(Path(folder))
        shown = screens.measure(arguments.harlequin, db=Path(folder) / "history.db")
    print("path                script s   ours s    ratio   pairs   ours read   (medians; 4 disks)")
    for what, one in paths.items():
        medians, read = one["median_seconds"], one["median_read_bytes"]["ours"]
        print(
            f"{what:19} {medians['script']:8.2f} {medians['ours']:8.2f}"
            f" {one['ratio']:8.2f} {one['pairs']:7} {read / MIB:7.0f} MiB"
        )
    print("disks      plan s   (median of 7, this machine)")
    for count, seconds in planned.items():
        print(f"{count:10} {seconds:8.4f}")
    for line in overhead.lines(cost):
        print(line)
    print(history.table(kept))
    print(screens.table(shown))
    if arguments.json:
        found = {
            "paths": paths,
            "planning": planned,
            "overhead": cost,
            "history": kept,
            "screens": shown,
        }
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
