"""What happened, followed: the journal of our units, or the events in the history.

One thread of its own reads, and keeps the last entries in a frozen :class:`LogState` that the
screen looks at. It reads only while it is shown; a journal that hangs leaves the state there
to grow old.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tui.asking import describe

# As many are kept; those that were asked for besides are kept, too, up to the most.
KEPT = 2000
MOST = 20_000
# Enough for a high screen, and there at once; the rest of the boot comes after it.
_FIRST = 200
_OLDER = 1000
# So long one look waits for something new; what is shown is at least so fresh.
_WAIT_SECONDS = 1.0
_RETRY_SECONDS = 5.0
# No question for so long: the screen is not shown.
_UNWATCHED_SECONDS = 10.0
# Longer texts are cut before they are kept.
LONGEST_TEXT = 2000


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. ``key`` finds it again, ``at`` is seconds since the epoch, ``priority`` is of
    syslog (0 most severe, 7 least). ``unit`` and ``message`` are untrusted text.
    """

    key: str
    at: float
    priority: int
    unit: str
    message: str
    boot: str = ""


@dataclass(frozen=True, slots=True)
class EntryDetail:
    """All fields of an entry, and its catalog text (empty if there is none)."""

    fields: tuple[tuple[str, str], ...]
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class LogState:
    """``entries`` are oldest first. ``about`` says what they are of, ``notice`` what the operator
    should know of that; ``read_at`` is when the reader last had an answer, of its clock, and
    ``asked_at`` when the screen was opened: before that no answer was due.
    ``has_older``: there may be more before them. ``problem`` is what kept it from reading.
    """

    entries: tuple[Entry, ...] = ()
    about: str = ""
    notice: str = ""
    read_at: float | None = None
    asked_at: float = 0.0
    has_older: bool = False
    reads_older: bool = False
    problem: str = ""


class Reading(Protocol):
    """An open log. For one thread alone; every method may block or raise."""

    about: str
    notice: str

    def latest(self, count: int) -> Sequence[Entry]:
        """The last ``count`` entries of this boot, oldest first."""
        ...

    def older(self, count: int, *, this_boot: bool) -> Sequence[Entry]:
        """Up to ``count`` entries before those that were read, oldest first; empty at the end."""
        ...

    def newer(self, wait_seconds: float) -> Sequence[Entry]:
        """What has come since, waiting so long for something."""
        ...

    def close(self) -> None: ...


class Follower:
    """Reads what ``open_log`` gives in a thread of its own. Only :meth:`detail` may block."""

    def __init__(
        self,
        open_log: Callable[[], Reading],
        detail: Callable[[str], EntryDetail],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open_log = open_log
        self._detail = detail
        self._clock = clock
        self._state = LogState()
        self._reading: Reading | None = None
        self._room = KEPT
        self._rest_of_boot = False
        self._wants_older = False
        self._back_to = math.inf
        self._watched = threading.Event()
        self._watched_at = self._asked_at = -math.inf
        self._thread: threading.Thread | None = None

    # -- for the application's thread

    def state(self) -> LogState:
        """The current state; reading begins with the first call and lasts while it is called."""
        now = self._clock()
        if now - self._watched_at > _UNWATCHED_SECONDS:
            self._asked_at = now
        self._watched_at = now
        self._watched.set()
        if self._thread is None:
            # A daemon: a journal that hangs never delays leaving.
            self._thread = threading.Thread(target=self._run, name="log", daemon=True)
            self._thread.start()
        return replace(self._state, asked_at=self._asked_at)

    def load_older(self, back_to: float = math.inf) -> None:
        """Read more of what was before, and go on until the time ``back_to`` (seconds since the
        epoch), if there is and may be kept as much.
        """
        self._back_to = back_to
        self._wants_older = True

    def detail(self, key: str) -> EntryDetail:
        """All of the entry ``key``."""
        return self._detail(key)

    # -- for the reader's thread

    def _run(self) -> None:
        while True:
            if self._clock() - self._watched_at > _UNWATCHED_SECONDS:
                self._watched.clear()
                self._watched.wait()
            if not self.step():
                time.sleep(_RETRY_SECONDS)

    def step(self) -> bool:
        """Read what is next, in the caller's thread; whether that went well."""
        try:
            self._read()
        except Exception as error:
            self._reading = None
            self._state = replace(self._state, problem=describe(error), reads_older=False)
            return False
        return True

    def _read(self) -> None:
        if self._reading is None:
            self._begin(self._open_log())
        elif self._rest_of_boot:
            self._rest_of_boot = False
            room = KEPT - len(self._state.entries)
            self._keep(self._reading.older(room, this_boot=True), older=True)
        elif self._wants_older:
            self._wants_older = False
            if len(self._state.entries) + _OLDER > MOST:
                self._keep_state(has_older=False, reads_older=False)
                return
            self._keep_state(reads_older=True)
            more = self._reading.older(_OLDER, this_boot=False)
            self._room = max(self._room, len(self._state.entries) + len(more))
            self._keep(more, older=True)
            # The key may have been pressed meanwhile.
            self._wants_older |= bool(more) and more[0].at > self._back_to
            self._keep_state(has_older=bool(more), reads_older=self._wants_older)
        else:
            self._keep(self._reading.newer(_WAIT_SECONDS))

    def _begin(self, reading: Reading) -> None:
        """What was read by an earlier reader is read again: it may have been damaged."""
        entries = tuple(reading.latest(_FIRST))
        self._reading, self._room = reading, KEPT
        self._rest_of_boot = len(entries) == _FIRST
        self._state = LogState(
            entries, reading.about, reading.notice, self._clock(), has_older=True
        )

    def _keep(self, more: Sequence[Entry], *, older: bool = False) -> None:
        entries = self._state.entries
        if more:
            entries = (*more, *entries) if older else (*entries, *more)[-self._room :]
        self._keep_state(entries=entries)

    def _keep_state(self, **changes: object) -> None:
        self._state = replace(self._state, read_at=self._clock(), problem="", **changes)  # type: ignore[arg-type]


def cut(text: str) -> str:
    """No text is kept in full that no screen could show."""
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
