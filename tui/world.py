"""Everything outside that the screens need, in one place, so that tests can give their own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from tui.asking import in_thread
from tui.settings import Settings
from tui.terminal import Policy

if TYPE_CHECKING:
    from tui.snapshot import Snapshot
    from tui.sources.drift import Drift
    from tui.sources.journal import Follower
    from tui.sources.layout import Layouts
    from tui.sources.overview import Overview
    from tui.sources.results import Results
    from tui.sources.suites import Suites

_T = TypeVar("_T")


class Control(Protocol):
    """Starts and stops suites; may block, raises OperatorError.

    ``volume`` is empty where none is named, which is the first one that is mounted.
    """

    def start(self, suite: str, volume: str) -> None: ...

    def stop(self, suite: str, volume: str, pid: int) -> None:
        """Stop what process ``pid`` measures, or (0) what is starting."""
        ...


class FeedControl(Protocol):
    """What the application asks of its feed."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def hurry(self) -> None: ...

    def expect_run(self, suite: str, volume: str) -> None: ...


@dataclass(frozen=True, slots=True)
class World:
    """``unable`` is why nothing can be changed from here (another history, read only, no
    systemd), or empty. ``history`` is the file, where that alone is shown and no machine.
    ``clock`` is monotonic, ``wall`` seconds since the epoch.
    """

    feed: Callable[[Callable[[Snapshot], object]], FeedControl]
    control: Control
    policy: Policy
    overview: Overview
    drift: Drift
    log: Follower
    layouts: Layouts
    results: Results
    suites: Suites
    unable: str = ""
    history: str = ""
    host: str = ""
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    settings: Settings = field(default_factory=Settings)
    in_background: Callable[[Callable[[], None]], None] = field(default=in_thread)


class _Later:
    """Stands for what ``make`` makes, and has it made when it is first used."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make
        self._made: object = None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as what it stands for says
        if self._made is None:
            self._made = self._make()
        return getattr(self._made, name)


def later(make: Callable[[], _T]) -> _T:
    """What ``make`` makes, made (and its modules loaded) when it is first used.

    The first paint comes before that.
    """
    return cast(_T, _Later(make))
