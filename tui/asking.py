"""Questions that may take long, asked beside the application: history, journal, systemd.

A question that never comes back (a locked history, a systemctl that is stuck) holds up itself
and later ones of its own key, and nothing else: no key press waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from appliance.errors import OperatorError

T = TypeVar("T")
Deliver = Callable[[Callable[[], None]], object]


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """The outcome of a question. ``value`` is ``None`` if there is a ``problem`` (in one line).

    ``asked_at`` is of the screens' monotonic clock: what is shown is at least so old.
    """

    value: T | None
    problem: str
    asked_at: float


@dataclass(frozen=True, slots=True)
class _Question:
    work: Callable[[], Any]
    done: Callable[[Answer[Any]], None]


def in_thread(work: Callable[[], None]) -> None:
    """Do ``work`` in a daemon thread, not in a Textual worker: leaving must not wait for it."""
    threading.Thread(target=work, name="asked", daemon=True).start()


class Asker:
    """Asks one question of each key at a time. All methods are for the application's thread.

    ``deliver`` takes a call from any thread and makes it in the application's.
    """

    def __init__(
        self,
        deliver: Deliver,
        clock: Callable[[], float],
        in_background: Callable[[Callable[[], None]], None],
    ) -> None:
        self._deliver = deliver
        self._clock = clock
        self._in_background = in_background
        self._asked_at: dict[str, float] = {}
        self._next: dict[str, _Question] = {}

    def ask(self, key: str, work: Callable[[], T], done: Callable[[Answer[T]], None]) -> None:
        """Do ``work`` beside the application and call ``done`` with the outcome.

        While another question of ``key`` is open, this one waits for it; of those that wait only
        the latest is asked.
        """
        question = _Question(work, done)
        if key in self._asked_at:
            self._next[key] = question
            return
        self._begin(key, question)

    def waiting_since(self, key: str) -> float | None:
        """When the open question of ``key`` was asked, ``None`` if there is none."""
        return self._asked_at.get(key)

    def _begin(self, key: str, question: _Question) -> None:
        asked_at = self._clock()
        self._asked_at[key] = asked_at

        def work() -> None:
            try:
                answer = Answer(question.work(), "", asked_at)
            except Exception as error:
                answer = Answer(None, describe(error), asked_at)
            self._deliver(lambda: self._end(key, question, answer))

        self._in_background(work)

    def _end(self, key: str, question: _Question, answer: Answer[Any]) -> None:
        del self._asked_at[key]
        waiting = self._next.pop(key, None)
        if waiting is not None:
            self._begin(key, waiting)
        question.done(answer)


def describe(error: Exception) -> str:
    """Put an error into one line: its message and, if it has one, the hint."""
    if isinstance(error, OperatorError):
        return f"{error.message}; {error.hint}" if error.hint else error.message
    return f"{type(error).__name__}: {error}"
