"""Running a suite: check, prepare, measure job by job, judge, and keep everything.

One thread does all of it and writes history; the sampler's thread only fills a list. A
run can end in five ways, and each is a row: complete, skipped (not started, with the
reason), aborted (SIGINT, SIGTERM, SIGHUP, or found dead by the next one), failed, and running.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from appliance.bench import cleanup, fingerprint, fio_process
from appliance.bench import raw_device as rawdevice
from appliance.bench.directory import absolute_target, private_directory
from appliance.bench.idle_check import Patience
from appliance.bench.progress import Progress
from appliance.bench.run import Run
from appliance.bench.signals import StopSignals
from appliance.bench.target import FILESYSTEM, RAW_READ, RAW_WRITE, Files, Place, Raw
from appliance.clouds.machine import read_machine
from appliance.errors import OperatorError, Refused, UsageError
from appliance.history.store import History
from appliance.model import RunState, Suite

default_target = fingerprint.default_target
target_on = fingerprint.target_on


@dataclass(frozen=True, slots=True)
class Target:
    """What the operator named. ``kind`` is as in RunRecord.target_kind; ``serial`` is what was
    typed for a device to overwrite. ``members``: measure each disk of the stripe alone, too.
    """

    path: Path | str
    kind: str = FILESYSTEM
    serial: str = ""
    members: bool = False


def run_suite(
    suite: Suite,
    *,
    target: Target | Path | str,
    db: Path,
    time_factor: float = 1.0,
    on_progress: Callable[[Progress], None] = lambda _: None,
    patience: Patience | None = None,
    wait_seconds: float = 0.0,
) -> int:
    """Run ``suite`` on ``target`` (a path alone is a directory) and keep it in ``db``.

    Returns the run's id; its row says how it ended. ``time_factor`` multiplies every job's
    run time. ``on_progress`` is called about once a second. ``wait_seconds`` is how long another
    run in the same directory is waited for before this one is refused. Raises
    :class:`ProgramMissing` without fio, :class:`UsageError` for a target that is none,
    :class:`Refused` for one that is in use, has no space or must not be written, and
    :class:`OperatorError` for a failure. What was refused is a row, too.
    """
    if not 0 < time_factor <= 1000:
        raise UsageError(
            f"time factor {time_factor:g} is not usable", "give a number above 0, up to 1000"
        )
    wanted = target if isinstance(target, Target) else Target(target)
    path = absolute_target(wanted.path)
    version = fio_process.find_fio()
    try:
        with (
            _opened(wanted, path, suite, wait_seconds) as place,
            History.open_writable(db) as history,
            StopSignals() as signals,
        ):
            cleanup.clean(history, held=place.path if isinstance(place, Files) else None)
            if isinstance(place, Files):
                place.private.require_direct_io()
            run = Run(
                suite,
                place=place,
                history=history,
                signals=signals,
                fio_version=version,
                time_factor=time_factor,
                on_progress=on_progress,
                members=wanted.members,
            )
            run.to_its_end(patience or Patience())
            return run.id
    except _NotOpenedError as refused:
        with contextlib.suppress(OperatorError), History.open_writable(db) as history:
            # A row with the reason, so that a run that did not happen is not merely missing.
            run_id = history.begin_run(
                suite,
                target=str(path),
                device="",
                members=(),
                machine_type=read_machine().machine_type,
                fio_version=version,
                time_factor=time_factor,
                target_kind=wanted.kind,
            )
            history.finish_run(run_id, RunState.SKIPPED, refused.why.message)
        raise refused.why from refused


def reap(db: Path) -> int:
    """Mark the runs whose process is gone as aborted; how many it were.

    The files of these, and of those that another opening marked before, are removed.
    """
    with History.open_writable(db) as history:
        cleanup.clean(history)
        return len(history.reaped)


class _NotOpenedError(Exception):
    """The target was refused before there was a run."""

    def __init__(self, why: Refused) -> None:
        super().__init__(why.message)
        self.why = why


@contextlib.contextmanager
def _opened(target: Target, path: Path, suite: Suite, wait_seconds: float) -> Iterator[Place]:
    """The place that ``target`` names, held until the end. Raises :class:`_NotOpenedError`
    instead of :class:`Refused`.
    """
    with contextlib.ExitStack() as stack:
        place: Place
        try:
            if target.kind == RAW_READ:
                place = Raw.of(stack.enter_context(rawdevice.open_to_read(path)))
            elif target.kind == RAW_WRITE:
                place = Raw.of(
                    stack.enter_context(rawdevice.open_to_overwrite(path, target.serial))
                )
            else:
                private = private_directory(path, wait_seconds=wait_seconds)
                place = Files.of(stack.enter_context(private), suite)
        except Refused as refused:
            raise _NotOpenedError(refused) from refused
        yield place
