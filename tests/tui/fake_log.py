"""A log made up for the screens: entries of a boot, and whatever a test lets come."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tui.sources.journal import Entry, EntryDetail, LogState

WALL = 1_790_000_000.0  # as tests.tui.fakes has it
READ_AT = 1000.0
_SAID = (
    (6, "stripewright-assemble.service", "scratch: assemble, a complete array of ours"),
    (5, "stripewright-assemble.service", "scratch is mounted at /mnt/scratch"),
    (6, "stripewright-bench@smoke.service", "Starting Measure with suite smoke..."),
    (6, "stripewright-bench@smoke.service", "rand-read-4k read: 412,279 IOPS"),
    (4, "stripewright-bench@smoke.service", "rand-read-4k: COVERAGE, 70.9 % came from the disks"),
    (6, "stripewright-drift.service", "no drift found; judged: layout, environment"),
    (3, "stripewright-drift.service", "MOUNT-MISSING opened (finding 3): /mnt/logs is not mounted"),
)

_DETAIL = EntryDetail((("MESSAGE", "an example"),), "What it means.")


def entry(number: int, **changes: object) -> Entry:
    priority, unit, message = _SAID[number % len(_SAID)]
    made = Entry(
        key=f"c{number}",
        at=WALL - 3600 + number * 10,
        priority=priority,
        unit=unit,
        message=f"{message} [{number}]",
        boot="b1",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def entries(count: int, first: int = 0) -> tuple[Entry, ...]:
    return tuple(entry(number) for number in range(first, first + count))


@dataclass
class FakeLog:
    """Shows ``now``; notes what was asked. ``detail`` answers with ``details`` or raises it."""

    now: LogState = field(
        default_factory=lambda: LogState(
            entries(60), "the journal", read_at=READ_AT, has_older=True
        )
    )
    details: EntryDetail | Exception = _DETAIL
    calls: list[str] = field(default_factory=list)

    def state(self) -> LogState:
        return self.now

    def load_older(self, back_to: float = math.inf) -> None:
        self.calls.append("older" if back_to == math.inf else f"older {back_to:.0f}")

    def detail(self, key: str) -> EntryDetail:
        self.calls.append(f"detail {key}")
        if isinstance(self.details, Exception):
            raise self.details
        return self.details

    def give(self, more: Sequence[Entry], **changes: object) -> None:
        self.now = replace(self.now, entries=(*self.now.entries, *more), **changes)  # type: ignore[arg-type]
