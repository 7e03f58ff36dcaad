"""A look that may never come back, in a process that can be left behind.

A process that asks a dead disk waits in the kernel and cannot be killed, for as long as the disk's
timeout is (EC2's is weeks). A thread that waits so keeps its whole process from ending; a child
does not. It may be there for as long, so it closes all that its parent had open: a reader of
our output, or another process that wants our lock, does not wait for it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

_CHUNK_BYTES = 65536
_MAX_ANSWER_BYTES = 8 * 1024 * 1024
_REAP_SECONDS = 0.5

# Children that could not be ended, each with what it was asked for whom (``None``: of several).
_left: dict[int, tuple[Callable[[str], Any], str] | None] = {}


class NoAnswer(Exception):
    """It did not come back in time, or ended without an answer; the text says which."""


class NotAsked(NoAnswer):
    """No process could be started for the question: that says nothing about its subject."""


def call(work: Callable[[], Any], *, timeout_seconds: float) -> Any:  # noqa: ANN401 - any JSON value
    """What ``work`` returns (any JSON value), done in a child process.

    Raises :class:`NoAnswer`, as :class:`NotAsked` if there is no memory or no process left. It
    forks: where the process has other threads, ``work`` must do no more than ask the kernel.
    """
    return _call(work, timeout_seconds, None)


def _call(
    work: Callable[[], Any],
    timeout_seconds: float,
    asked: tuple[Callable[[str], Any], str] | None,
) -> Any:  # noqa: ANN401 - any JSON value
    ours, theirs, pid = _fork()
    if pid == 0:
        _be_the_child(work, theirs)
    os.close(theirs)
    try:
        answer = _read(ours, time.monotonic() + timeout_seconds)
    finally:
        os.close(ours)
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        if not reap(pid, _REAP_SECONDS):
            _left[pid] = asked
    if answer is None:
        raise NoAnswer(f"no answer within {timeout_seconds:g} seconds")
    try:
        return json.loads(answer)
    except ValueError as error:
        raise NoAnswer("it ended without an answer") from error


def each(
    keys: Sequence[str], work: Callable[[str], Any], *, timeout_seconds: float
) -> dict[str, Any]:
    """``work`` of every key, all in one child; one that does not answer is left out.

    If they are not all there in time, each is asked again by itself, to know which: at most
    ``timeout_seconds`` for every key and once more for all of them. Raises :class:`NotAsked`.
    Where a child still waits for an answer no other is sent to wait beside it.
    """
    found: dict[str, Any] = {}
    waiting = _still_waiting()
    keys = [key for key in keys if (work, key) not in waiting]
    if not keys:
        return found
    try:
        answers = call(lambda: [work(key) for key in keys], timeout_seconds=timeout_seconds)
        return dict(zip(keys, answers, strict=True))
    except NotAsked:
        raise
    except NoAnswer:
        for key in keys:
            try:
                found[key] = _call(functools.partial(work, key), timeout_seconds, (work, key))
            except NotAsked:
                raise
            except NoAnswer:
                continue
    return found


def _fork() -> tuple[int, int, int]:
    """Our end of a pipe, the child's, and the child's id, 0 in the child itself."""
    try:
        ours, theirs = os.pipe()
    except OSError as error:
        raise NotAsked(f"no process for it: {error.strerror}") from error
    try:
        return ours, theirs, os.fork()
    except OSError as error:
        os.close(ours)
        os.close(theirs)
        raise NotAsked(f"no process for it: {error.strerror}") from error


def _be_the_child(work: Callable[[], Any], channel: int) -> None:
    """Answer and end, past everything that the parent would do at its end."""
    try:
        let_go(channel)
        answer = json.dumps(work()).encode()
        while answer:
            answer = answer[os.write(channel, answer) :]
    finally:
        os._exit(0)


def let_go(channel: int, *, streams: bool = True) -> None:
    """Close all that is open but ``channel``; the standard streams (``streams``) lead nowhere."""
    if streams:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        if int(name) not in {0, 1, 2, channel}:
            with contextlib.suppress(OSError):  # the one that was listed through
                os.close(int(name))


def _still_waiting() -> set[tuple[Callable[[str], Any], str] | None]:
    """What children were asked that are still there."""
    for pid in list(_left):
        if _has_ended(pid):
            _left.pop(pid, None)
    return set(_left.values())


def _has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return True


def _read(channel: int, deadline: float) -> bytes | None:
    """All that comes until the end, ``None`` if that does not come in time."""
    found = b""
    while len(found) <= _MAX_ANSWER_BYTES:
        left_seconds = deadline - time.monotonic()
        if left_seconds <= 0 or not select.select([channel], [], [], left_seconds)[0]:
            return None
        more = os.read(channel, _CHUNK_BYTES)
        if not more:
            return found
        found += more
    return b""


def reap(pid: int, seconds: float) -> bool:
    """Wait for the child's end; whether it came. One that cannot even be killed is left."""
    deadline = time.monotonic() + seconds
    while not _has_ended(pid):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.002)
    return True
