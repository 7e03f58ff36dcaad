"""Kernel settings that the layout declares: what is set, what it was before, and back again.

Deciding is pure (:func:`plan_changes`); writing is a few lines. What was before is kept in
/run, which is gone after a reboot as the settings are. A setting that was changed
since by other means is left alone.

``rebuild_min`` (md's ``speed_limit_min``) holds while volumes are up and not only while one is
being rebuilt: a member that returns starts its rebuild in the kernel, of which we
hear nothing, and a floor does nothing while nothing is rebuilt.
"""

from __future__ import annotations

import os
import signal
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from appliance.errors import OperatorError
from appliance.model.plans import Tuning
from appliance.state import codec
from appliance.system import files, journal
from appliance.system.kernel import chosen


@dataclass(frozen=True, slots=True)
class Setting:
    """One kernel setting: ``before`` is what it was when we first touched it."""

    path: str
    value: str
    before: str


@dataclass(frozen=True, slots=True)
class _Record:
    settings: tuple[Setting, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """``write`` are (path, value) in order; ``record`` is what will be ours after that.

    ``taken`` are paths that were changed since by other means, and are no longer ours.
    """

    write: tuple[tuple[str, str], ...]
    record: tuple[Setting, ...]
    taken: tuple[str, ...] = ()


def declared(
    tuning: Tuning,
    members: Sequence[str],
    *,
    sys_root: Path = Path("/sys"),
    proc_root: Path = Path("/proc"),
) -> dict[str, str]:
    """Path -> value for everything ``tuning`` declares of ``members`` (kernel names)."""
    wanted: dict[str, str] = {}
    for name in members:
        queue = sys_root / "block" / name / "queue"
        if tuning.scheduler is not None:
            wanted[str(queue / "scheduler")] = tuning.scheduler
        if tuning.io_timeout_seconds is not None:
            wanted[str(queue / "io_timeout")] = str(tuning.io_timeout_seconds * 1000)
    if members and tuning.rebuild_min_bytes is not None:
        # proc_sys_dev: KiB a second and device.
        kib = tuning.rebuild_min_bytes // 1024
        wanted[str(proc_root / "sys/dev/raid/speed_limit_min")] = str(kib)
    return wanted


def plan_changes(
    wanted: Mapping[str, str], before: Sequence[Setting], read: Callable[[str], str | None]
) -> Changes:
    """What has to be written so that exactly ``wanted`` is set, and all else as it was.

    ``read`` gives a setting's present value, ``None`` where there is no such setting.
    """
    write: list[tuple[str, str]] = []
    record: list[Setting] = []
    taken: list[str] = []
    known = {setting.path: setting for setting in before}
    for path, value in wanted.items():
        now = read(path)
        if now is None:
            continue
        first = known[path].before if path in known else now
        if now != value:
            write.append((path, value))
        record.append(Setting(path, value, first))
    for setting in before:
        now = None if setting.path in wanted else read(setting.path)
        if now is None:
            continue
        if now != setting.value:
            taken.append(setting.path)
        elif now != setting.before:
            write.append((setting.path, setting.before))
    return Changes(tuple(write), tuple(record), tuple(taken))


def bring_about(wanted: Mapping[str, str], record: Path) -> list[str]:
    """Set exactly ``wanted`` and note in ``record`` what was before; returns what went wrong.

    With nothing wanted, everything is as before and the record is gone.
    """
    before = load(record)
    changes = plan_changes(wanted, before, _read)
    problems = [f"{path} was changed by other means and is left as it is" for path in changes.taken]
    if changes.record != tuple(before):
        # Before the first write: killed in between, it is still known what was before.
        _keep(record, changes.record + _undone(before, wanted))
    for path, value in changes.write:
        was = _read(path)
        try:
            Path(path).write_text(value)
        except OSError as error:
            problems.append(f"{path} cannot be set to {value}: {error.strerror}")
            continue
        journal.event(
            journal.Event.TUNING_SET,
            f"{path}: {was} -> {value}",
            path=path,
            before=was or "",
            value=value,
        )
    _keep(record, changes.record)
    return problems


def load(record: Path) -> tuple[Setting, ...]:
    """What is set at present and what it was before; empty if nothing is."""
    try:
        return codec.parse(_Record, record.read_bytes()).settings
    except (OSError, codec.DecodeError):
        return ()


def _undone(before: Sequence[Setting], wanted: Mapping[str, str]) -> tuple[Setting, ...]:
    return tuple(setting for setting in before if setting.path not in wanted)


def _keep(record: Path, settings: Sequence[Setting]) -> None:
    if not settings:
        record.unlink(missing_ok=True)
        return
    files.replace_json(record, asdict(_Record(tuple(settings))))


def _read(path: str) -> str | None:
    try:
        return chosen(Path(path).read_text())
    except OSError:
        return None


def announce_cpu_latency(tuning: Tuning, file: Path) -> None:
    """Leave the declared CPU latency where the benchmark's holder unit looks for it."""
    if tuning.cpu_latency_us is None:
        file.unlink(missing_ok=True)
    else:
        files.replace_text(file, f"{tuning.cpu_latency_us}\n")


# ------------------------------------------------------------------ the idle latency of the CPU


_DEVICE = Path("/dev/cpu_dma_latency")


def hold(file: Path) -> int:
    """Hold the latency that ``file`` asks for (µs) until SIGTERM or SIGINT."""
    try:
        wanted = int(file.read_text())
    except (OSError, ValueError) as error:
        raise OperatorError(
            f"no CPU latency is declared: {error}", "declare [tuning] cpu_latency in layout.toml"
        ) from error
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    descriptor = os.open(_DEVICE, os.O_RDWR | os.O_CLOEXEC)
    try:
        (before,) = struct.unpack("i", os.read(descriptor, 4))
        os.write(descriptor, struct.pack("i", wanted))
        journal.event(
            journal.Event.TUNING_SET,
            f"CPU latency: {before} -> {wanted} µs, while a suite runs",
            path=str(_DEVICE),
            before=before,
            value=wanted,
        )
        _ready()
        signal.sigwait(signals)
    finally:
        os.close(descriptor)
    return 0


def _ready() -> None:
    """Tell systemd that the limit holds: the suite starts after that."""
    if "NOTIFY_SOCKET" in os.environ:
        from systemd import daemon

        daemon.notify("READY=1")
