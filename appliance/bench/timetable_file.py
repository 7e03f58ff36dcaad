"""The installed schedule, and files that are to become one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from appliance import paths
from appliance.bench import timetable
from appliance.bench.suite import suite_names
from appliance.bench.timetable import Schedule
from appliance.errors import OperatorError, UsageError


def read_schedule(path: Path = paths.SCHEDULE_FILE) -> Schedule:
    """The installed schedule; an empty one without a file. Raises :class:`UsageError`."""
    if not path.exists():
        return Schedule()
    return timetable.parse_schedule(read_text(path), str(path), suite_names())


def read_text(path: Path) -> str:
    """The text of a schedule file, as far as it may be long. Raises :class:`UsageError`."""
    try:
        # Without waiting, so that a pipe in its place cannot hold anybody up.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return decoded(file.read(timetable.MAX_BYTES + 1), str(path))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", "give a file that can be read") from error


def decoded(raw: bytes, source: str) -> str:
    """``raw`` as text; ``source`` is named in the :class:`UsageError` of what is none."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{source}: not UTF-8 text (byte {error.start})", "write the schedule as UTF-8 TOML"
        ) from error


def planned_gaps() -> Mapping[str, float | None]:
    """What the schedule leaves between two runs; one that is refused is not in effect."""
    from appliance.bench.timetable import Schedule, gaps_seconds

    try:
        return gaps_seconds(read_schedule())
    except OperatorError:
        return gaps_seconds(Schedule())
