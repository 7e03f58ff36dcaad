"""The host side: ``python3 -m tests.lab.kills.host`` tries every point and prints how many.

With ``--quick`` one point for each step (part of ``make lab``), else all (``make soak``).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.lab import guests
from tests.lab.kills.names import CREATED, NAMES
from tests.rig import uml
from tests.rig.build import build

_GUEST_SECONDS = 120.0
# Quick, for every test run: those whose steps differ most.
_QUICK_KILLS = ("create-md-raid0", "create-lvm-stripe", "remove-lvm-stripe", "recreate-md-raid0")
# Of what was not flushed so many parts are drawn, and so many states tried of a work; 0: all.
_STATES = {True: ("1", "2"), False: ("1", "0")}


@dataclass(frozen=True, slots=True)
class Tally:
    """What came of one way of killing."""

    tried: int
    hit: int
    failures: tuple[str, ...]
    seconds: float


def sigkills(image: Path, folder: Path, *, quick: bool, names: Sequence[str] = ()) -> Tally:
    """SIGKILL in guests, all works shared between them."""
    began = time.monotonic()
    names = names or (_QUICK_KILLS if quick else NAMES)
    program = ["tests.lab.kills.sigkill", *(["quick"] if quick else [])]
    return _in_guests(image, folder / "sigkill", program, names, began)


def power_cuts(image: Path, folder: Path, *, quick: bool, names: Sequence[str] = ()) -> Tally:
    """Power that goes at any flush, with nothing or any part of what was not flushed."""
    names = names or (CREATED if quick else NAMES)
    program = ["tests.lab.kills.epochs", *_STATES[quick]]
    return _in_guests(image, folder / "epochs", program, names, time.monotonic())


def _in_guests(
    image: Path, folder: Path, program: Sequence[str], names: Sequence[str], began: float
) -> Tally:
    runs = guests.run_guests(image, folder, program, names, timeout_seconds=3 * 3600)
    found = {name: one for run in runs for name, one in run.results.items()}
    failures = [f"{name}: {text}" for name, one in found.items() for text in one["failures"]]
    failures += [f"{name}: never got that far" for name in names if name not in found]
    return Tally(
        sum(one["tried"] for one in found.values()),
        sum(one["hit"] for one in found.values()),
        tuple(failures),
        time.monotonic() - began,
    )


def tell(what: str, tally: Tally) -> None:
    print(
        f"{what}: {tally.tried} kill points tried, {tally.hit} hit,"
        f" {len(tally.failures)} failures, {tally.seconds:.0f} s",
        flush=True,
    )
    for one in tally.failures:
        print(f"  {one}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if why := uml.missing():
        print(f"error: {why}", file=sys.stderr)
        return 1
    image = build().disk
    with tempfile.TemporaryDirectory(prefix="stripewright-kills-") as folder:
        killed = sigkills(image, Path(folder), quick=arguments.quick)
        tell("SIGKILL", killed)
        cut = power_cuts(image, Path(folder), quick=arguments.quick)
        tell("power cut", cut)
    if arguments.json:
        document = {"sigkill": killed.tried, "power_cut": cut.tried}
        arguments.json.write_text(json.dumps(document) + "\n")
    return 1 if killed.failures or cut.failures else 0


if __name__ == "__main__":
    sys.exit(main())
