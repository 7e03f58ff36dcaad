"""What other threads post to the application."""

from __future__ import annotations

from textual.message import Message

from tui.feed import Snapshot


class SnapshotReady(Message):
    """The feed has a new snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot


class ActionDone(Message):
    """systemd has been asked; ``problem`` is empty if it accepted."""

    def __init__(self, suite: str, *, started: bool, problem: str) -> None:
        super().__init__()
        self.suite = suite
        self.started = started
        self.problem = problem
