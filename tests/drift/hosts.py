"""A host's 90 days through detector and confirmation: how often it wakes somebody for nothing.

Everything is noise. Each suspect goes to the verdict that the appliance itself uses, with as many
repeats as it makes, and again after the next slot while the verdict is unclear. Where the repeats
come from is what the answer hangs on, so there are two kinds:

- ``fresh``: further draws of the same process; of autocorrelated noise, its next values;
- ``shared``: pessimistic. The repeats are made within minutes of the suspect slot and share most
  of what made it odd: they correlate with it by 0.8, whatever the noise.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from random import Random

from appliance.drift.detection.detector import Detector
from appliance.drift.detection.settling import Change
from appliance.drift.series import confirmation
from appliance.model.confirmations import Verdict
from tests.drift.measuring import of_each
from tests.drift.series import NOISES, SLOTS_A_DAY

DAYS = 90
# The smoke suite, every six hours, and the directions of the full suite's jobs, weekly.
SMOKE_SERIES = 5
FULL_SERIES = 28
_LEVEL = 412_000.0
_SHARED = 0.8
_OWN = math.sqrt(1 - _SHARED**2)

# The noise of the next slot, and that of so many repeats right after it.
Process = tuple[Callable[[], float], Callable[[], list[float]]]


@dataclass(frozen=True, slots=True)
class Alarms:
    """Of one host, in all its series: what the detector raised, and what was confirmed of it."""

    suspects: int
    confirmed: int


def hosts(noise: str, noise_pct: float, count: int, *, shared: bool) -> list[Alarms]:
    """``count`` hosts on all processors."""
    return of_each(partial(host, noise, noise_pct, shared=shared), range(count))


def host(noise: str, noise_pct: float, seed: int, *, shared: bool) -> Alarms:
    suspects = confirmed = 0
    for number in range(SMOKE_SERIES + FULL_SERIES):
        slots = DAYS * SLOTS_A_DAY if number < SMOKE_SERIES else DAYS // 7
        random = Random(f"host/{noise}/{noise_pct}/{seed}/{number}")  # noqa: S311
        process = _shared(noise, random) if shared else _fresh(NOISES[noise](random))
        raised, kept = _series(process, slots, noise_pct)
        suspects += raised
        confirmed += kept
    return Alarms(suspects, confirmed)


def _fresh(noise: Iterator[float]) -> Process:
    return (lambda: next(noise)), (lambda: [next(noise) for _ in range(confirmation.REPEATS)])


def _shared(noise: str, random: Random) -> Process:
    slots = NOISES[noise](random)
    own = NOISES["gaussian" if noise.startswith("ar ") else noise](random)
    last = 0.0

    def slot() -> float:
        nonlocal last
        last = next(slots)
        return last

    def repeats() -> list[float]:
        return [_SHARED * last + _OWN * next(own) for _ in range(confirmation.REPEATS)]

    return slot, repeats


def _series(process: Process, slots: int, noise_pct: float) -> tuple[int, int]:
    slot_noise, repeat_noise = process
    detector = Detector()
    values: list[float] = []
    waiting: list[tuple[Change, int]] = []
    suspects = confirmed = 0
    for slot in range(slots):
        values.append(_value(slot_noise(), noise_pct))
        change = detector.add(slot, values[-1])
        if change is not None:
            suspects += 1
            waiting.append((change, 0))
        still: list[tuple[Change, int]] = []
        for suspect, tries in waiting:
            said = confirmation.verdict(
                suspect.baseline.median,
                statistics.median(values[suspect.change_slot :]),
                [_value(one, noise_pct) for one in repeat_noise()],
            ).verdict
            confirmed += said is Verdict.CONFIRMED
            if said is Verdict.UNCLEAR and tries + 1 < confirmation.MAX_TRIES:
                still.append((suspect, tries + 1))
        waiting = still
    return suspects, confirmed


def _value(noise: float, noise_pct: float) -> float:
    return _LEVEL * (1 + noise_pct / 100 * noise)
