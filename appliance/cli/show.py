"""``status`` and ``inventory``: look, and change nothing."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from appliance import paths, text
from appliance.client.machine_status import Health, Status, VolumeStatus, read_status
from appliance.errors import EXIT_OK
from appliance.model import Disk

_MARKS = {
    Health.OK: "● HEALTHY",
    Health.DEGRADED: "▲ DEGRADED",
    Health.WORKING: "◐ WORKING",
    Health.REFUSED: "▲ REFUSED",
    Health.FAILED: "✗ FAILED",
    Health.UNKNOWN: "? UNKNOWN",
}


def status(db: Path, *, as_json: bool) -> int:
    """Print health, volumes and the last suite. Exit 0 whatever the health is: it was told."""
    from appliance.cli import results

    now = read_status(db=db)
    if as_json:
        print(json.dumps(_status_document(now), indent=2))
        return EXIT_OK
    print(f"{_MARKS[now.health]}  {text.printable(now.summary)}")
    if now.hint:
        print(f"next: {text.printable(now.hint)}")
    for one in now.host:
        print(f"! {one.code}: {text.printable(one.summary)}")
        print(f"next: {text.printable(one.next_step)}")
    if now.machine is not None:
        machine = now.machine
        print(
            f"machine: {text.printable(machine.machine_type or 'type unknown')}"
            f" ({machine.provider}), kernel {machine.kernel}"
        )
    for volume in now.volumes:
        print("\n" + _volume(volume))
    if now.disks:
        print("\n" + _disk_table(now.disks))
    for setting in now.tuning:
        print(f"tuning: {setting.path} is {setting.value}, was {setting.before}")
    if now.drift is not None and now.drift.is_known:
        at = now.drift.checked_at
        checked = "" if at is None else f" (checked {text.moment(at)})"
        print(f"drift: {text.printable(now.drift.words)}{checked}")
    if now.epoch is not None:
        print(f"\nepoch {now.epoch.id}, since {text.moment(now.epoch.opened_at)}")
    if now.running is not None:
        run = now.running
        print(
            f"running: {run.suite}, {run.phase} ({run.job_index} of {run.job_count}),"
            f" since {text.moment(run.started_at)}"
        )
    if now.last_run is not None:
        print("\n" + results.run_text(now.last_run, now.last_results))
    if now.next_run_at is not None:
        print(f"next scheduled suite: {text.moment(now.next_run_at)}")
    if now.schedule_problem:
        print(f"schedule: not in effect: {text.printable(now.schedule_problem)}")
    if now.history_problem:
        print(f"history: {text.printable(now.history_problem)}")
    return EXIT_OK


def inventory(*, as_json: bool) -> int:
    """Print every disk with the reason why it is used or not."""
    from appliance.storage.policy.documents import inventory_to_json
    from appliance.storage.policy.layout import load_layout
    from appliance.storage.probe.devices import probe

    found = probe(layout=load_layout(paths.LAYOUT_FILE))
    if as_json:
        print(json.dumps(inventory_to_json(found), indent=2))
        return EXIT_OK
    if not found.disks:
        print("no disks found")
        return EXIT_OK
    print(_disk_table(found.disks))
    if not found.privileged:
        print("\nseen without root: signatures come from udev, contents were not read")
    return EXIT_OK


def _status_document(now: Status) -> dict[str, object]:
    from appliance.history.json_documents import result_to_json, run_to_json
    from appliance.storage.policy.documents import disk_to_json, machine_to_json

    return {
        "health": now.health.value,
        "summary": now.summary,
        "hint": now.hint,
        "decided_at": now.decided_at,
        "machine": None if now.machine is None else machine_to_json(now.machine),
        "volumes": [
            {**asdict(volume), "geometry_proved": volume.geometry_proved} for volume in now.volumes
        ],
        "disks": [disk_to_json(disk) for disk in now.disks],
        "epoch": None if now.epoch is None else asdict(now.epoch),
        "running": None if now.running is None else run_to_json(now.running),
        "last_run": None if now.last_run is None else run_to_json(now.last_run),
        "last_results": [result_to_json(result) for result in now.last_results],
        "next_run_at": now.next_run_at,
        "tuning": [asdict(setting) for setting in now.tuning],
        "drift": None if now.drift is None else asdict(now.drift),
        "history_problem": now.history_problem,
        "host": [
            {
                "code": one.code,
                "severity": one.severity.value,
                "subject": one.subject,
                "summary": one.summary,
                "next_step": one.next_step,
            }
            for one in now.host
        ],
    }


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


def _disk_table(disks: tuple[Disk, ...]) -> str:
    rows: list[tuple[str, ...]] = [("DISK", "MODEL", "SERIAL", "SIZE", "KIND", "USE", "WHY")]
    for disk in disks:
        use = "yes" if disk.claimable else "no"
        rows.append(
            (
                disk.path,
                disk.model,
                disk.serial,
                text.size(disk.size_bytes),
                disk.kind,
                use,
                disk.reason,
            )
        )
    return text.table(rows)
