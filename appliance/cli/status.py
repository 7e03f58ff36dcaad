"""``status``: health, volumes, the last suite. It exits with 0 whatever the health is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from appliance import text
from appliance.cli.command import Command
from appliance.cli.inventory import disk_table
from appliance.cli.output import print_json
from appliance.errors import EXIT_OK

if TYPE_CHECKING:
    from appliance.client.machine_status import Status, VolumeStatus

# By appliance.client.machine_status.Health.
_MARKS = {
    "ok": "● HEALTHY",
    "degraded": "▲ DEGRADED",
    "working": "◐ WORKING",
    "refused": "▲ REFUSED",
    "failed": "✗ FAILED",
    "unknown": "? UNKNOWN",
}


def status(*, db: Path, as_json: bool) -> int:
    from appliance.client.machine_status import read_status

    now = read_status(db=db)
    if as_json:
        print_json(_document(now))
    else:
        print("\n".join(_lines(now)))
    return EXIT_OK


def _document(now: Status) -> dict[str, object]:
    from dataclasses import asdict

    from appliance.history.json_documents import result_to_json, run_to_json

    return {
        **text.fields(now, "health summary hint decided_at"),
        "machine": None if now.machine is None else asdict(now.machine),
        "volumes": [{**asdict(one), **text.fields(one, "geometry_proved")} for one in now.volumes],
        "disks": [asdict(disk) for disk in now.disks],
        "epoch": None if now.epoch is None else asdict(now.epoch),
        "running": None if now.running is None else run_to_json(now.running),
        "last_run": None if now.last_run is None else run_to_json(now.last_run),
        "last_results": [result_to_json(result) for result in now.last_results],
        "next_run_at": now.next_run_at,
        "tuning": [asdict(setting) for setting in now.tuning],
        "drift": None if now.drift is None else asdict(now.drift),
        "history_problem": now.history_problem,
        "host": [text.fields(one, "code severity subject summary next_step") for one in now.host],
    }


def _lines(now: Status) -> Iterator[str]:
    from appliance.cli.results import run_text

    yield f"{_MARKS[now.health]}  {text.printable(now.summary)}"
    if now.hint:
        yield f"next: {text.printable(now.hint)}"
    for one in now.host:
        yield f"! {one.code}: {text.printable(one.summary)}"
        yield f"next: {text.printable(one.next_step)}"
    if machine := now.machine:
        kind = text.printable(machine.machine_type or "type unknown")
        yield f"machine: {kind} ({machine.provider}), kernel {machine.kernel}"
    for volume in now.volumes:
        yield "\n" + _volume(volume)
    if now.disks:
        yield "\n" + disk_table(now.disks)
    for setting in now.tuning:
        yield f"tuning: {setting.path} is {setting.value}, was {setting.before}"
    if now.drift is not None and now.drift.is_known:
        at = now.drift.checked_at
        checked = "" if at is None else f" (checked {text.moment(at)})"
        yield f"drift: {text.printable(now.drift.words)}{checked}"
    if now.epoch is not None:
        yield f"\nepoch {now.epoch.id}, since {text.moment(now.epoch.opened_at)}"
    if run := now.running:
        yield (
            f"running: {run.suite}, {run.phase} ({run.job_index} of {run.job_count}),"
            f" since {text.moment(run.started_at)}"
        )
    if now.last_run is not None:
        yield "\n" + run_text(now.last_run, now.last_results)
    if now.next_run_at is not None:
        yield f"next scheduled suite: {text.moment(now.next_run_at)}"
    if now.schedule_problem:
        yield f"schedule: not in effect: {text.printable(now.schedule_problem)}"
    if now.history_problem:
        yield f"history: {text.printable(now.history_problem)}"


def _volume(volume: VolumeStatus) -> str:
    lines = [
        f"volume {text.printable(volume.name)}: {volume.outcome} ({volume.decision})",
        f"  {text.printable(volume.reason)}",
    ]
    if volume.outcome in {"mounted", "up"}:
        lines += _volume_facts(volume)
    if volume.initialised:
        lines.append(f"  read through: {text.printable(volume.initialised)}")
    return "\n".join(lines)


def _volume_facts(volume: VolumeStatus) -> list[str]:
    where = f" at {volume.mount}" if volume.mount else ", no filesystem"
    if volume.mount and not volume.mounted:
        where += " (NOT MOUNTED)"
    free = "" if volume.free_bytes is None else f", {text.size(volume.free_bytes)} free"
    shape = f"  {volume.level}, {len(volume.members)} disks" if volume.level else "  single disk"
    if volume.level:
        shape += f", chunk {_size(volume.chunk_bytes)}"
    if volume.mount and volume.level:
        proved = "proved" if volume.geometry_proved else "NOT AS DECLARED"
        shape += (
            f"; {volume.filesystem}, sunit {_size(volume.sunit_bytes)},"
            f" swidth {_size(volume.swidth_bytes)}: {proved}"
        )
    if volume.degraded:
        shape += f"; DEGRADED: {volume.degraded} missing"
    if volume.sync:
        shape += f"; {volume.sync}"
    return [f"  {volume.device}{where}, {text.size(volume.size_bytes or 0)}{free}", shape]


def _size(size_bytes: int | None) -> str:
    return "-" if size_bytes is None else text.size(size_bytes)


COMMANDS = (
    Command("status", status, "show health, volumes and the last suite", "status --json", db=True),
)
