"""What other threads post to the application."""

from __future__ import annotations

from collections.abc import Callable

from textual.message import Message

from tui.snapshot import Snapshot


class SnapshotReady(Message):
    """The feed has a new snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot


class Delivered(Message):
    """A call that is to be made in the application's thread."""

    def __init__(self, call: Callable[[], None]) -> None:
        super().__init__()
        self.call = call
