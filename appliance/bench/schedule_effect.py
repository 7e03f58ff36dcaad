"""Root's side of the schedule: timers and target are set by the installed file.

Whatever cannot be brought into effect leaves in effect what was.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from appliance import paths
from appliance.bench import timetable
from appliance.bench.suite import suite_names
from appliance.bench.timetable import read_schedule
from appliance.errors import OperatorError
from appliance.system import files, journal, services


class Manager(Protocol):
    """What systemd is asked for (:mod:`appliance.system.services`)."""

    def start_unit(self, name: str) -> None: ...
    def stop_unit(self, name: str) -> None: ...
    def restart_unit(self, name: str) -> None: ...
    def reload_manager(self) -> None: ...
    def unit_state(self, name: str) -> services.UnitState: ...


@dataclass(frozen=True, slots=True)
class Places:
    """Where the schedule is, the drop-ins of units, and how bringing them into effect ended."""

    file: Path = paths.SCHEDULE_FILE
    units: Path = paths.UNIT_DIR
    state: Path = paths.SCHEDULE_STATE
    lock: Path = paths.SCHEDULE_LOCK
    spool: Path = paths.SPOOL_DIR


PLACES = Places()


def install(wanted: str, places: Places = PLACES) -> None:
    """Make ``wanted`` the schedule. Raises :class:`UsageError` for what is not one."""
    timetable.parse_schedule(wanted, "schedule", suite_names())
    with _locked(places.lock):
        files.replace_text(places.file, wanted, durable=True)
        _apply(places)


def apply(places: Places = PLACES) -> None:
    """Bring the installed file into effect, at boot and when it changes."""
    with _locked(places.lock):
        try:
            _apply(places)
        except OperatorError as error:
            journal_refusal(error)
            raise


def _apply(places: Places) -> None:
    try:
        bring_into_effect(places)
    except OperatorError as error:
        document = {"message": error.message, "hint": error.hint}
        files.replace_json(places.state, {"at": time.time(), "error": document})
        raise


def bring_into_effect(places: Places, manager: Manager = services) -> None:
    """Set timers and target by the installed schedule. Repeated, it changes nothing.

    Raises :class:`UsageError` for an invalid schedule, before anything was changed.
    """
    declared = read_schedule(places.file)
    wanted = timetable.drop_ins(declared, str(places.file))
    present = _present(places.units)
    changed = {name for name in {*wanted, *present} if wanted.get(name) != present.get(name)}
    runs = timetable.timers(declared)
    touched = {name.partition(".d/")[0] for name in changed}
    for timer in sorted({one for one in touched if one.endswith(".timer")} - {*runs}):
        # Without its times it could not even be stopped any more.
        _stop(manager, timer)
    for name in sorted(changed):
        _put(places.units / name, wanted.get(name))
    if changed:
        manager.reload_manager()
    for timer, is_on in runs.items():
        if not is_on:
            _stop(manager, timer)
        elif timer in touched:
            manager.restart_unit(timer)
        else:
            manager.start_unit(timer)
    if services.TARGET in touched and declared.acceptance_required:
        # The next boot waits for it; its verdict is wanted now.
        manager.start_unit(timetable.ACCEPTANCE_UNIT)
    files.replace_json(places.state, {"at": time.time(), "error": None})
    if changed:
        words = "; ".join(f"{what}: {when}" for what, when, _ in timetable.describe(declared))
        journal.event(
            journal.Event.SCHEDULE_SET,
            f"schedule: {words}",
            schedule=_sha256(places.file),
        )


def start_stopped(places: Places = PLACES, manager: Manager = services) -> None:
    """Start timers and paths that the schedule does not switch off, and that do not run.

    An operator who may stop a suite may stop its timer with it: polkit does not see that the job's
    mode is ``triggering``. Raises :class:`OperatorError` if systemd does not answer.
    """
    runs = timetable.timers(read_schedule(places.file))
    for name in (*services.LISTENERS, *(timer for timer, is_on in runs.items() if is_on)):
        state = manager.unit_state(name)
        if state.queued or state.active != "inactive":
            continue
        try:
            manager.start_unit(name)
        except OperatorError:
            # Masked by root, say: doctor shows it, and the others are started all the same.
            continue
        journal.event(
            journal.Event.STARTED_AGAIN,
            f"{name} was stopped; it has been started again",
            priority=journal.Priority.WARNING,
            unit=name,
        )


def _stop(manager: Manager, timer: str) -> None:
    if manager.unit_state(timer).active == "active":
        manager.stop_unit(timer)


def _present(units: Path) -> dict[str, str]:
    """The files beside units that an earlier schedule made."""
    return {
        f"{path.parent.name}/{path.name}": path.read_text(encoding="utf-8", errors="replace")
        for path in units.glob(f"stripewright*.d/{timetable.DROP_IN}")
    }


def _put(path: Path, content: str | None) -> None:
    if content is not None:
        files.replace_text(path, content, durable=True)
        return
    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        path.parent.rmdir()  # another's files may lie there, too


def journal_refusal(error: OperatorError) -> None:
    journal.event(
        journal.Event.SCHEDULE_REFUSED,
        f"the schedule is not brought into effect: {error.message}",
        priority=journal.Priority.WARNING,
    )


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    # Only root's: a process that can open it could hold the lock.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        os.fchmod(file.fileno(), 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""
