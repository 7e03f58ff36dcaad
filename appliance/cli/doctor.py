"""``stripewright doctor``: is everything there that the appliance needs, and is it well.

Each check is a fact, a verdict and what to do; nothing is changed. Missing storage tools
are a failure only where the boot unit is installed: on a laptop the benchmarks need fio alone.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from argparse import ArgumentParser
from pathlib import Path

from appliance import paths, text
from appliance.cli.command import Command
from appliance.cli.output import Check, Verdict, print_json
from appliance.errors import EXIT_FAILED, EXIT_OK, OperatorError

# Besides those of each filesystem.
_STORAGE_TOOLS = ("mdadm", "lvm", "wipefs", "blkid", "mount", "umount", "udevadm")
_LVM_RULE = Path("/etc/udev/rules.d/69-lvm.rules")
_SPOOL_MODE = 0o1730
_SPOOL_HINT = "systemd-tmpfiles creates it: systemctl restart systemd-tmpfiles-setup.service"
# This many intervals without a check are more than jitter.
_LATE_LOOKS = 3
_MDADM_CONF = Path("/etc/mdadm/mdadm.conf")
_LEAST_FREE_BYTES = 64 * 1024 * 1024
_MARKS = {Verdict.OK: "✓", Verdict.WARN: "!", Verdict.FAIL: "✗", Verdict.UNKNOWN: "?"}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--cloud",
        action="store_true",
        help="what only a real cloud shows, as a report to attach to an issue",
    )


def doctor(*, db: Path, cloud: bool, as_json: bool) -> int:
    """Print every check; 1 if one failed."""
    from appliance.cli import doctor_cloud

    checks = doctor_cloud.examine(db=db) if cloud else examine(db=db)
    if as_json:
        print_json({"checks": [check._asdict() for check in checks]})
    else:
        rows = [(f"{_MARKS[one.verdict]} {one.verdict}", one.name, one.found) for one in checks]
        print(text.table([("", "CHECK", "FOUND"), *rows], fold=cloud))
        for check in checks:
            if check.hint:
                print(f"{check.name}: {text.printable(check.hint)}")
    return EXIT_FAILED if any(check.verdict is Verdict.FAIL for check in checks) else EXIT_OK


def examine(*, db: Path, mdadm_conf: Path = _MDADM_CONF) -> list[Check]:
    """Look at programs, units, configuration and history, in the order of a boot."""
    from appliance.storage.formats import filesystem
    from appliance.system import services

    on_appliance = services.systemd_is_running() and services.is_installed(services.ASSEMBLE_UNIT)
    tools = (*_STORAGE_TOOLS, *filesystem.programs())
    checks = [_fio(), *(_tool(name, required=on_appliance) for name in tools)]
    checks.append(_layout())
    if on_appliance:
        checks += [_auto_assembly(mdadm_conf), _auto_activation(), _spool()]
        checks += map(_unit, (services.ASSEMBLE_UNIT, services.WATCH_UNIT))
        checks += [*_schedule(), *map(_unit, services.LISTENERS)]
        checks += [_unit(name, runs=False) for name in services.DRIFT_WORK]
        checks += [_last_check(now=time.time()), *_host()]
    checks.append(_history(db, required=on_appliance))
    return checks


def _failed(name: str, error: OperatorError, verdict: Verdict = Verdict.FAIL) -> Check:
    return Check(name, verdict, error.message, error.hint)


def _fio() -> Check:
    from appliance.system import process

    try:
        version = process.run(["fio", "--version"], timeout_seconds=20).stdout.strip()
    except OperatorError as error:
        return _failed("fio", error)
    return Check("fio", Verdict.OK, version)


def _tool(name: str, *, required: bool) -> Check:
    from appliance.system import process

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
        return _failed("layout", error)
    names = ", ".join(
        f"{volume.name} at {volume.mount}" if volume.mount else f"{volume.name}, no filesystem"
        for volume in layout.volumes
    )
    return Check("layout", Verdict.OK, f"{layout.source}: {names or 'no volumes'}")


def _auto_assembly(conf: Path) -> Check:
    name = "md auto-assembly"
    try:
        lines = [line.split("#")[0].split() for line in conf.read_text().splitlines()]
    except OSError as error:
        return Check(name, Verdict.FAIL, str(error), "it must contain: AUTO -all")
    if ["AUTO", "-all"] in lines:
        return Check(name, Verdict.OK, f"off ({conf})")
    hint = "arrays could come up under an unexpected name: add the line 'AUTO -all'"
    return Check(name, Verdict.FAIL, f"{conf} does not switch it off", hint)


def _auto_activation(rule: Path = _LVM_RULE) -> Check:
    """LVM's rule activates groups on its own; the image masks it by an empty one of that name."""
    name = "LVM auto-activation"
    if rule.exists() and rule.stat().st_size == 0:
        return Check(name, Verdict.OK, f"off ({rule})")
    hint = "groups of ours are made without auto-activation, but others come up: mask that rule"
    return Check(name, Verdict.WARN, f"{rule} does not switch it off", hint)


