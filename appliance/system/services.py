"""systemd, as the operator may use it: look at units, start and stop the fixed ones.

``systemctl`` talks to systemd over D-Bus and polkit decides (units/polkit); nothing here
asks for a password or gains a privilege.
"""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass
from pathlib import Path

from appliance.errors import CommandFailed, OperatorError, Refused
from appliance.system import process

_TIMEOUT_SECONDS = 20.0
# On a slow machine systemd runs its generators for a while, and a mount may wait for that.
_RELOAD_SECONDS = 600.0
# Another executor may be at work for as long as a plan takes.
_LOOK_SECONDS = 7200.0
# Root's look takes a second; a run does not wait for one that hangs.
_ROOTS_LOOK_SECONDS = 30.0
_UNIT_FOLDERS = (Path("/etc/systemd/system"), Path("/usr/lib/systemd/system"))
BENCH_UNIT = "stripewright-bench@{suite}.service"
BENCH_TIMER = "stripewright-bench@{suite}.timer"
ASSEMBLE_UNIT = "stripewright-assemble.service"
WATCH_UNIT = "stripewright-watch.service"
CPU_LATENCY_UNIT = "stripewright-cpu-latency.service"
TARGET = "stripewright.target"
PLAN_UNIT = "stripewright-plan@{request}.service"
APPLY_UNIT = "stripewright-apply@{digest}.service"
INITIALISE_UNIT = "stripewright-initialise@{volume}.service"
BENCHDIR_UNIT = "stripewright-benchdir@{volume}.service"
PLAN_TEMPLATE = PLAN_UNIT.format(request="")
APPLY_TEMPLATE = APPLY_UNIT.format(digest="")
DRIFT_UNIT = "stripewright-drift.service"
LOOK_UNIT = "stripewright-look.service"
DRIFT_TIMER = "stripewright-drift.timer"
CONFIRM_UNIT = "stripewright-confirm.service"
CLOCK_TIMER = "stripewright-clock.timer"
# What has to wait for something all the time, whatever is scheduled.
LISTENERS = ("stripewright-confirm.path", "stripewright-schedule.path", CLOCK_TIMER)
DRIFT_WORK = (
    LOOK_UNIT,
    DRIFT_UNIT,
    CONFIRM_UNIT,
    "stripewright-schedule.service",
    BENCH_UNIT.format(suite="smoke"),
    BENCH_UNIT.format(suite="full"),
)
SCHEDULE_UNIT = "stripewright-schedule@{request}.service"
SCHEDULE_TEMPLATE = SCHEDULE_UNIT.format(request="")


@dataclass(frozen=True, slots=True)
class UnitState:
    """``ActiveState``, ``SubState`` and ``Result`` of a unit (org.freedesktop.systemd1);
    ``queued`` says that it has a ``Job``.
    """

    name: str
    active: str
    sub: str
    result: str
    queued: bool = False

    @property
    def busy(self) -> bool:
        """Running, or on its way there: one whose job waits for another is still ``inactive``."""
        return self.queued or self.active in {"active", "activating", "reloading", "deactivating"}


def bench_unit(suite: str, volume: str = "") -> str:
    """The unit that runs ``suite`` on the mounted volume ``volume``, or on the first one."""
    return BENCH_UNIT.format(suite=f"{suite}:{volume}" if volume else suite)


def systemd_is_running() -> bool:
    """Whether systemd is the service manager here (``sd_booted(3)``)."""
    return Path("/run/systemd/system").is_dir()


def is_installed(unit: str) -> bool:
    """Whether there is a file for ``unit``: on the appliance, and not on a laptop."""
    return any((folder / unit).exists() for folder in _UNIT_FOLDERS)


def unit_state(name: str) -> UnitState:
    """State of unit ``name``; a unit that does not exist is ``inactive``."""
    shown = _show(name, "ActiveState,SubState,Result,Job")
    return UnitState(
        name,
        shown.get("ActiveState", "inactive"),
        shown.get("SubState", "dead"),
        shown.get("Result", ""),
        # A number while there is a job; the line is missing, or has a zero, otherwise.
        queued=shown.get("Job", "") not in {"", "0"},
    )


def unit_of_process(pid: int, proc: Path = Path("/proc")) -> str:
    """The service that process ``pid`` runs in, by its control group (cgroups(7)); empty for
    none, as in a login shell, and for a process that has gone.
    """
    try:
        groups = (proc / str(pid) / "cgroup").read_text(errors="replace").split("\n")
    except OSError:
        return ""
    # Line "0::PATH" is the one hierarchy of version 2, which systemd keeps its units in.
    path = next((line[3:] for line in groups if line.startswith("0::")), "")
    name = path.rpartition("/")[2]
    return name if name.endswith(".service") else ""


def next_elapse(timer: str) -> float | None:
    """When ``timer`` fires next, in seconds since the epoch, or ``None``.

    ``list-timers`` as JSON has microseconds; ``show`` prints this one property as local time.
    """
    argv = ["systemctl", "list-timers", "--all", "--output=json", "--", timer]
    rows = json.loads(process.run(argv, timeout_seconds=_TIMEOUT_SECONDS).stdout or "[]")
    for row in rows:
        if row.get("unit") == timer and isinstance(row.get("next"), int) and row["next"] > 0:
            return float(row["next"]) / 1e6
    return None


