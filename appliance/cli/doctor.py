"""``stripewright doctor``: is everything there that the appliance needs, and is it well.

Each check is a fact, a verdict and what to do; nothing is changed. Missing storage tools
are a failure only where the boot unit is installed: on a laptop the benchmarks need fio alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from appliance import paths, text
from appliance.errors import EXIT_FAILED, EXIT_OK, OperatorError
from appliance.system import process, services

_STORAGE_TOOLS = (
    "mdadm", "lvm", "mkfs.xfs", "xfs_info", "xfs_growfs", "mkfs.ext4", "dumpe2fs", "resize2fs",
    "wipefs", "blkid", "mount", "umount", "udevadm",
)  # fmt: skip
_LVM_RULE = Path("/etc/udev/rules.d/69-lvm.rules")
_SPOOL_MODE = 0o1730
_SPOOL_HINT = "systemd-tmpfiles makes it: systemctl restart systemd-tmpfiles-setup.service"
# So many intervals without a look are no jitter any more.
_LATE_LOOKS = 3
_MDADM_CONF = Path("/etc/mdadm/mdadm.conf")


class Verdict(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. ``hint`` is empty when nothing needs to be done."""

    name: str
    verdict: Verdict
    found: str
    hint: str = ""


def main(db: Path, *, as_json: bool) -> int:
    """Print every check; 1 if one failed."""
    checks = examine(db=db)
    if as_json:
        print(json.dumps({"checks": [asdict(check) for check in checks]}, indent=2))
    else:
        marks = {Verdict.OK: "✓ ok", Verdict.WARN: "! warn", Verdict.FAIL: "✗ fail"}
        print(
            text.table(
                [("", "CHECK", "FOUND")] + [(marks[c.verdict], c.name, c.found) for c in checks]
            )
        )
        for check in checks:
            if check.hint:
                print(f"{check.name}: {text.printable(check.hint)}")
    return EXIT_FAILED if any(check.verdict is Verdict.FAIL for check in checks) else EXIT_OK


def examine(*, db: Path, mdadm_conf: Path = _MDADM_CONF) -> list[Check]:
    """Look at programs, units, configuration and history, in the order of a boot."""
    on_appliance = services.systemd_is_running() and services.is_installed(services.ASSEMBLE_UNIT)
    checks = [_fio(), *(_tool(name, required=on_appliance) for name in _STORAGE_TOOLS)]
    checks.append(_layout())
    if on_appliance:
        checks += [_auto_assembly(mdadm_conf), _auto_activation(), _spool()]
        checks += [_unit(services.ASSEMBLE_UNIT), _unit(services.WATCH_UNIT)]
        checks += [*_schedule(), *(_unit(name) for name in services.LISTENERS)]
        checks += [_last_end(name) for name in services.DRIFT_WORK]
        checks.append(_last_check(now=time.time()))
        checks += _host()
    checks.append(_history(db, required=on_appliance))
    return checks


def _fio() -> Check:
    try:
        version = process.run(["fio", "--version"], timeout_seconds=20).stdout.strip()
    except OperatorError as error:
        return Check("fio", Verdict.FAIL, error.message, error.hint)
    return Check("fio", Verdict.OK, version)


def _tool(name: str, *, required: bool) -> Check:
    found = process.find_program(name)
    if found:
        return Check(name, Verdict.OK, found)
    verdict = Verdict.FAIL if required else Verdict.WARN
    return Check(name, verdict, "not found", f"install the package that provides '{name}'")


def _layout() -> Check:
    from appliance.storage.policy.layout import load_layout

    try:
        layout = load_layout(paths.LAYOUT_FILE)
    except OperatorError as error:
        return Check("layout", Verdict.FAIL, error.message, error.hint)
    names = ", ".join(
        f"{volume.name} at {volume.mount}" if volume.mount else f"{volume.name}, no filesystem"
        for volume in layout.volumes
    )
    return Check("layout", Verdict.OK, f"{layout.source}: {names or 'no volumes'}")


def _auto_assembly(conf: Path) -> Check:
    try:
        lines = [line.split("#")[0].split() for line in conf.read_text().splitlines()]
    except OSError as error:
        return Check("md auto-assembly", Verdict.FAIL, str(error), "it must contain: AUTO -all")
    if ["AUTO", "-all"] in lines:
        return Check("md auto-assembly", Verdict.OK, f"off ({conf})")
    return Check(
        "md auto-assembly",
        Verdict.FAIL,
        f"{conf} does not switch it off",
        "arrays could come up under a name nobody chose: add the line 'AUTO -all'",
    )


def _auto_activation(rule: Path = _LVM_RULE) -> Check:
    """LVM's rule activates groups on its own; the image masks it by an empty one of that name."""
    if rule.exists() and rule.stat().st_size == 0:
        return Check("LVM auto-activation", Verdict.OK, f"off ({rule})")
    return Check(
        "LVM auto-activation",
        Verdict.WARN,
        f"{rule} does not switch it off",
        "our groups are made without auto-activation, but foreign ones come up: mask that rule",
    )


