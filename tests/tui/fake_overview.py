"""What the history says to the overview, made up; the same in every test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from appliance.errors import OperatorError
from appliance.history.pages import RunSummary
from appliance.model.measurement import Severity
from appliance.model.runs import RunState
from tests.tui.fake_suites import last_run
from tui.sources.overview import Level, Lookback

LEVELS = {
    ("seq-read-1m", "read"): Level(7_400),
    ("rand-read-4k", "read"): Level(410_000),
    ("rand-read-4k-qd1", "read"): Level(12_250),
    ("seq-write-1m", "write"): Level(3_913, provisional=True),
}
DAY = 86_400.0


def runs() -> tuple[RunSummary, ...]:
    """The last one is that of ``fakes.run_record``; before it one of each other kind."""
    wall = 1_790_000_000.0
    return (
        RunSummary(last_run("smoke", 41), 5, 4, "COVERAGE", Severity.BLOCK),
        RunSummary(
            last_run(
                "smoke",
                40,
                state=RunState.SKIPPED,
                reason="foreign load",
                started_at=wall - DAY / 4,
            ),
            0,
            0,
        ),
        *(
            RunSummary(
                last_run("full" if number % 7 == 0 else "smoke", number, started_at=wall - DAY),
                5,
                5,
            )
            for number in range(39, 0, -1)
        ),
    )


@dataclass
class FakeOverview:
    """Answers from a field; ``problem`` is raised, ``before`` is called first (it may block)."""

    answer: Lookback = field(default_factory=lambda: Lookback(LEVELS, runs()))
    problem: OperatorError | None = None
    before: Callable[[], None] = lambda: None
    calls: int = 0

    def lookback(self) -> Lookback:
        self.calls += 1
        self.before()
        if self.problem is not None:
            raise self.problem
        return self.answer
