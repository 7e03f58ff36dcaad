"""``python -m tests.drift [--quick]``: the tables of docs/drift-detector.md, as Markdown."""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Iterable
from dataclasses import replace

from tests.drift.hosts import hosts
from tests.drift.measuring import Tally, measure
from tests.drift.ours import ours
from tests.drift.series import NOISES, Recipe

FIVE = ("gaussian", "t3", "lognormal", "left lognormal", "bimodal 10 % -5", "ar 0.5")

# What measurements look like, and what nobody promised anything of.
STRANGE = {
    "values near 0.5": Recipe(level=0.5),
    "integers around 40": Recipe(level=40, quantum=1),
    "integers around 5, noise 10 %": Recipe(level=5, quantum=1, noise_pct=10),
    "two digits": Recipe(quantum=10_000),
    "nearly constant, noise 0.2 %, rounded": Recipe(noise_pct=0.2, quantum=412),
    "daily swing of 1 %": Recipe(swing_pct=1),
    "daily swing of 3 %": Recipe(swing_pct=3),
    "2 % outliers of 10 sigma": Recipe(outliers=0.02),
    "5 % outliers of 10 sigma": Recipe(outliers=0.05),
    "2 % outliers of 30 sigma": Recipe(outliers=0.02, outlier_sigmas=30),
    "1 % pairs of outliers": Recipe(outliers=0.01, outlier_length=2),
    "1 % triples of outliers": Recipe(outliers=0.01, outlier_length=3),
}

