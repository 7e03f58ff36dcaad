"""The decision for a volume on a RAID controller: a virtual drive with the volume's name. Pure.

The controller has the name. What its drives hold cannot be read before there is a virtual drive, so
that is made only in a confirmed plan, of drives that the layout names by serial; the filesystem
follows in the next plan, when its disk is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from appliance.model.disks import Disk, HardwareDrive, MarkState, VirtualDrive
from appliance.model.plans import Decision, Destruction, Step, Volume
from appliance.storage.formats import filesystem, hwraid
from appliance.storage.policy import activate, create, exclusions, steps
from appliance.storage.policy.disk_selection import Case, Pool
from appliance.storage.policy.ownership import Evidence
from appliance.storage.policy.steps import Outcome, call, refuse

_SEE = "see 'storcli64 /call/vall show all'"


def decide(case: Case) -> Outcome:
    """The case's ``grow`` says that the plan is confirmed before it is carried out."""
    seen, volume = case.seen, case.volume
    name = hwraid.virtual_name(volume.name)
    found = [one for one in seen.inventory.virtual_drives if one.name == name]
    if not volume.select.serials:
        return refuse(
            f"volume '{volume.name}' is declared as hw-raid0 without naming its drives",
            "select = { serials = [...] } with the drives' serials: 'storcli64 /call/eall/sall"
            " show all' has them",
        )
    if len(found) > 1:
        return refuse(
            f"{len(found)} virtual drives are named {name}", f"{_SEE}; rename what is not ours"
        )
    drives, absent, twins = _drives(seen, volume)
    if twins:
        return refuse(
            f"more than one drive has the serial {', '.join(twins)}",
            "the plan cannot tell which is meant; detach one",
        )
    if found:
        return _existing(case, found[0], drives)
    if absent:
        reason = f"drives with serial {', '.join(absent)} are not on any controller"
        if not case.waited:
            return Outcome(Decision.WAIT, f"{reason}; waiting for them")
        return refuse(reason, "attach them, or correct the serials in the layout")
    return _new(volume, drives, confirmed=case.grow)


def _drives(seen: Evidence, volume: Volume) -> tuple[list[HardwareDrive], list[str], list[str]]:
    """The drives that the layout names, serials that are not here, serials seen twice."""
    by_serial: dict[str, list[HardwareDrive]] = {}
    for drive in seen.inventory.hardware_drives:
        by_serial.setdefault(drive.serial, []).append(drive)
    wanted = list(dict.fromkeys(volume.select.serials))
    return (
        [by_serial[one][0] for one in wanted if one in by_serial],
        [one for one in wanted if one not in by_serial],
        [one for one in wanted if len(by_serial.get(one, ())) > 1],
    )


def _new(volume: Volume, drives: Sequence[HardwareDrive], *, confirmed: bool) -> Outcome:
    busy = [one for one in drives if one.state != hwraid.DRIVE_FREE]
    if busy:
        return refuse(
            "; ".join(f"drive {one.place} (serial {one.serial}) is {one.state}" for one in busy)
            + f", not {hwraid.DRIVE_FREE}: it belongs to something else",
            "free it on the controller yourself, if nothing of it is needed",
        )
    controllers = {one.controller for one in drives}
    if len(controllers) > 1:
        return refuse(
            f"the drives of volume '{volume.name}' are on {len(controllers)} controllers",
            "select drives of one controller",
        )
    names = ", ".join(f"{one.place} (serial {one.serial})" for one in drives)
    if not confirmed:
        return refuse(
            f"there is no virtual drive {hwraid.virtual_name(volume.name)} yet, and what drives"
            f" {names} hold cannot be read",
            "it is made only by a confirmed plan: stripewright plan, then apply --confirm",
        )
    destroys = tuple(
        Destruction(
            path=f"/c{one.controller} {one.place}",
            id=one.serial,
            serial=one.serial,
            size_bytes=one.size_bytes,
            holds="unknown: a controller's drive cannot be read",
        )
        for one in drives
    )
    step = Step(
        argv=hwraid.create_argv(volume, controllers.pop(), [one.place for one in drives]),
        why="create the virtual drive; its filesystem follows in the next plan",
        destroys=destroys,
        volume=volume.name,
    )
    return Outcome(
        Decision.CREATE,
        f"drives {names} are unconfigured; the next plan makes the filesystem, when the"
        " virtual drive is there",
        steps=(step,),
    )


