"""``schedule``: when suites run and drift is looked for; shown, asked for, brought into effect.

Root decodes what an operator asks for (:mod:`appliance.client.schedule_requests`), installs it and
sets the timers by it; what was in effect stays where it cannot.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from appliance import paths, text
from appliance.bench import timetable
from appliance.bench.suite import suite_names
from appliance.bench.timetable_file import decoded, read_schedule, read_text
from appliance.client import schedule_requests
from appliance.client.answers import store
from appliance.client.schedule_requests import When
from appliance.errors import EXIT_OK, OperatorError, UsageError
from appliance.storage.execute import request_spool
from appliance.system import files, journal, services


class Manager(Protocol):
    """What is asked of systemd (:mod:`appliance.system.services`)."""

    def start_unit(self, name: str) -> None: ...
    def stop_unit(self, name: str) -> None: ...
    def restart_unit(self, name: str) -> None: ...
    def reload_manager(self) -> None: ...
    def unit_state(self, name: str) -> services.UnitState: ...


@dataclass(frozen=True, slots=True)
class Places:
    """Where the schedule, the files beside the units, and word of them are."""

    file: Path = paths.SCHEDULE_FILE
    units: Path = paths.UNIT_DIR
    state: Path = paths.SCHEDULE_STATE
    lock: Path = paths.SCHEDULE_LOCK
    spool: Path = paths.SPOOL_DIR


_PLACES = Places()


# ---------------------------------------------------------------------------------- operator


def show(*, as_json: bool, places: Places = _PLACES) -> int:
    """Print what runs when, and what was said of the file when it was last brought into effect."""
    found = schedule_requests.schedule_now(file=places.file, state=places.state)
    if as_json:
        document = {
            "schedule": [
                {"what": row.what, "when": row.when, "from": row.source} for row in found.rows
            ],
            "file": str(places.file) if places.file.exists() else None,
            "next": dict(found.next_at),
            "problem": found.problem or None,
        }
        print(json.dumps(document, indent=2))
        return EXIT_OK
    print(text.table([("WHAT", "WHEN", "FROM"), *found.rows]))
    for timer, at in found.next_at.items():
        if at is not None:
            print(f"next {timer.removesuffix('.timer')}: {text.moment(at)}")
    if found.problem:
        print(f"not in effect: {text.printable(found.problem)}")
    return EXIT_OK


def change(
    suite: str, *, file: Path | None, when: When, as_json: bool, places: Places = _PLACES
) -> int:
    """Have ``file`` installed as the schedule, or the times of one suite in it changed."""
    if (file is None) == (not suite) or (file is not None and when != When()):
        raise UsageError(
            "schedule set: give the name of a suite and when it runs, or --file FILE alone",
            "for example: stripewright schedule set smoke --every 4h",
        )
    if file is not None:
        return _set(read_text(file), as_json=as_json, places=places)
    lines = when.lines()
    if when.state == "default" and lines:
        raise UsageError("schedule set: --default takes no times", "leave out --jitter")
    if when.state != "default" and not lines:
        raise UsageError(
            "schedule set: nothing to change", "give --every, --at, --jitter, --off or --default"
        )
    present = read_text(places.file) if places.file.exists() else ""
    return _set(schedule_requests.with_times(present, suite, when), as_json=as_json, places=places)


def _set(wanted: str, *, as_json: bool, places: Places) -> int:
    schedule_requests.ask_schedule(
        wanted, spool=places.spool, as_root=lambda checked: _install(checked, places)
    )
    return show(as_json=as_json, places=places)


# -------------------------------------------------------------------------------------- root


def schedule_request(name: str, places: Places = _PLACES) -> int:
    """What the unit of a request runs: install the schedule of that name, leave what came of it."""
    _need_root()
    error: OperatorError | None = None
    try:
        raw = request_spool.take_bytes(places.spool, name)
        _install(decoded(raw, "schedule"), places)
    except OperatorError as caught:
        error = caught
        _tell_refusal(caught)
    if request_spool.is_hash(name):
        answer: dict[str, Any] = {"at_monotonic_s": time.monotonic(), "error": None}
        if error is not None:
            answer["error"] = {
                "exit_code": error.exit_code,
                "message": error.message,
                "hint": error.hint,
            }
        store().keep_plan(name, answer)
    # A refusal is an answer, not a failure of the unit.
    return EXIT_OK


def _install(wanted: str, places: Places) -> None:
    timetable.parse_schedule(wanted, "schedule", suite_names())
    with _locked(places.lock):
        files.replace_text(places.file, wanted, durable=True)
        _effect(places)


def apply(places: Places = _PLACES) -> int:
    """What the schedule unit runs, at boot and when the file changes."""
    _need_root()
    with _locked(places.lock):
        try:
            _effect(places)
        except OperatorError as error:
            _tell_refusal(error)
            raise
    return EXIT_OK


def _effect(places: Places) -> None:
    """Bring the installed schedule into effect, and leave word of it if that fails."""
    try:
        bring_into_effect(places)
    except OperatorError as error:
        document = {"message": error.message, "hint": error.hint}
        files.replace_json(places.state, {"at": time.time(), "error": document})
        raise


def _need_root() -> None:
    # Not unit_entrypoints' own, which imports all of storage: this runs at each boot.
    if os.geteuid() != 0:
        raise OperatorError("only root can do this", "it is what units of the appliance run")


def bring_into_effect(places: Places, manager: Manager = services) -> None:
    """Make timers and target what the installed schedule says. Done again it changes nothing.

    Raises :class:`UsageError` for a file that is no schedule, before anything was changed.
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
    if timetable.TARGET in touched and declared.acceptance_required:
        # The next boot waits for it; now its verdict is had at once.
        manager.start_unit(timetable.ACCEPTANCE_UNIT)
    files.replace_json(places.state, {"at": time.time(), "error": None})
    if changed:
        words = "; ".join(f"{what}: {when}" for what, when, _ in timetable.describe(declared))
        journal.event(
            journal.Event.SCHEDULE_SET,
            f"schedule: {words}",
            priority=journal.Priority.NOTICE,
            schedule=_sha256(places.file),
        )


def start_stopped(places: Places = _PLACES, manager: Manager = services) -> None:
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


def _tell_refusal(error: OperatorError) -> None:
    journal.event(
        journal.Event.SCHEDULE_REFUSED,
        f"the schedule is not brought into effect: {error.message}",
        priority=journal.Priority.WARNING,
    )


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    # Only root's: whoever can open it could hold the lock.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        os.fchmod(file.fileno(), 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""