_BASE = Recipe(slots=140)
CHANGES = {
    "-5 % at slot 12": replace(_BASE, slots=92).with_step(12, -5),
    "-5 % at slot 20": replace(_BASE, slots=100).with_step(20, -5),
    "-5 % at slot 31": replace(_BASE, slots=111).with_step(31, -5),
    "-5 % at slot 300": replace(_BASE, slots=380).with_step(300, -5),
    "-1 % (in the dead band)": _BASE.with_step(60, -1),
    "-2 %": _BASE.with_step(60, -2),
    "-3 %": _BASE.with_step(60, -3),
    "-2 %, noise 0.2 %": replace(_BASE, noise_pct=0.2).with_step(60, -2),
    "-5 %, noise 2 %": replace(_BASE, noise_pct=2).with_step(60, -5),
    "-10 %, noise 5 %": replace(_BASE, noise_pct=5).with_step(60, -10),
    "-30 %, integers around 40": Recipe(slots=140, level=40, quantum=1).with_step(60, -30),
    "-95 %": _BASE.with_step(60, -95),
    "+100 %": _BASE.with_step(60, 100),
    "-10 % twice, 15 slots apart": _BASE.with_step(60, -10).with_step(75, -10),
    "-5 % twice, 15 slots apart": _BASE.with_step(60, -5).with_step(75, -5),
    "-10 %, back after 5 slots": _BASE.with_step(60, -10).with_step(65, 100 / 9),
    "-10 %, back after 8 slots": _BASE.with_step(60, -10).with_step(68, 100 / 9),
    "-5 %, back after 15 slots": _BASE.with_step(60, -5).with_step(75, 100 / 19),
    "-10 % at 60, -10 % at 120, +12 % at 190": replace(_BASE, slots=260)
    .with_step(60, -10)
    .with_step(120, -10)
    .with_step(190, 12),
    "ramp of -20 % over 20 slots": replace(_BASE, slots=160).with_ramp(60, -20, 20),
    "ramp of -20 % over 60 slots from slot 20": replace(_BASE, slots=120).with_ramp(20, -20, 60),
    "ramp of -20 % over 120 slots": replace(_BASE, slots=240).with_ramp(60, -20, 120),
    "ramp of -20 % over 200 slots": replace(_BASE, slots=320).with_ramp(60, -20, 200),
    "ramp of -10 % over 300 slots": replace(_BASE, slots=460).with_ramp(60, -10, 300),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the series")
    part = 10 if parser.parse_args().quick else 1
    began = time.monotonic()
    for table in (false_alarms, strange, steps, ramps, changes, nights):
        print("\n".join(table(part)), "\n", flush=True)
    print(f"{time.monotonic() - began:.0f} s")


def _table(heads: str, rows: Iterable[str]) -> list[str]:
    return [f"| {heads} |", "|---" * (heads.count("|") + 1) + "|", *rows]


def _rates(recipe: Recipe, part: int) -> str:
    """False alarms per 10,000: series of 60, of 360 and of 3,000 slots, 36,000 points each."""
    cells = []
    for slots in (60, 360, 3_000):
        tally = measure(ours, replace(recipe, slots=slots), 36_000 // slots // part)
        cells.append(f"{tally.false_per_10k:.1f}")
    return " | ".join(cells)


def false_alarms(part: int) -> list[str]:
    rows = [
        f"| {noise} | {_rates(Recipe(noise=noise), part)} |"
        f" {_rates(Recipe(noise=noise, noise_pct=3.0), part)} |"
        for noise in NOISES
    ]
    heads = "noise | 1 %: 60 | 360 | 3,000 slots | 3 %: 60 | 360 | 3,000 slots"
    return _table(heads, rows)


def strange(part: int) -> list[str]:
    rows = [f"| {name} | {_rates(recipe, part)} |" for name, recipe in STRANGE.items()]
    return _table("no change, but | 60 | 360 | 3,000 slots", rows)


def _slots(value: float) -> str:
    return "never" if math.isinf(value) else "" if math.isnan(value) else f"{value:g}"


def _found(tally: Tally) -> str:
    changes = len(tally.delays)
    delays = " / ".join(_slots(tally.delay(share)) for share in (0.5, 0.9, 1.0))
    dated = "" if not tally.errors else f"{100 * tally.dated_within(2):.0f} %"
    missed, repeats = 100 * tally.missed / changes, 100 * tally.repeats / changes
    return f"{delays} | {missed:.1f} % | {dated} | {_slots(tally.error(0.9))} | {repeats:.1f} %"


_FOUND = "delay median / p90 / longest | missed | dated ±2 | error p90 | repeats"


def steps(part: int) -> list[str]:
    rows = []
    for noise in NOISES:
        for pct in (-5, 5, -10) if noise in FIVE else (-5,):
            recipe = Recipe(noise=noise, slots=140).with_step(60, pct)
            rows.append(f"| {noise} | {pct:+g} % | {_found(measure(ours, recipe, 300 // part))} |")
    return _table(f"noise of 1 % | step | {_FOUND}", rows)


def ramps(part: int) -> list[str]:
    rows = []
    for noise in FIVE:
        for noise_pct in (1.0, 3.0):
            recipe = Recipe(noise=noise, noise_pct=noise_pct, slots=160).with_ramp(60, -20, 60)
            tally = measure(ours, recipe, 300 // part)
            rows.append(f"| {noise} {noise_pct:g} % | {_found(tally)} |")
    return _table(f"ramp of -20 % over 60 slots | {_FOUND}", rows)


def changes(part: int) -> list[str]:
    rows = [
        f"| {name} | {_found(measure(ours, recipe, 200 // part))} |"
        for name, recipe in CHANGES.items()
    ]
    return _table(f"gaussian, 1 % unless said | {_FOUND}", rows)


def nights(part: int) -> list[str]:
    rows = []
    for noise in (*FIVE, "bimodal 10 % -8", "ar 0.8"):
        for noise_pct in (1.0, 3.0):
            cells = []
            for shared in (False, True):
                alarms = hosts(noise, noise_pct, 60 // part, shared=shared)
                suspects = statistics.fmean(one.suspects for one in alarms)
                confirmed = statistics.fmean(one.confirmed for one in alarms)
                cells.append(f"{suspects:.3f} | {confirmed:.3f}")
            rows.append(f"| {noise} {noise_pct:g} % | {' | '.join(cells)} |")
    heads = "per host and 90 days | suspects | confirmed | shared: suspects | confirmed"
    return _table(heads, rows)


if __name__ == "__main__":
    main()
