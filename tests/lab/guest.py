"""The guest side of the catalogue: play every scenario and write down what came of it.

Runs as root inside the guest kernel only; it refuses to start anywhere else.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from tests.lab import catalogue, rack
from tests.lab.play import Player

RESULTS = Path("/run/results/results.json")
# Scenarios, one a line: a kernel's command line is too short for them.
NAMES = Path("/run/results/names.txt")
DISKS = Path("/tmp/disks")


def must_be_guest() -> None:
    # Only User Mode Linux has this file (arch/um/kernel/exitcode.c).
    if not Path("/proc/exitcode").exists():
        raise SystemExit("this is no User Mode Linux guest: not one disk is touched here")


def main(names: Sequence[str]) -> None:
    must_be_guest()
    rack.load()
    done: dict[str, dict[str, object]] = {}
    for name in names:
        began = time.monotonic()
        player = None
        try:
            player = Player(catalogue.load(catalogue.FOLDER / name), rack.Rack(DISKS))
            player.play()
            verdict: dict[str, object] = {"ok": True}
        except BaseException as error:  # the next scenario must still run
            verdict = {"ok": False, "error": repr(error), "trace": traceback.format_exc()}
        finally:
            if player:
                player.clean_up()
        verdict["seconds"] = round(time.monotonic() - began, 2)
        done[name] = verdict
        print(f"{name}: {verdict}", flush=True)
        # Written after each, so that a guest that dies has told what it had.
        RESULTS.write_text(json.dumps(done, indent=1))


if __name__ == "__main__":
    main(NAMES.read_text().split())
