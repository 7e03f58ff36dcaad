"""What a unit's run tells beside the history: the figures so far of the job that it measures.

In memory and gone with the unit. The history has the result once the job is done; until then
this is all there is, and whoever reads it takes it for what it is: not judged.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.system import files

FILE_NAME = "live.json"
# More than both directions of a job; a file of another form is not read to its end.
_MAX_BYTES = 64 * 1024
_MAX_UNITS = 16
_MAX_JOBS = 4
_MAX_PERCENTILES = 64
_MAX_TEXT = 80
# Far above any count and any latency in nanoseconds, and still a number that can be drawn.
_MAX_NUMBER = 2**63
_PERCENTILE = re.compile(r"\d{1,3}\.\d{6}", re.ASCII)


@dataclass(frozen=True, slots=True)
class LiveJob:
    """One direction of the job that run ``run_id`` measures, from its beginning until ``at``.

    ``at`` is in seconds since the epoch (UTC), ``elapsed_seconds`` fio's own run time until then.
    ``member`` is the one disk that is measured, empty for the stripe. ``percentiles_ns`` has the
    keys of JobResult, and the latency is the same: from submission to completion.
    """

    run_id: int
    suite: str
    job: str
    direction: str
    pass_index: int
    member: str
    at: float
    elapsed_seconds: float
    ios: int
    iops: float
    latency_mean_ns: float
    percentiles_ns: Mapping[str, int]


class LiveFile:
    """The file of this run, in the runtime directory of the unit that it runs in."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME

    @staticmethod
    def of_unit(environment: Mapping[str, str] = os.environ) -> LiveFile | None:
        """The file in the directory that systemd made for this unit (``RuntimeDirectory=``);
        ``None`` where there is none.
        """
        folder = environment.get("RUNTIME_DIRECTORY", "")
        return LiveFile(Path(folder)) if folder else None

    def tell(self, jobs: Sequence[LiveJob]) -> None:
        """Replace what is told. A run does not fail because nobody can be told of it."""
        with contextlib.suppress(OSError):
            files.replace_json(self._path, {"jobs": [asdict(job) for job in jobs]})

    def remove(self) -> None:
        """There is nothing to tell any more."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)


def read_live(folder: Path = paths.LIVE_DIR) -> tuple[LiveJob, ...]:
    """What all runs tell now, by run. Never raises: what is missing or odd is left out."""
    found: list[LiveJob] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in itertools.islice(entries, _MAX_UNITS):
            found += decode(_read(Path(entry.path) / FILE_NAME))
    return tuple(sorted(found, key=lambda job: (job.run_id, job.direction)))


def _read(path: Path) -> str:
    try:
        # Through no link, and non-blocking: a pipe in the file's place cannot hold us up.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(path, flags)
        with os.fdopen(descriptor, "rb") as file:
            content = b""
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                content = file.read(_MAX_BYTES + 1)
    except OSError:
        return ""
    return content.decode(errors="replace") if len(content) <= _MAX_BYTES else ""


def decode(text: str) -> tuple[LiveJob, ...]:
    """The jobs in ``text``; none at all if one of them is not of this form."""
    try:
        jobs = json.loads(text)["jobs"]
        if not isinstance(jobs, list) or len(jobs) > _MAX_JOBS:
            return ()
        return tuple(_job(one) for one in jobs)
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()


def _job(found: dict[str, Any]) -> LiveJob:
    """:class:`ValueError`, :class:`KeyError` or :class:`TypeError` for what is none."""
    percentiles = found["percentiles_ns"]
    if not isinstance(percentiles, dict) or len(percentiles) > _MAX_PERCENTILES:
        raise ValueError
    if not all(_PERCENTILE.fullmatch(key) and float(key) <= 100 for key in percentiles):
        raise ValueError
    return LiveJob(
        run_id=_whole(found["run_id"]),
        suite=_text(found["suite"]),
        job=_text(found["job"]),
        direction=_text(found["direction"]),
        pass_index=_whole(found["pass_index"]),
        member=_text(found["member"]),
        at=_number(found["at"]),
        elapsed_seconds=_number(found["elapsed_seconds"]),
        ios=_whole(found["ios"]),
        iops=_number(found["iops"]),
        latency_mean_ns=_number(found["latency_mean_ns"]),
        percentiles_ns={key: _whole(value) for key, value in percentiles.items()},
    )


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        raise ValueError
    return value


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_NUMBER:
        raise ValueError
    return value


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError
    # No NaN and no infinity is within.
    if not 0 <= value <= _MAX_NUMBER:
        raise ValueError
    return float(value)
