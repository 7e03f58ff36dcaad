"""The host side: ``python3 -m tests.lab.adversary_host --count 1000`` draws histories and prints
what came of them. What fails is written as a scenario below ``--failures``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab import guests
from tests.rig import uml
from tests.rig.build import build

_HOURS = 6 * 3600.0


@dataclass(frozen=True, slots=True)
class Found:
    """``deeds`` counts the deeds of each kind, ``failures`` has what each seed came to."""

    tried: int
    deeds: Mapping[str, int]
    failures: Mapping[str, Mapping[str, str]]
    seconds: float


def histories(image: Path, folder: Path, *, first: int, count: int) -> Found:
    """Seeds from ``first`` on, shared between as many guests as there are processors."""
    began = time.monotonic()

    def run(at: int) -> Any:
        mine = len(range(at, count, guests.GUESTS))
        program = ["tests.lab.adversary", str(first + at), str(guests.GUESTS), str(mine)]
        done = guests.run_guest(image, folder / str(at), program, timeout_seconds=_HOURS)
        lost = {"console": {"problem": done.console[-800:], "scenario": "", "layout": ""}}
        return done.results or {"tried": 0, "deeds": {}, "failures": lost}

    with ThreadPoolExecutor(guests.GUESTS) as pool:
        runs = list(pool.map(run, range(guests.GUESTS)))
    deeds: Counter[str] = Counter()
    for one in runs:
        deeds.update(one["deeds"])
    return Found(
        sum(one["tried"] for one in runs),
        deeds,
        {seed: failed for one in runs for seed, failed in one["failures"].items()},
        time.monotonic() - began,
    )


def tell(found: Found) -> None:
    deeds = ", ".join(f"{number} {verb}" for verb, number in sorted(found.deeds.items()))
    print(f"\n{found.tried} histories ({deeds}), {len(found.failures)} failures,"
          f" {found.seconds:.0f} s", flush=True)  # fmt: skip
    for seed, one in found.failures.items():
        print(f"  seed {seed}: {one['problem']}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--failures", type=Path, help="a folder for what failed, as scenarios")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if why := uml.missing():
        print(f"error: {why}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="stripewright-histories-") as folder:
        found = histories(build().disk, Path(folder), first=arguments.first, count=arguments.count)
    tell(found)
    if arguments.failures:
        for seed, one in found.failures.items():
            here = arguments.failures / f"history-{seed}"
            here.mkdir(parents=True, exist_ok=True)
            (here / "scenario.toml").write_text(one["scenario"])
            (here / "layout.toml").write_text(one["layout"])
    if arguments.json:
        document = {"tried": found.tried, "deeds": dict(found.deeds), "failures": found.failures}
        arguments.json.write_text(json.dumps(document) + "\n")
    return 1 if found.failures else 0


if __name__ == "__main__":
    sys.exit(main())