def _spool(spool: Path = paths.SPOOL_DIR) -> Check:
    """Requests of operators go here; any other user who could write here could ask, too."""
    try:
        status = spool.lstat()
    except OSError as error:
        return Check("requests", Verdict.FAIL, f"{spool}: {error.strerror}", _SPOOL_HINT)
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != 0 or mode != _SPOOL_MODE:
        found = f"{spool} belongs to user {status.st_uid}, mode {mode:04o}"
        return Check("requests", Verdict.FAIL, found, _SPOOL_HINT)
    return Check("requests", Verdict.OK, f"{spool}")


def _unit(name: str, *, runs: bool = True) -> Check:
    """A unit that ``runs`` all the time, or now and then: how it ended."""
    from appliance.system import services

    try:
        state = services.unit_state(name)
    except OperatorError as error:
        return _failed(name, error)
    found = f"{state.active} ({state.sub})"
    if state.active == "failed" and not runs:
        return Check(name, Verdict.FAIL, f"failed ({state.result})", f"journalctl -b -u {name}")
    if state.active == "active" or not runs:
        return Check(name, Verdict.OK, found)
    verdict = Verdict.FAIL if state.active == "failed" else Verdict.WARN
    return Check(name, verdict, found, f"look at: systemctl status {name}")


def _schedule() -> list[Check]:
    """The schedule, and every timer that it or the image has."""
    from appliance.bench import timetable
    from appliance.bench.timetable import read_schedule
    from appliance.client.machine_status import schedule_problem

    try:
        declared = read_schedule(paths.SCHEDULE_FILE)
    except OperatorError as error:
        timers = timetable.timers(timetable.Schedule())
        return [_failed("schedule", error), *map(_unit, timers)]
    first = Check(
        "schedule",
        Verdict.OK,
        str(paths.SCHEDULE_FILE) if paths.SCHEDULE_FILE.exists() else "built in",
    )
    if problem := schedule_problem():
        hint = "look at: systemctl status stripewright-schedule.service"
        first = Check("schedule", Verdict.FAIL, f"not in effect: {problem}", hint)
    return [
        first,
        *(
            _unit(name) if runs else Check(name, Verdict.OK, "off, by the schedule")
            for name, runs in timetable.timers(declared).items()
        ),
    ]


def _last_check(*, now: float) -> Check:
    """When drift was looked for last: every few minutes, whatever the timer says of itself."""
    from appliance.bench import timetable
    from appliance.bench.timetable import read_schedule
    from appliance.drift import check_summary
    from appliance.system import services

    name, hint = "last look for drift", f"look at: systemctl status {services.DRIFT_TIMER}"
    minutes: int | None = None
    with contextlib.suppress(OperatorError):
        minutes = read_schedule(paths.SCHEDULE_FILE).drift_minutes
    at = check_summary.load(paths.DRIFT_RUN_DIR).at
    if not at:
        return Check(name, Verdict.WARN, "none since boot", hint)
    if at > now:
        return Check(name, Verdict.WARN, "none since the clock was put back", hint)
    found = f"{text.duration(now - at)} ago"
    if now - at > _LATE_LOOKS * 60 * (minutes or timetable.DEFAULT_DRIFT_MINUTES):
        return Check(name, Verdict.FAIL, found, hint)
    return Check(name, Verdict.OK, found)


def _host() -> list[Check]:
    """The appliance's own disk, /run, the clock and how the last boot ended."""
    from appliance.drift.looks import hostlook
    from appliance.drift.rules import host_rules
    from appliance.model.findings import DriftSeverity

    found = [
        Check(
            one.code,
            Verdict.FAIL if one.severity is DriftSeverity.CRITICAL else Verdict.WARN,
            one.summary,
            one.next_step,
        )
        for one in host_rules.judge(hostlook.look())
    ]
    return found or [Check("host", Verdict.OK, "room to write, clock and last shutdown")]


def _history(db: Path, *, required: bool) -> Check:
    from appliance.history import queries

    try:
        with queries.open_readonly(db) as reader:
            epoch = reader.current_epoch()
    except OperatorError as error:
        return _failed("history", error, Verdict.FAIL if required else Verdict.WARN)
    usage = os.statvfs(db.parent)
    free_bytes = usage.f_bavail * usage.f_frsize
    found = f"{db}: epoch {epoch.id if epoch else 'none yet'}, {text.size(free_bytes)} free"
    if free_bytes < _LEAST_FREE_BYTES:
        return Check("history", Verdict.WARN, found, f"make room on the file system of {db}")
    return Check("history", Verdict.OK, found)


COMMANDS = (
    Command("doctor", doctor, "check that the appliance has what it needs", "doctor --json",
        arguments, db=True),
)  # fmt: skip