def _existing(case: Case, found: VirtualDrive, drives: Sequence[HardwareDrive]) -> Outcome:
    seen, volume = case.seen, case.volume
    places = {one.place for one in drives}
    what = f"virtual drive {found.name} (/c{found.controller}/v{found.number})"
    if found.state != hwraid.OPTIMAL:
        return refuse(f"{what} is {found.state or 'in no known state'}", f"{_SEE}; a RAID0 is lost")
    if found.level != "raid0" or found.strip_bytes != volume.chunk_bytes:
        return refuse(
            f"{what} is {found.level} with strip {found.strip_bytes // 1024}KiB, the layout"
            f" declares raid0 with chunk {volume.chunk_bytes // 1024}KiB",
            "declare in the layout what is there",
        )
    if set(found.drives) != places:
        return refuse(
            f"{what} is made of drives {', '.join(found.drives)}, the layout names"
            f" {', '.join(sorted(places)) or 'none that is here'}",
            "correct the serials in the layout",
        )
    disk = disk_of(seen, found)
    if disk is None:
        reason = f"{what} has no disk yet"
        if not case.waited:
            return Outcome(Decision.WAIT, f"{reason}; waiting for it")
        return refuse(reason, f"{_SEE}; the kernel may have to look again: reboot")
    if problem := exclusions.to_use(disk, mounted=True):
        return refuse(f"{call(disk)}: {problem}", "free the disk from that use", [disk])
    mark = disk.mark
    begun = mark is not None and (mark.state, mark.volume) == (MarkState.MAKING, volume.name)
    whole = disk.filesystem is not None and not disk.filesystem.unfinished
    if not disk.mountpoints and (
        disk.filesystem is None or (begun and mark and (mark.intact or not whole))
    ):
        return _make_filesystem(seen, volume, disk, what, len(found.drives))
    return activate.finish(
        replace(case, pool=Pool()),
        activate.Built(
            disks=(disk,),
            device=steps.stable(disk),
            filesystem=disk.filesystem,
            known=False,
            members=len(found.drives),
            count=1,
            reason=f"{what} is {call(disk)}",
            up=True,
            mountpoints=disk.mountpoints,
            marked=(disk,) if begun else (),
        ),
    )


def _make_filesystem(
    seen: Evidence, volume: Volume, disk: Disk, what: str, members: int
) -> Outcome:
    """``members`` are the controller's drives. The disk is marked as any other that is the whole of
    a volume (:mod:`appliance.storage.policy.create`).
    """
    if volume.filesystem == "none":
        return Outcome(Decision.NOTHING, f"{what} is {call(disk)}", (disk,))
    mark = disk.mark
    given_up = mark is not None and mark.state is MarkState.RELEASED and bool(mark.intact)
    begun = mark is not None and mark.state is MarkState.MAKING
    problem = exclusions.to_making_again(disk) if begun else exclusions.to_contents(disk)
    if begun and mark and mark.volume != volume.name:
        problem = f"is being made into volume '{mark.volume}'"
    if not problem and not (disk.blank or given_up or begun):
        problem = "was not read, so it is not known to be blank"
    if problem:
        return refuse(
            f"{what} is {call(disk)}, which {problem}",
            f"nothing was written; if it is not needed: {exclusions.erasing([disk])}",
            [disk],
        )
    device = steps.stable(disk)
    state = "half made, nothing stored" if begun else "given up" if given_up else "blank"
    destroys = (steps.destruction(disk, f"a virtual drive of ours, {state}"),)
    uuid = create.filesystem_uuid(seen.machine.host_tag, volume.name, [disk])
    return Outcome(
        Decision.CREATE,
        f"{what} is {call(disk)}, {state}",
        (disk,),
        steps=(
            steps.mark_step(volume, [disk], destroys, end=True, filesystem_uuid=uuid),
            steps.mkfs_step(
                volume,
                device,
                members=members,
                size_bytes=filesystem.plain_size(disk.size_bytes),
                uuid=uuid,
                force=bool(given_up or begun),
                destroys=destroys,
            ),
            steps.mount_step(volume, device),
            steps.unmark_step(volume.name, [disk]),
        ),
    )


def disk_of(seen: Evidence, found: VirtualDrive) -> Disk | None:
    """The disk that the kernel made of a virtual drive."""
    return next((disk for disk in seen.disks if hwraid.is_disk_of(found, disk)), None)
