"""``python -m tests.drift.peers [--json FILE]``: ``make peers``, for docs/drift-detector.md.

Every method runs on the same seeded series. Each peer is given all its settings in
:data:`PEERS`, and is then set beside ours at the one that suits it best: the fewest false alarms
among those that are as fast as ours, and the fastest among those with no more false alarms.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from tests.drift.measuring import Method, Tally, measure
from tests.drift.ours import ours
from tests.drift.peers.offline import otava, ruptures_l2, ruptures_rbf
from tests.drift.peers.rules import cusum, sigma_rule
from tests.drift.series import Recipe

# The demands' five kinds of noise at 1 %, where -5 % is a step of five sigma, and one of 2.5.
CASES = (
    ("gaussian", 1.0),
    ("t3", 1.0),
    ("lognormal", 1.0),
    ("bimodal 10 % -5", 1.0),
    ("ar 0.5", 1.0),
    ("gaussian", 2.0),
)
_STEP_AT = 60
_STEP_PCT = -5.0
_AFTER = 40
# Series without a change (360 slots: 90 days) and with one. The methods that segment anew after
# each run get only the first of them.
_SERIES, _STEPS = 150, 200
_SERIES_OF_THE_SLOW, _STEPS_OF_THE_SLOW = 30, 60

PEERS: dict[str, dict[str, Method]] = {
    "ours": {"as shipped": ours},
    "sigma rule": {
        f"{sigmas:g} sigma": partial(sigma_rule, sigmas=sigmas)
        for sigmas in (3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 8.0)
    },
    "CUSUM": {
        f"k={k:g} h={h:g}": partial(cusum, k=k, h=h)
        for k, h in (
            (0.5, 4.0), (0.5, 5.0), (0.5, 8.0), (0.5, 12.0), (0.5, 20.0),
            (1.0, 5.0), (1.0, 8.0), (1.0, 12.0), (2.0, 3.0), (2.0, 5.0), (2.0, 8.0),
        )
    },
    "Otava": {
        f"p={pvalue:g} magnitude={magnitude:g} after={after}": partial(
            otava, pvalue=pvalue, magnitude=magnitude, after=after
        )
        for pvalue, magnitude, after in (
            (1e-3, 0.0, 1), (1e-3, 0.02, 1), (1e-4, 0.02, 1), (1e-5, 0.02, 3), (1e-7, 0.02, 3),
        )
    },
    "ruptures l2": {
        f"{factor:g} x BIC, {least} at least": partial(ruptures_l2, factor=factor, least=least)
        for factor, least in (
            (1.0, 2), (2.0, 2), (3.0, 2), (4.0, 2), (6.0, 2), (3.0, 3), (6.0, 3), (10.0, 3),
        )
    },
    "ruptures rbf": {
        f"{factor:g} x ln n": partial(ruptures_rbf, factor=factor, least=2)
        for factor in (0.5, 0.7, 0.85, 0.92, 1.0, 1.2)
    },
}  # fmt: skip
_SLOW = ("Otava", "ruptures l2", "ruptures rbf")


@dataclass(frozen=True, slots=True)
class Row:
    """Of one method, setting and noise. ``false`` is a count over ``points``."""

    method: str
    setting: str
    noise: str
    false: int
    points: int
    false_per_10k: float
    delay_median: float
    delay_p90: float
    missed_pct: float
    within_2_pct: float
    repeats_pct: float

    def as_fast_as(self, other: Row) -> bool:
        return self.delay_median <= other.delay_median and self.delay_p90 <= other.delay_p90

    @property
    def speed(self) -> tuple[float, float]:
        return self.delay_median, self.delay_p90


def measured(name: str, setting: str, method: Method, noise: str, noise_pct: float) -> Row:
    slow = name in _SLOW
    still = Recipe(noise=noise, noise_pct=noise_pct)
    moved = replace(still, slots=_STEP_AT + _AFTER).with_step(_STEP_AT, _STEP_PCT)
    quiet = measure(method, still, _SERIES_OF_THE_SLOW if slow else _SERIES, "quiet")
    step = measure(method, moved, _STEPS_OF_THE_SLOW if slow else _STEPS, "step")
    return _row(name, setting, f"{noise}, {noise_pct:g} %", quiet, step)


def _row(name: str, setting: str, noise: str, quiet: Tally, step: Tally) -> Row:
    return Row(
        method=name,
        setting=setting,
        noise=noise,
        false=quiet.false,
        points=quiet.points,
        false_per_10k=round(quiet.false_per_10k, 2),
        delay_median=step.delay(0.5),
        delay_p90=step.delay(0.9),
        missed_pct=round(100 * step.missed / step.series, 1),
        within_2_pct=round(100 * step.dated_within(2), 1),
        repeats_pct=round(100 * step.repeats / step.series, 1),
    )


def beside(own: Row, rows: Iterable[Row]) -> tuple[Row | None, Row | None]:
    """Of a peer's rows: at equal delay the one that cries wolf least; at equal false alarms the
    fastest. None where it has no setting that is.
    """
    candidates = list(rows)
    fast = [row for row in candidates if row.as_fast_as(own)]
    quiet = [row for row in candidates if row.false_per_10k <= own.false_per_10k]
    return (
        min(fast, key=lambda row: (row.false_per_10k, row.speed), default=None),
        min(quiet, key=lambda row: (row.speed, row.false_per_10k), default=None),
    )


def _slots(value: float) -> str:
    return "never" if math.isinf(value) else f"{value:g}"


def _line(row: Row) -> str:
    return (
        f"| {row.noise} | {row.method}, {row.setting} | {row.false_per_10k:.1f}"
        f" ({row.false} in {row.points:,}) | {_slots(row.delay_median)} / {_slots(row.delay_p90)}"
        f" | {row.missed_pct:g} % | {row.within_2_pct:g} % | {row.repeats_pct:g} % |"
    )


def _verdict(own: Row, fast: Row | None, quiet: Row | None) -> str:
    if fast is None:
        first = "no setting is as fast"
    else:
        ahead = (
            "ours ahead"
            if own.false_per_10k < fast.false_per_10k
            else "equal"
            if own.false_per_10k == fast.false_per_10k
            else "**peer ahead**"
        )
        first = f"{fast.false_per_10k:.1f} ({fast.setting}): {ahead}"
    if quiet is None:
        second = "no setting is as quiet"
    else:
        second = f"{_slots(quiet.delay_median)} / {_slots(quiet.delay_p90)} slots ({quiet.setting})"
    return f"{first} | {second}"


def tables(rows: list[Row]) -> str:
    lines = [
        "| noise | method | false alarms per 10,000 | delay median / p90 | missed | dated ±2 "
        "| repeats |",
        "|---|---|---|---|---|---|---|",
        *(_line(row) for row in rows),
        "",
        "| noise | ours: false per 10,000, delay | peer | peer's false alarms at equal delay "
        "| peer's delay at equal false alarms |",
        "|---|---|---|---|---|",
    ]
    noises = list(dict.fromkeys(row.noise for row in rows))
    for noise in noises:
        of_noise = [row for row in rows if row.noise == noise]
        own = next(row for row in of_noise if row.method == "ours")
        for name in PEERS:
            if name != "ours":
                pair = beside(own, [row for row in of_noise if row.method == name])
                lines.append(
                    f"| {noise} | {own.false_per_10k:.1f}, {_slots(own.delay_median)} /"
                    f" {_slots(own.delay_p90)} | {name} | {_verdict(own, *pair)} |"
                )
    lines += [
        "",
        f"| one setting for all | {' | '.join(noises)} |",
        "|---" * (len(noises) + 1) + "|",
    ]
    lines += [one_setting(name, rows, noises) for name in PEERS]
    return "\n".join(lines)


def one_setting(name: str, rows: list[Row], noises: list[str]) -> str:
    """Nobody knows which noise a host has: the setting of a peer whose worst noise is the best
    among those with a median delay no longer than ours anywhere. False alarms, and delays.
    """
    own = {row.noise: row for row in rows if row.method == "ours"}
    settings: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.method == name:
            settings.setdefault(row.setting, {})[row.noise] = row
    fast = [
        of
        for of in settings.values()
        if all(of[noise].delay_median <= own[noise].delay_median for noise in noises)
    ]
    if not fast:
        return f"| {name}: no setting is as fast everywhere |" + " |" * len(noises)
    best = min(fast, key=lambda of: max(row.false_per_10k for row in of.values()))
    cells = (
        f"{best[noise].false_per_10k:.1f}, {_slots(best[noise].delay_median)} /"
        f" {_slots(best[noise].delay_p90)}"
        for noise in noises
    )
    return f"| {name}, {best[noises[0]].setting} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    began = time.monotonic()
    rows = [
        measured(name, setting, method, noise, noise_pct)
        for noise, noise_pct in CASES
        for name, settings in PEERS.items()
        for setting, method in settings.items()
    ]
    print(tables(rows))
    print(f"\n{time.monotonic() - began:.0f} s")
    if arguments.json:
        plain = [
            {key: None if value == math.inf else value for key, value in asdict(row).items()}
            for row in rows
        ]
        arguments.json.write_text(json.dumps(plain, indent=1) + "\n")


if __name__ == "__main__":
    main()
