"""The systemd journal, as far as it is about our units.

systemd-python is there on the appliance and may be missing elsewhere: it is imported when a
journal is opened, not before.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from appliance.errors import OperatorError, Refused
from appliance.system import liveness
from tui.sources.journal import Entry, EntryDetail, cut

# sd-journal(3), journald.conf(5): persistent, and since the boot only.
_FOLDERS = (Path("/var/log/journal"), Path("/run/log/journal"))
_MACHINE_ID = Path("/etc/machine-id")
_IDENTIFIER = "stripewright"
_PREFIX = "stripewright"
# Units without an instance; those with one are found by the slice that systemd puts them in
# (systemd.unit(5): system-<template>.slice), or that their file names.
UNITS = (
    "stripewright-acceptance.service",
    "stripewright-assemble.service",
    "stripewright-confirm.service",
    "stripewright-cpu-latency.service",
    "stripewright-drift.service",
    "stripewright-hostkey.service",
    "stripewright-look.service",
    "stripewright-release.service",
    "stripewright-running.service",
    "stripewright-clock.service",
    "stripewright-schedule.service",
    "stripewright-textfile.service",
    "stripewright-watch.service",
)
SLICES = (
    "stripewright-apply.slice",
    "stripewright-bench.slice",
    "stripewright-plan.slice",
    r"system-stripewright\x2dbenchdir.slice",
    r"system-stripewright\x2dmetrics.slice",
    r"system-stripewright\x2dnotice.slice",
)
# The service manager's entries about our units can be told only by the unit they name, for which
# there is no match pattern: read all of its entries and keep ours. At most so many for one answer.
_MOST_LOOKED_AT = 20_000
_MANAGER_PID = 1
_INFO = 6
_MOST_FIELDS = 80
# Fields that come first in the sheet; those of systemd and the kernel (_…) come last.
_FIRST_FIELDS = ("MESSAGE", "PRIORITY", "UNIT", "_SYSTEMD_UNIT", "SYSLOG_IDENTIFIER")


class NoJournal(OperatorError):
    """There is no journal here, or nothing that could read one."""


def why_unreadable(
    folders: Sequence[Path] = _FOLDERS, machine_id: Path = _MACHINE_ID
) -> OperatorError | None:
    """Why the system's journal cannot be read by this user; ``None`` if it can.

    Who may not read it would otherwise see an empty one, or only what he wrote himself.
    """
    try:
        name = machine_id.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        name = ""
    files = [folder / name / "system.journal" for folder in folders] if name else []
    found = False
    for file in files:
        try:
            file.stat()
        except PermissionError:
            found = True
            continue
        except OSError:
            continue
        found = True
        if os.access(file, os.R_OK):
            return None
    if not found:
        return NoJournal("there is no systemd journal on this machine", "")
    return Refused(
        "this user may not read the system's journal",
        "members of group systemd-journal may; as root: usermod -aG systemd-journal NAME, "
        "then log in again",
    )


class SystemJournal:
    """The journal of our units; see :class:`tui.sources.journal.Reading`.

    ``folder`` is one with journal files, by default this machine's.
    """

    about = "the journal"
    notice = ""

    def __init__(self, folder: Path | None = None, *, boot_id: str = "") -> None:
        self._reader = _open(folder)
        self._boot_id = boot_id or liveness.boot_id().replace("-", "")
        self._oldest = self._newest = ""
        self._match()

    def close(self) -> None:
        self._reader.close()

    def latest(self, count: int) -> Sequence[Entry]:
        self._reader.seek_tail()
        found = self._back(count, this_boot=True)
        if found:
            self._oldest, self._newest = found[0].key, found[-1].key
        self._go_to_end()
        return found

    def older(self, count: int, *, this_boot: bool) -> Sequence[Entry]:
        if self._oldest:
            self._reader.seek_cursor(self._oldest)
            self._reader.get_next()
        else:
            self._reader.seek_tail()
        found = self._back(count, this_boot=this_boot)
        if found:
            self._oldest = found[0].key
            self._newest = self._newest or found[-1].key
        self._go_to_end()
        return found

    def newer(self, wait_seconds: float) -> Sequence[Entry]:
        found = self._forward()
        if not found:
            self._reader.wait(wait_seconds)
            found = self._forward()
        if found:
            self._newest = found[-1].key
            self._oldest = self._oldest or found[0].key
        return found

    def _match(self) -> None:
        """By what journald itself says of who wrote (fields with ``_``): anyone who may log can
        give himself any name.
        """
        reader = self._reader
        # Root's own commands, which run in none of our units.
        reader.add_match(f"SYSLOG_IDENTIFIER={_IDENTIFIER}")
        reader.add_match("_UID=0")
        for field, values in (("_SYSTEMD_UNIT", UNITS), ("_SYSTEMD_SLICE", SLICES)):
            reader.add_disjunction()
            for value in values:
                reader.add_match(f"{field}={value}")
        reader.add_disjunction()
        reader.add_match(f"_PID={_MANAGER_PID}")

    def _go_to_end(self) -> None:
        """To the newest entry that is known, behind which the next ones are."""
        if self._newest:
            self._reader.seek_cursor(self._newest)
            self._reader.get_next()
        else:
            self._reader.seek_tail()
            self._reader.get_previous()

    def _back(self, count: int, *, this_boot: bool) -> list[Entry]:
        found: list[Entry] = []
        for _ in range(_MOST_LOOKED_AT):
            fields = self._reader.get_previous()
            if not fields or len(found) >= count:
                break
            if this_boot and _text(fields.get("_BOOT_ID", "")) != self._boot_id:
                break
            if is_ours(fields):
                found.append(to_entry(fields))
        return found[::-1]

    def _forward(self) -> list[Entry]:
        found = []
        for _ in range(_MOST_LOOKED_AT):
            fields = self._reader.get_next()
            if not fields:
                break
            if is_ours(fields):
                found.append(to_entry(fields))
        return found


def detail(key: str, folder: Path | None = None) -> EntryDetail:
    """The entry at cursor ``key``; :class:`OperatorError` if it is no longer there."""
    reader = _open(folder)
    with contextlib.closing(reader):
        reader.seek_cursor(key)
        fields = reader.get_next()
        if not fields or not reader.test_cursor(key):
            raise OperatorError("this entry is no longer in the journal", "it was rotated away")
        try:
            explanation = str(reader.get_catalog())
        except (OSError, KeyError, ValueError):
            explanation = ""  # no text for this MESSAGE_ID, or an entry without one
    return EntryDetail(in_order(fields), explanation.strip())


def is_ours(fields: Mapping[str, Any]) -> bool:
    """Whether an entry that matched is about our units: the service manager logs about all."""
    if fields.get("_PID") != _MANAGER_PID:
        return True
    return _text(fields.get("UNIT", "")).startswith(_PREFIX)


def to_entry(fields: Mapping[str, Any]) -> Entry:
    """An entry of the fields that the journal has of it."""
    priority = fields.get("PRIORITY", _INFO)
    return Entry(
        key=_text(fields["__CURSOR"]),
        at=float(fields["__REALTIME_TIMESTAMP"]) / 1e6,
        priority=priority if isinstance(priority, int) else _INFO,
        unit=_text(
            fields.get("UNIT")
            or fields.get("_SYSTEMD_UNIT")
            or fields.get("SYSLOG_IDENTIFIER")
            or ""
        ),
        message=_text(fields.get("MESSAGE", "")),
        boot=_text(fields.get("_BOOT_ID", "")),
    )


def in_order(fields: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """All fields as texts: those that people look for first, those of systemd last."""

    def place(name: str) -> tuple[int, str]:
        if name in _FIRST_FIELDS:
            return _FIRST_FIELDS.index(name), name
        return len(_FIRST_FIELDS) + name.startswith("_") + name.startswith("__"), name

    names = sorted(fields, key=place)[:_MOST_FIELDS]
    return tuple((cut(name), _text(fields[name])) for name in names)


def _text(value: Any) -> str:  # noqa: ANN401 - whatever the library made of a field
    """A value as text: binary ones with escapes, those that are there twice side by side."""
    if isinstance(value, list):
        return cut(" | ".join(_text(one) for one in value[:10]))
    if isinstance(value, bytes):
        return cut(value[: 4 * 1024].decode("utf-8", "backslashreplace"))
    if hasattr(value, "hex") and not isinstance(value, float):
        return str(value.hex)
    return cut(str(value))


def _open(folder: Path | None) -> Any:  # noqa: ANN401 - the library has no types
    try:
        from systemd import journal
    except ImportError as error:
        raise NoJournal("systemd-python is not installed, so no journal can be read", "") from error
    # Times stay microseconds since the epoch, in no time zone.
    converters = {"__REALTIME_TIMESTAMP": lambda value: value}
    try:
        if folder is not None:
            return journal.Reader(path=str(folder), converters=converters)
        if (problem := why_unreadable()) is not None:
            raise problem
        return journal.Reader(journal.SYSTEM | journal.LOCAL_ONLY, converters=converters)
    except OSError as error:
        why = error.strerror or str(error)
        raise OperatorError(f"the journal cannot be opened: {why}", "") from error
