"""Everything outside that the screens need, in one place, so that tests can give their own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from tui.asking import in_thread
from tui.snapshot import Snapshot
from tui.terminal import Policy


class Control(Protocol):
    """Starts and stops suites; may block, raises OperatorError."""

    def start(self, suite: str) -> None: ...

    def stop(self, suite: str) -> None: ...


class FeedControl(Protocol):
    """What the application asks of its feed."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def hurry(self) -> None: ...

    def expect_run(self, suite: str) -> None: ...


@dataclass(frozen=True, slots=True)
class World:
    """``unable`` is why nothing can be changed from here (another history, read only, no
    systemd), or empty. ``clock`` is monotonic, ``wall`` seconds since the epoch.
    """

    feed: Callable[[Callable[[Snapshot], None]], FeedControl]
    control: Control
    policy: Policy
    unable: str = ""
    host: str = ""
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    in_background: Callable[[Callable[[], None]], None] = field(default=in_thread)