def start_unit(name: str) -> None:
    """Ask systemd to start ``name`` and return once the job is queued.

    Raises :class:`Refused` if polkit does not allow it.
    """
    _ask("start", name)


def stop_unit(name: str) -> None:
    """Ask systemd to stop ``name``; see :func:`start_unit`."""
    _ask("stop", name)


def restart_unit(name: str) -> None:
    """Ask systemd to stop and start ``name``; see :func:`start_unit`."""
    _ask("restart", name)


def restart_if_active(name: str) -> None:
    """Ask systemd to stop and start ``name`` if it is active; see :func:`start_unit`."""
    _ask("try-restart", name)


def start_and_wait(name: str) -> None:
    """Start the oneshot unit ``name`` and return when it is done; see :func:`start_unit`."""
    _ask("start", name, wait_seconds=_LOOK_SECONDS)


def look_again() -> None:
    """Have the boot unit look at the disks again: reload it if it is up, else start it.

    Returns when it has looked, so that two looks never cut each other off.
    """
    argv = ["systemctl", "--no-ask-password", "reload-or-restart", "--", ASSEMBLE_UNIT]
    process.run(argv, timeout_seconds=_LOOK_SECONDS, check=False)


def have_root_look() -> None:
    """Have root look at the disks (seen.json), and return when that is done; see
    :func:`start_unit`.
    """
    _ask("start", LOOK_UNIT, wait_seconds=_ROOTS_LOOK_SECONDS)


def check_drift() -> None:
    """Have drift looked for, and return when that is done.

    A look that is at work may have passed by what the caller has in mind: another follows it.
    """
    argv = ["systemctl", "--no-ask-password", "start", "--", DRIFT_UNIT]
    # Findings and failures are reported by themselves; without an answer the caller goes on.
    with contextlib.suppress(OperatorError):
        looks = 2 if unit_state(DRIFT_UNIT).busy else 1
        for _ in range(looks):
            process.run(argv, timeout_seconds=_LOOK_SECONDS, check=False)


def reload_manager() -> None:
    """Make systemd read its unit files again; root."""
    process.run(["systemctl", "daemon-reload"], timeout_seconds=_RELOAD_SECONDS)


def mount_of(name: str) -> tuple[str, str]:
    """Device and type that the mount unit ``name`` says, with all its drop-ins, as they are now."""
    shown = _show(name, "What,Type,NeedDaemonReload")
    if shown.get("NeedDaemonReload") == "yes":
        # A reload that failed earlier.
        reload_manager()
        shown = _show(name, "What,Type")
    return shown.get("What", ""), shown.get("Type", "")


def start_mount(name: str, *, timeout_seconds: float) -> None:
    """Have systemd mount the unit ``name``, and return when that is done; root."""
    _at_once("start", name, "mount", timeout_seconds)


def stop_mount(name: str, *, timeout_seconds: float) -> None:
    """Have systemd unmount the unit ``name``, and nothing else; root."""
    _at_once("stop", name, "umount", timeout_seconds)


def _at_once(verb: str, name: str, program: str, timeout_seconds: float) -> None:
    """Not in the order of units: a mount unit comes after the boot unit, which may be the one that
    asks. What needs the mount is neither started nor stopped with it.
    """
    argv = ["systemctl", "--no-ask-password", "--job-mode=ignore-dependencies", verb, "--", name]
    began = time.time()
    try:
        process.run(argv, timeout_seconds=timeout_seconds)
    except CommandFailed as error:
        # The reason is what ``program`` said, in the journal of the unit.
        said = _last_words(name, program, began) or error.output
        raise CommandFailed(argv, error.returncode, said, f"see 'journalctl -u {name}'") from error


def _last_words(name: str, program: str, since: float) -> str:
    argv = ["journalctl", f"--unit={name}", f"--identifier={program}", f"--since=@{int(since)}"]
    argv += ["--output=cat", "--lines=5", "--quiet", "--no-pager"]
    try:
        return process.run(argv, timeout_seconds=_TIMEOUT_SECONDS).stdout
    except OperatorError:
        return ""


def _show(name: str, properties: str) -> dict[str, str]:
    done = process.run(
        ["systemctl", "show", f"--property={properties}", "--", name],
        timeout_seconds=_TIMEOUT_SECONDS,
    )
    return dict(line.split("=", 1) for line in done.stdout.split("\n") if "=" in line)


def _ask(verb: str, name: str, *, wait_seconds: float = 0.0) -> None:
    block = () if wait_seconds else ("--no-block",)
    argv = ["systemctl", "--no-ask-password", *block, verb, "--", name]
    try:
        process.run(argv, timeout_seconds=wait_seconds or _TIMEOUT_SECONDS)
    except CommandFailed as error:
        said = error.output
        if "authentication required" in said or "Access denied" in said:
            raise Refused(
                f"not allowed to {verb} {name}",
                "only members of group stripewright-operators may; after many starts in a row, wait"
                " 3 s",
            ) from error
        raise OperatorError(
            f"could not {verb} {name}: {error.message}", f"look at: systemctl status {name}"
        ) from error
