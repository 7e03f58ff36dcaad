"""A look that may never come back, in a process that can be left behind.

Whoever asks a dead disk waits in the kernel and cannot be killed, for as long as the disk's
timeout is (EC2's is weeks). A thread that waits so keeps its whole process from ending; a child
does not.
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


class NoAnswer(Exception):
    """It did not come back in time, or ended without an answer; the text says which."""


class NotAsked(NoAnswer):
    """No process could be started for the question: that says nothing of whom it was for."""


def call(work: Callable[[], Any], *, timeout_seconds: float) -> Any:  # noqa: ANN401 - any JSON value
    """What ``work`` returns (any JSON value), done in a child process.

    Raises :class:`NoAnswer`, as :class:`NotAsked` if there is no memory or no process left. To be
    called before the process has any thread, because it forks.
    """
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
        _reap(pid)
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
    """
    found: dict[str, Any] = {}
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
                found[key] = call(functools.partial(work, key), timeout_seconds=timeout_seconds)
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
        answer = json.dumps(work()).encode()
        while answer:
            answer = answer[os.write(channel, answer) :]
    finally:
        os._exit(0)


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


def _reap(pid: int) -> None:
    """Take leave of the child; one that cannot even be killed is left to its disk."""
    deadline = time.monotonic() + _REAP_SECONDS
    while time.monotonic() < deadline:
        try:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
        except ChildProcessError:
            return
        time.sleep(0.002)
