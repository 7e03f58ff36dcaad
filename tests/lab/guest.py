"""The guest side of the catalogue: play every scenario and write down what came of it.

Runs as root inside the guest kernel only; it refuses to start anywhere else.
"""

from __future__ import annotations

import gc
import importlib
import json
import pkgutil
import time
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path

from appliance import cli, drift, history
from tests.lab import catalogue, rack
from tests.lab.play import Player

RESULTS = Path("/run/results/results.json")
_QUEUE = Path("/run/queue")
DISKS = Path("/tmp/disks")


def must_be_guest() -> None:
    # Only User Mode Linux has this file (arch/um/kernel/exitcode.c).
    if not Path("/proc/exitcode").exists():
        raise SystemExit("this is no User Mode Linux guest: not one disk is touched here")


def load_all() -> None:
    """Import what commands, and history's clerk, import when they are called: once instead of in
    each process. What is there then is no garbage: a child that looked would copy every page.
    """
    for room in (cli, drift, history):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)
    gc.freeze()


def taken() -> Iterator[str]:
    """The names in the queue, one after the other, but for those that another guest has taken."""
    for name in (_QUEUE / "names.txt").read_text().split():
        try:
            # Of several guests the host lets one succeed.
            (_QUEUE / "taken" / name).mkdir()
        except FileExistsError:
            continue
        yield name


def main(names: Iterable[str]) -> None:
    must_be_guest()
    rack.load()
    load_all()
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
    main(taken())