def _spool(spool: Path = paths.SPOOL_DIR) -> Check:
    """Requests of operators go here; whoever else could write there could ask, too."""
    try:
        status = spool.lstat()
    except OSError as error:
        return Check("requests", Verdict.FAIL, f"{spool}: {error.strerror}", _SPOOL_HINT)
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != 0 or mode != _SPOOL_MODE:
        found = f"{spool} belongs to user {status.st_uid}, mode {mode:04o}"
        return Check("requests", Verdict.FAIL, found, _SPOOL_HINT)
    return Check("requests", Verdict.OK, f"{spool}")


def _unit(name: str) -> Check:
    try:
        state = services.unit_state(name)
    except OperatorError as error:
        return Check(name, Verdict.FAIL, error.message, error.hint)
    found = f"{state.active} ({state.sub})"
    if state.active == "active":
        return Check(name, Verdict.OK, found)
    verdict = Verdict.FAIL if state.active == "failed" else Verdict.WARN
    return Check(name, verdict, found, f"look at: systemctl status {name}")


def _schedule() -> list[Check]:
    """The schedule, and every timer that it or the image has."""
    from appliance.bench import timetable
    from appliance.bench.timetable_file import read_schedule
    from appliance.client.machine_status import schedule_problem

    try:
        declared = read_schedule(paths.SCHEDULE_FILE)
    except OperatorError as error:
        broken = Check("schedule", Verdict.FAIL, error.message, error.hint)
        return [broken, *(_unit(name) for name in timetable.timers(timetable.Schedule()))]
    problem = schedule_problem()
    where = str(paths.SCHEDULE_FILE) if paths.SCHEDULE_FILE.exists() else "built in"
    first = Check("schedule", Verdict.OK, where)
    if problem:
        hint = "look at: systemctl status stripewright-schedule.service"
        first = Check("schedule", Verdict.FAIL, f"not in effect: {problem}", hint)
    return [
        first,
        *(
            _unit(name) if runs else Check(name, Verdict.OK, "off, by the schedule")
            for name, runs in timetable.timers(declared).items()
        ),
    ]


def _last_end(name: str) -> Check:
    """A unit that runs now and then: how it ended."""
    try:
        state = services.unit_state(name)
    except OperatorError as error:
        return Check(name, Verdict.FAIL, error.message, error.hint)
    if state.active == "failed":
        return Check(name, Verdict.FAIL, f"failed ({state.result})", f"journalctl -b -u {name}")
    return Check(name, Verdict.OK, f"{state.active} ({state.sub})")


def _last_check(*, now: float) -> Check:
    """When drift was looked for last: every few minutes, whatever the timer says of itself."""
    from appliance.bench import timetable
    from appliance.bench.timetable_file import read_schedule
    from appliance.drift import check_cache

    minutes: int | None = None
    with contextlib.suppress(OperatorError):
        minutes = read_schedule(paths.SCHEDULE_FILE).drift_minutes
    at = check_cache.load(paths.DRIFT_RUN_DIR).at
    hint = f"look at: systemctl status {services.DRIFT_TIMER}"
    if not at:
        return Check("last look for drift", Verdict.WARN, "none since boot", hint)
    if at > now:
        found = "none since the clock was put back"
        return Check("last look for drift", Verdict.WARN, found, hint)
    found = f"{text.duration(now - at)} ago"
    late = now - at > _LATE_LOOKS * 60 * (minutes or timetable.DEFAULT_DRIFT_MINUTES)
    return Check(
        "last look for drift",
        Verdict.FAIL if late else Verdict.OK,
        found,
        hint if late else "",
    )


def _host() -> list[Check]:
    """The appliance's own disk, /run, the clock and how the last boot ended."""
    from appliance.drift import host, hostlook
    from appliance.model import DriftSeverity

    found = [
        Check(
            one.code,
            Verdict.FAIL if one.severity is DriftSeverity.CRITICAL else Verdict.WARN,
            one.summary,
            one.next_step,
        )
        for one in host.judge(hostlook.look())
    ]
    return found or [Check("host", Verdict.OK, "room to write, clock and last shutdown")]


def _history(db: Path, *, required: bool) -> Check:
    from appliance.history import queries

    try:
        with queries.open_readonly(db) as reader:
            epoch = reader.current_epoch()
    except OperatorError as error:
        verdict = Verdict.FAIL if required else Verdict.WARN
        return Check("history", verdict, error.message, error.hint)
    usage = os.statvfs(db.parent)
    free_bytes = usage.f_bavail * usage.f_frsize
    found = f"{db}: epoch {epoch.id if epoch else 'none yet'}, {text.size(free_bytes)} free"
    if free_bytes < 64 * 1024 * 1024:
        return Check("history", Verdict.WARN, found, f"make room on the file system of {db}")
    return Check("history", Verdict.OK, found)
