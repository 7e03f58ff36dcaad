"""Where a work is killed: around and inside each step, by hooks in the running program."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

# Parts of a step's run time at which it is killed.
FRACTIONS = (0.1, 0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True, slots=True)
class Point:
    """``where``: ``before`` a step, ``in`` it (``part`` of its time), its program just ``ended``
    and nothing proved yet, or ``after`` it.
    """

    step: int
    where: str
    part: float = 0.0

    def __str__(self) -> str:
        return f"step {self.step} {self.where}" + (f" {self.part:.0%}" if self.part else "")


@dataclass(frozen=True, slots=True)
class Seen:
    """One step as it ran undisturbed."""

    command: str
    seconds: float


def points(steps: Sequence[Seen], *, quick: bool) -> list[Point]:
    """Every point of a work; ``quick``: one for each step, of all sorts in turn."""
    if quick:
        sorts = [("before", 0.0), ("in", 0.5), ("ended", 0.0), ("in", 0.3), ("after", 0.0)]
        return [Point(at, *sorts[at % len(sorts)]) for at in range(len(steps))]
    found = []
    for at in range(len(steps)):
        found.append(Point(at, "before"))
        found += [Point(at, "in", part) for part in FRACTIONS]
        found += [Point(at, "ended"), Point(at, "after")]
    return found


@contextlib.contextmanager
def recorded(seen: list[Seen]) -> Iterator[None]:
    """Note each step and how long it takes."""
    from appliance.storage.execute import apply

    real = apply._run_step

    def run(step: Any, work: Any) -> None:
        began = time.monotonic()
        real(step, work)
        seen.append(Seen(" ".join(step.argv), time.monotonic() - began))

    with mock.patch.object(apply, "_run_step", run):
        yield


@contextlib.contextmanager
def reporting(point: Point, reached: Callable[[], None]) -> Iterator[None]:
    """Call ``reached`` at ``point``; where that is in a step, at the step's beginning."""
    from appliance.storage.execute import apply
    from appliance.system import process

    real, real_program = apply._run_step, process.run
    count = -1

    def run(step: Any, work: Any) -> None:
        nonlocal count
        count += 1
        here = count == point.step
        if here and point.where in {"before", "in"}:
            reached()
        real(step, work)
        if here and point.where in {"after", "ended"}:
            reached()  # a chore has no program of its own

    def run_program(*arguments: Any, **options: Any) -> Any:
        done = real_program(*arguments, **options)
        if count == point.step and point.where == "ended":
            reached()
        return done

    with (
        mock.patch.object(apply, "_run_step", run),
        mock.patch.object(process, "run", run_program),
    ):
        yield
