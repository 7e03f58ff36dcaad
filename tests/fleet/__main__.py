"""Judge ``fleet`` on a synthetic one: ``python -m tests.fleet FOLDER --seed 1`` (make fleet)."""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

from appliance.fleet import odd, places
from tests.fleet.judging import tally
from tests.fleet.synthetic import make, plant


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--machines", type=int, default=1000)
    options.add_argument("--odd", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    if not given.folder.exists():
        make(given.folder, given.machines, given.odd, given.seed)
    began = time.monotonic()
    with places.open_fleet(str(given.folder)) as fleet:
        found = odd.find(fleet)
    took = time.monotonic() - began
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    planted = plant(given.machines, given.odd, given.seed)
    judged = tally(planted, {(one.unit.machine, one.unit.member) for one in found})
    print(f"{given.machines} machines: {took:.2f} s, {peak_mib:.0f} MiB")
    print("\n".join(judged.lines()))
    for one in found:
        if (one.unit.machine, one.unit.member) in judged.false:
            print("false:", one)


if __name__ == "__main__":
    main()
