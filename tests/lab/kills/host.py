"""The host side: ``python3 -m tests.lab.kills.host`` tries every point and prints how many.

With ``--quick`` one point for each step (part of ``make lab``), else all (``make soak``).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab import guests
from tests.lab.kills.names import BYSTANDER, CREATED, NAMES
from tests.lab.kills.points import Point, Seen, points
from tests.rig import uml
from tests.rig.build import build

_GUEST_SECONDS = 120.0
# Power cuts inside a step: so many parts of its time are tried.
_PARTS = {True: (), False: (0.3, 0.7)}
# Quick, for every test run: those whose steps differ most.
_QUICK_KILLS = ("create-md-raid0", "create-lvm-stripe", "remove-lvm-stripe", "recreate-md-raid0")
_QUICK_CUTS = ("create-md-raid0-xfs",)
# How often mkfs is torn, for each work that makes a volume.
_TORN = {True: 1, False: 100}


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


def torn(image: Path, folder: Path, *, quick: bool, names: Sequence[str] = CREATED) -> Tally:
    """Power that goes in mkfs, with any part of what it wrote on the disks."""
    program = ["tests.lab.kills.torn", str(_TORN[quick])]
    return _in_guests(image, folder / "torn", program, names, time.monotonic())


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


def power_cuts(image: Path, folder: Path, *, quick: bool, names: Sequence[str] = ()) -> Tally:
    """Power cuts: each is two lives of a guest on the same files."""
    began = time.monotonic()
    names = names or (_QUICK_CUTS if quick else NAMES)
    with ThreadPoolExecutor(guests.GUESTS) as pool:
        prepared = list(pool.map(lambda name: _prepare(image, folder / "cut" / name), names))
        shots = [
            (name, steps, point)
            for name, steps in zip(names, prepared, strict=True)
            for point in _cut_points(steps, quick=quick)
        ]
        ended = list(pool.map(lambda shot: _cut(image, folder / "cut", *shot), shots))
    return Tally(
        len(shots),
        sum(hit for hit, _ in ended),
        tuple(text for _, text in ended if text),
        time.monotonic() - began,
    )


def _cut_points(steps: Sequence[Seen], *, quick: bool) -> list[Point]:
    if quick:
        return points(steps, quick=True)
    found = []
    for at in range(len(steps)):
        found += [Point(at, "before"), *(Point(at, "in", part) for part in _PARTS[quick])]
        found += [Point(at, "ended"), Point(at, "after")]
    return found


def _life(image: Path, folder: Path, *arguments: str) -> Any:
    (folder / "results.json").unlink(missing_ok=True)
    run = guests.run_guest(
        image, folder, ["tests.lab.kills.power", *arguments], timeout_seconds=_GUEST_SECONDS
    )
    return run.results or {"ok": False, "error": f"no result: {run.console[-800:]}"}


def _prepare(image: Path, folder: Path) -> list[Seen]:
    """Make the state before the work, and learn its steps on a copy."""
    folder.mkdir(parents=True)
    made = _life(image, folder, folder.name, "prepare")
    assert made["ok"], f"{folder.name}: prepare: {made}"
    _save(folder, folder / "saved")
    learned = _life(image, folder, folder.name, "learn")
    assert learned["ok"], f"{folder.name}: learn: {learned}"
    return [Seen(**one) for one in learned["steps"]]


def _save(source: Path, target: Path) -> None:
    target.mkdir()
    shutil.copy(source / "layout.toml", target)
    subprocess.run(
        ["cp", "--recursive", "--sparse=always", str(source / "disks"), str(target)], check=True
    )


def _cut(
    image: Path, folder: Path, name: str, steps: Sequence[Seen], point: Point
) -> tuple[bool, str]:
    """Cut the power at ``point``; whether it was hit, and what went wrong."""
    home = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=folder))
    try:
        saved = folder / name / "saved"
        home.rmdir()
        _save(saved, home)
        before = _bytes_of(home / "disks" / f"{BYSTANDER}.disk")
        guest = guests.Guest(
            image, home, ["tests.lab.kills.power", name, "work", str(point.step), point.where]
        )
        hit = guest.wait_for((home / "reached").exists, _GUEST_SECONDS)
        if point.where == "in":
            time.sleep(steps[point.step].seconds * point.part)
        guest.cut_power()
        what = f"{name}: {point} ({steps[point.step].command})"
        if not hit:
            return False, f"{what}: never got there: {guest.console[-400:]}"
        after = _life(image, home, name, "converge")
        if not after["ok"]:
            return hit, f"{what}: {after['error']}"
        if _bytes_of(home / "disks" / f"{BYSTANDER}.disk") != before:
            return hit, f"{what}: the bystander changed"
        return hit, ""
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _bytes_of(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


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
        half = torn(image, Path(folder), quick=arguments.quick)
        tell("mkfs torn", half)
    if arguments.json:
        document = {"sigkill": killed.tried, "power_cut": cut.tried, "torn": half.tried}
        arguments.json.write_text(json.dumps(document) + "\n")
    return 1 if killed.failures or cut.failures or half.failures else 0


if __name__ == "__main__":
    sys.exit(main())
