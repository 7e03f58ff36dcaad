"""An operator's request about a finding: through the spool into the history, and to the journal.

An operator cannot write the history. ``drift ack`` leaves a small file in a directory where
operators may put files and see none, and starts the drift check, which reads it. Everything in
there is hostile: it is opened without following links and without waiting, and must be a
regular file with one name and few bytes. Who says it is the owner of the file, which the kernel
knows, and nothing that is written in it.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import secrets
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from appliance.drift import journal_events, lifecycle
from appliance.drift.lifecycle import MAX_NOTE_CHARS
from appliance.errors import OperatorError, Refused, UsageError
from appliance.history.drift_queries import NoSuchFindingError
from appliance.model.findings import FindingRecord, Transition
from appliance.state import codec
from appliance.state.codec import bounded
from appliance.system import journal, spools
from appliance.text import printable

if TYPE_CHECKING:
    from appliance.history.store import History

_MAX_BYTES = 8192
# Of one check: a full spool must not keep it from looking.
_MAX_FILES = 64
_MAX_SWEEP = 10_000


class Action(StrEnum):
    """What an operator can do with a finding."""

    ACKNOWLEDGE = "acknowledge"
    APPROVE = "approve"


@dataclass(frozen=True, slots=True)
class Request:
    """An operator action on a finding. ``name`` is that of the file in the spool."""

    finding_id: int
    action: Action
    note: str
    who: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class _Document:
    action: Action
    finding: int = bounded(least=1, most=2**63 - 1)
    note: str = bounded(max_chars=MAX_NOTE_CHARS)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A file that says nothing that can be used, and why."""

    name: str
    who: str
    why: str


def leave(spool: Path, request: Request) -> None:
    """Put ``request`` into the spool, as an operator; its ``who`` is not written."""
    document = asdict(_Document(request.action, request.finding_id, request.note))
    name = f"{secrets.token_hex(16)}.json"
    # Only its reader can list the directory: the name is known to none but us.
    part = spool / f".{name}"
    try:
        descriptor = os.open(part, spools.CREATE, 0o644)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(descriptor, 0o644)  # the reader is another user, whatever the umask is
            json.dump(document, file)
        part.rename(spool / name)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise OperatorError(
            f"cannot write to {spool}: {os.strerror(error.errno or 0)}",
            "operators are the members of group stripewright-operators",
        ) from error


def read(spool: Path) -> tuple[Request | Rejected, ...]:
    """What lies in the spool, in the order in which it came; nothing if there is no spool."""
    try:
        with spools.opened(spool) as folder:
            return tuple(_one(folder, name) for name in _names(folder))
    except OSError:
        return ()


def remove(spool: Path, name: str) -> None:
    """Take ``name`` out of the spool, whatever it is."""
    with contextlib.suppress(OSError), spools.opened(spool) as folder:
        spools.remove(folder, name)


def _names(folder: int) -> list[str]:
    """The first that came. One whose name begins with a dot is still being written."""
    found: list[tuple[int, str]] = []
    with os.scandir(folder) as entries:
        for count, entry in enumerate(entries):
            if count >= _MAX_SWEEP:
                break
            if entry.name.startswith("."):
                continue
            with contextlib.suppress(OSError):
                found.append((entry.stat(follow_symlinks=False).st_ctime_ns, entry.name))
    return [name for _, name in sorted(found)[:_MAX_FILES]]


def _one(folder: int, name: str) -> Request | Rejected:
    shown = printable(name)[:80]
    try:
        raw, owner = spools.read(folder, name, _MAX_BYTES)
    except spools.Unusable as error:
        who = "" if error.owner is None else user_name(error.owner)
        return Rejected(name, who, f"{shown} {error.why}")
    who = user_name(owner)
    try:
        found = codec.parse(_Document, raw)
    except codec.DecodeError:
        return Rejected(name, who, f"{shown} is not a valid request")
    return Request(found.finding, found.action, printable(found.note), who, name)


def user_name(uid: int) -> str:
    try:
        return printable(pwd.getpwuid(uid).pw_name)
    except KeyError:
        return f"uid {uid}"


# ------------------------------------------------------------------------ into the history


def decide(record: FindingRecord, request: Request) -> Transition | None:
    """What ``request`` makes of a finding, ``None`` if that is so already. Raises as keep()."""
    if request.action is Action.ACKNOWLEDGE:
        return lifecycle.acknowledge(record, who=request.who, note=request.note)
    transition = lifecycle.approve(record, who=request.who, note=request.note)
    baseline_of(record)
    return transition


def keep(history: History, request: Request, *, now: float) -> FindingRecord:
    """Keep ``request``; returns the finding as it is now.

    :class:`NoSuchFindingError` if there is none, :class:`Refused` or :class:`UsageError` if it
    cannot be done, another :class:`OperatorError` if the history cannot be written.
    """
    record, transition = history.drift.decide_on(
        request.finding_id,
        lambda found: decide(found, request),
        now=now,
        approval=baseline_of if request.action is Action.APPROVE else None,
    )
    if transition is not None:
        journal_events.log(record, transition)
    return record


def take(history: History, one: Request | Rejected, *, now: float) -> None:
    """The same for what lay in the spool: what cannot be done goes to the journal alone.

    :class:`OperatorError` if it may be done later: the history is in use, or the disk is full.
    """
    why = one.why if isinstance(one, Rejected) else ""
    if isinstance(one, Request):
        try:
            keep(history, one, now=now)
        except (NoSuchFindingError, Refused, UsageError) as error:
            why = error.message
    if why:
        journal.event(
            journal.Event.DRIFT_REQUEST_REJECTED,
            f"a request of {one.who or 'an unknown user'} about a finding was rejected: {why}",
            priority=journal.Priority.WARNING,
            who=one.who,
        )


def baseline_of(record: FindingRecord) -> dict[str, str | int]:
    """The series whose baseline starts again, and with which run: columns of an approval.

    :class:`Refused` if the finding does not say from when on it is so.
    """
    target, run = record.fact.evidence.get("target"), record.fact.evidence.get("change_run")
    if not isinstance(target, str) or type(run) is not int:
        raise Refused(
            f"finding {record.id} does not say with which run its change began",
            f"look at it: stripewright drift show {record.id}",
        )
    return {"subject": record.fact.subject, "target": target, "from_run": run}
