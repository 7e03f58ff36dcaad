"""What a unit's run tells beside the history: the figures so far of the job that it measures.

In memory and gone with the unit. The history has the result once the job is done; until then
this is all there is, and it is not judged.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from appliance import paths
from appliance.state import codec
from appliance.state.codec import bounded
from appliance.system import files

FILE_NAME = "live.json"
# More than both directions of a job; a file of another form is not read to its end.
_MAX_BYTES = 64 * 1024
_MAX_UNITS = 16
# Far above any count and any latency in nanoseconds, and still a number that can be drawn.
_MAX_NUMBER = 2**63
_PERCENTILE = r"\d{1,2}\.\d{6}|100\.000000"


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
    percentiles_ns: Mapping[str, int] = bounded(
        least=0, most=_MAX_NUMBER, max_items=64, keys=_PERCENTILE
    )


@dataclass(frozen=True, slots=True)
class _Document:
    jobs: tuple[LiveJob, ...] = bounded(least=0, most=_MAX_NUMBER, max_chars=80, max_items=4)


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
        """Replace the figures. A run does not fail because they cannot be written."""
        with contextlib.suppress(OSError):
            files.replace_json(self._path, {"jobs": [asdict(job) for job in jobs]})

    def remove(self) -> None:
        """The job has ended."""
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
        return files.read_bounded(path, _MAX_BYTES).decode(errors="replace")
    except OSError:
        return ""


def decode(text: str) -> tuple[LiveJob, ...]:
    """The jobs in ``text``; none at all if one of them is not of this form."""
    try:
        return codec.parse(_Document, text).jobs
    except codec.DecodeError:
        return ()
