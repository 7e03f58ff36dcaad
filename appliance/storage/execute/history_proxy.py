"""The history's proxy: a process without privileges that opens history.db in root's place.

The history's directory belongs to the service user, so that user decides what
``history.db`` and its journal are: a link to another file, a journal that names files to
delete, a view that never ends. Root therefore never opens it. A child is forked, gives up
root before it opens anything, and answers requests as JSON lines over a socket pair. The
parent believes nothing of an answer before it is checked (:mod:`appliance.storage.execute.record`)
and waits for none longer than :data:`TIMEOUT_SECONDS`.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import signal
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from appliance import paths
from appliance.errors import OperatorError
from appliance.system import child

if TYPE_CHECKING:
    from appliance.history.store import History

# Longer than the check of a large file at opening takes, and than SQLite waits for a lock, so
# that a busy file says that it is busy. Only another writer can hold one, for milliseconds.
TIMEOUT_SECONDS = 25.0
_BUSY_SECONDS = 3.0
# Far above an epoch of 24 disks.
_MAX_ANSWER_BYTES = 256 * 1024
_GOODBYE_SECONDS = 5.0
_KILL_SECONDS = 2.0


class ProxyError(Exception):
    """The proxy is dead, late, or says that it could not; the text says which."""


class HistoryProxy:
    """The parent's end. To be made before the process has any thread, because it forks."""

    def __init__(self, db: Path, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._timeout_seconds = timeout_seconds
        self._rest = b""
        self._channel, theirs = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            _be_the_proxy(db, theirs)
        theirs.close()

    def ask(self, call: str, timeout_seconds: float | None = None, /, **values: object) -> object:
        """What the proxy answers to ``call``: any JSON value, not to be believed unchecked.

        Raises :class:`ProxyError`; the proxy is then of no more use and must be dismissed.
        """
        patience = min(timeout_seconds or self._timeout_seconds, self._timeout_seconds)
        deadline = time.monotonic() + patience
        request = json.dumps({"call": call, **values}).encode() + b"\n"
        try:
            self._channel.settimeout(patience)
            self._channel.sendall(request)
            answer = json.loads(self._line(deadline))
        except TimeoutError as error:
            raise ProxyError(f"no answer to '{call}' within {patience:g} seconds") from error
        except (OSError, ValueError, RecursionError) as error:
            raise ProxyError(f"no answer to '{call}': {error}") from error
        if not isinstance(answer, dict) or "ok" not in answer:
            said = answer.get("error") if isinstance(answer, dict) else None
            raise ProxyError(said[:500] if isinstance(said, str) else "not an answer")
        return answer["ok"]

    def dismiss(self, *, kill: bool = False) -> None:
        """End the proxy. Never waits long: one that cannot even be killed is left behind."""
        self._channel.close()
        if kill or not child.reap(self._pid, _GOODBYE_SECONDS):
            with contextlib.suppress(OSError):
                os.kill(self._pid, signal.SIGKILL)
            child.reap(self._pid, _KILL_SECONDS)

    def _line(self, deadline: float) -> bytes:
        while b"\n" not in self._rest:
            left_seconds = deadline - time.monotonic()
            if left_seconds <= 0:
                raise TimeoutError
            self._channel.settimeout(left_seconds)
            more = self._channel.recv(65536)
            if not more:
                raise OSError("it ended")
            self._rest += more
            if len(self._rest) > _MAX_ANSWER_BYTES:
                raise ValueError("too long")
        line, _, self._rest = self._rest.partition(b"\n")
        return line


# ------------------------------------------------------------------------- the child


def _load_code() -> None:
    """Import what writing needs before root is given up: only code, nothing of the history.

    In the child, while the parent looks at the disks. What only a new epoch or an old file
    needs (sqlite-utils) is imported when it is needed.
    """
    from appliance.history import store  # noqa: F401


def _be_the_proxy(db: Path, channel: socket.socket) -> None:
    """All of the child's life; it never returns into the parent's code."""
    status = 1
    try:
        # The lock among them: a proxy that outlives its parent must not hold it.
        child.let_go(channel.fileno(), streams=False)
        # Python's own may have been pointed elsewhere; the journal writes here without journald.
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 - a descriptor, for good
        _load_code()
        _give_up_root()
        _serve(db, channel)
        status = 0
    except BaseException as error:
        with contextlib.suppress(BaseException):
            channel.sendall(json.dumps({"error": _words(error)}).encode() + b"\n")
    finally:
        os._exit(status)


def _give_up_root() -> None:
    """Become the service user for good; without root, or without that user, stay who we are."""
    if os.geteuid() != 0:
        return
    try:
        user = pwd.getpwnam(paths.SERVICE_USER)
    except KeyError:
        return
    os.setgroups([])
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
    if os.getresuid() != (user.pw_uid,) * 3 or os.getresgid() != (user.pw_gid,) * 3:
        raise PermissionError("root could not be given up")


def _serve(db: Path, channel: socket.socket) -> None:
    from appliance.history.store import History

    history: History | None = None
    answer: dict[str, object]
    with channel.makefile("rwb") as stream:
        for line in stream:
            request = json.loads(line)
            try:
                if request["call"] == "open":
                    history = History.open_writable(db, wait_seconds=_BUSY_SECONDS)
                    answer = {"ok": str(history.set_aside) if history.set_aside else None}
                else:
                    answer = {"ok": answer_with(history, request)}
            except Exception as error:  # whatever it is, the parent has to know
                answer = {"error": _words(error)}
            stream.write(json.dumps(answer).encode() + b"\n")
            stream.flush()
    if history is not None:
        history.close()


def answer_with(history: History | None, request: Mapping[str, Any]) -> object:
    """Do what ``request`` asks of an open history; the answer as JSON can carry it."""
    if history is None:
        raise LookupError("the history is not open")
    call, values = request["call"], {key: request[key] for key in request if key != "call"}
    if call == "audit":
        for step in values["steps"]:
            history.audit(**step)
        return True
    if call == "current_epoch":
        epoch = history.current_epoch()
        return asdict(epoch) if epoch else None
    if call == "ensure_epoch":
        return asdict(history.ensure_epoch(values["fingerprint"]))
    raise LookupError(f"no such request: {call}")


def _words(error: BaseException) -> str:
    return error.message if isinstance(error, OperatorError) else str(error) or repr(error)
