"""``status``, ``inventory`` and ``plan``: look, and change nothing."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from appliance import paths, text
from appliance.errors import EXIT_OK, EXIT_REFUSED
from appliance.model import Decision, Disk, Plan
from appliance.status import Health, Status, VolumeStatus, read_status

_MARKS = {
    Health.OK: "● HEALTHY",
    Health.WORKING: "◐ WORKING",
    Health.REFUSED: "▲ REFUSED",
    Health.FAILED: "✗ FAILED",
    Health.UNKNOWN: "? UNKNOWN",
}


def status(db: Path, *, as_json: bool) -> int:
    """Print health, volumes and the last suite. Exit 0 whatever the health is: it was told."""
    from appliance.commands import measure

    now = read_status(db=db)
    if as_json:
        print(json.dumps(_status_document(now), indent=2))
        return EXIT_OK
    print(f"{_MARKS[now.health]}  {text.printable(now.summary)}")
    if now.hint:
        print(f"next: {text.printable(now.hint)}")
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
    if now.epoch is not None:
        print(f"\nepoch {now.epoch.id}, since {text.moment(now.epoch.opened_at)}")
    if now.running is not None:
        run = now.running
        print(
            f"running: {run.suite}, {run.phase} ({run.job_index} of {run.job_count}),"
            f" since {text.moment(run.started_at)}"
        )
    if now.last_run is not None:
        print("\n" + measure.run_text(now.last_run, now.last_results))
    if now.next_run_at is not None:
        print(f"next scheduled suite: {text.moment(now.next_run_at)}")
    if now.history_problem:
        print(f"history: {text.printable(now.history_problem)}")
    return EXIT_OK


def inventory(*, as_json: bool) -> int:
    """Print every disk with the reason why it is used or not."""
    from appliance.storage.devices import probe
    from appliance.storage.document import inventory_to_json
    from appliance.storage.layout import load_layout

    found = probe(volume_names=load_layout(paths.LAYOUT_FILE).volume_names)
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


def plan(inventory_file: Path | None, layout_file: Path | None, *, as_json: bool) -> int:
    """Print what would be done. Exit 3 if that is a refusal."""
    from appliance.storage import planner
    from appliance.storage.devices import probe
    from appliance.storage.document import load_inventory, plan_to_json
    from appliance.storage.layout import load_layout

    # A layout that was named must exist; the appliance's own may be absent (built-in default).
    layout = load_layout(layout_file or paths.LAYOUT_FILE, must_exist=layout_file is not None)
    found = (
        load_inventory(inventory_file)
        if inventory_file
        else probe(volume_names=layout.volume_names)
    )
    made = planner.plan(found, layout, waited=False)
    if as_json:
        print(json.dumps(plan_to_json(made), indent=2))
    else:
        print(_plan_text(made))
        if made.decision is Decision.WAIT:
            print("\n== what the boot unit does if no more disks come ==\n")
            print(_plan_text(planner.plan(found, layout, waited=True)))
    return EXIT_REFUSED if made.decision is Decision.REFUSE else EXIT_OK


def _status_document(now: Status) -> dict[str, object]:
    from appliance.bench.document import result_to_json, run_to_json
    from appliance.storage.document import disk_to_json, machine_to_json

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
        "history_problem": now.history_problem,
    }


def _volume(volume: VolumeStatus) -> str:
    lines = [
        f"volume {text.printable(volume.name)}: {volume.outcome} ({volume.decision})",
        f"  {text.printable(volume.reason)}",
    ]
    if volume.outcome == "mounted":
        where = volume.mount if volume.mounted else f"{volume.mount} (NOT MOUNTED)"
        free = "" if volume.free_bytes is None else f", {text.size(volume.free_bytes)} free"
        lines.append(f"  {volume.device} at {where}, {text.size(volume.size_bytes or 0)}{free}")
        proved = "proved" if volume.geometry_proved else "NOT AS DECLARED"
        lines.append(
            f"  {volume.level or 'single disk'}, {len(volume.members)} disks,"
            f" chunk {_size(volume.chunk_bytes)};"
            f" sunit {_size(volume.sunit_bytes)}, swidth {_size(volume.swidth_bytes)}: {proved}"
        )
    return "\n".join(lines)


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


def _plan_text(made: Plan) -> str:
    lines = [f"decision: {made.decision}", f"digest:   {made.digest}"]
    for volume in made.volumes:
        lines.append(f"\nvolume {text.printable(volume.name)}: {volume.decision}")
        lines.append(f"  {text.printable(volume.reason)}")
        if volume.hint:
            lines.append(f"  next: {text.printable(volume.hint)}")
    for number, step in enumerate(made.steps, 1):
        lines.append(f"\n{number}. {text.printable(step.why)}")
        lines.append(f"   $ {text.printable(' '.join(step.argv))}")
        for gone in step.destroys:
            lines.append(
                f"   overwrites {text.printable(gone.path)} (serial {text.printable(gone.serial)},"
                f" {text.size(gone.size_bytes)}): {text.printable(gone.holds)}"
            )
    if not made.steps:
        lines.append("\nno steps: nothing will be written")
    return "\n".join(lines)
