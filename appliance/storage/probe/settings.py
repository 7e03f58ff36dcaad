"""What a volume works in: disks' queues and firmware, the processors' idle states, fio, and what
else has been built of disks. Read the same way at boot and at every look, so that the two can be
compared. Reads only; nothing here takes root, but for :func:`fio_version` no program is started.

Values are text by name (:mod:`appliance.model.surroundings`); what a machine does not have is
left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from appliance.errors import OperatorError
from appliance.model.surroundings import (
    CPU_LATENCY,
    FIRMWARE,
    IDLE_STATES,
    IO_TIMEOUT,
    MAX_CSTATE,
    SCHEDULER,
)
from appliance.system import process
from appliance.system.kernel import Kernel, chosen, read_text

_FIO_TIMEOUT_SECONDS = 30
# fio_version_string (fio's libfio.c), as FIO-VERSION-GEN makes it: fio-3.39, fio-3.39-12-g0123abc.
_FIO_VERSION = re.compile(rb"\0(fio-[0-9][0-9A-Za-z.+-]{0,40})\0")
# Documentation/admin-guide/pm/cpuidle.rst
_CPUIDLE = "devices/system/cpu/cpu[0-9]*/cpuidle/state[0-9]*"


def of_disks(kernel: Kernel, disks: Mapping[str, str]) -> dict[str, str]:
    """Queue settings and firmware of ``disks``: kernel names, each with its serial."""
    found = {}
    for name, serial in disks.items():
        scheduler = chosen(kernel.attribute(name, "queue/scheduler"))
        # SCSI calls its own "rev" (Documentation/ABI/stable/sysfs-driver-…, scsi_sysfs.c).
        firmware = kernel.attribute(name, "device/firmware_rev") or kernel.attribute(
            name, "device/rev"
        )
        for key, value in {
            SCHEDULER: scheduler,
            IO_TIMEOUT: kernel.attribute(name, "queue/io_timeout"),
            FIRMWARE: firmware.strip(),
        }.items():
            if value:
                found[f"{key}{serial}"] = value
    return found


def of_processors(kernel: Kernel, cpu_latency: Path) -> dict[str, str]:
    """How deep the processors may sleep.

    ``cpu.idle_states`` names each state that the driver has: ``POLL, C1, C6 off``, or, where not
    all processors have the same, ``C6 off on 4 of 8``.
    """
    states: Counter[str] = Counter()
    off: Counter[str] = Counter()
    for folder in sorted(kernel.sys_root.glob(_CPUIDLE)):
        name = read_text(folder / "name") or folder.name
        states[name] += 1
        off[name] += read_text(folder / "disable") not in {"0", ""}
    found = {
        MAX_CSTATE: read_text(kernel.sys_root / "module/intel_idle/parameters/max_cstate"),
        CPU_LATENCY: read_text(cpu_latency),
        IDLE_STATES: ", ".join(
            name
            + ("" if not off[name] else " off" if off[name] == count else _some(off[name], count))
            for name, count in states.items()
        ),
    }
    # No such driver is nothing; no such file is a declaration less.
    return {key: value for key, value in found.items() if value or key == CPU_LATENCY}


def _some(off: int, count: int) -> str:
    return f" off on {off} of {count}"


def built(kernel: Kernel) -> dict[str, str]:
    """What was made of disks by anybody: ``md:UUID`` and ``vg:UUID``, each with a name for it.

    A group is known by its active volumes: device-mapper's uuid of one begins with the group's
    (``LVM-``, 32 characters).
    """
    found = {}
    for name in kernel.arrays():
        facts = kernel.udev(name)
        uuid = facts.get("MD_UUID") or kernel.attribute(name, "md/uuid")
        found[f"md:{uuid or name}"] = facts.get("MD_NAME") or name
    for name in kernel.mapped():
        made_by = kernel.attribute(name, "dm/uuid")
        if made_by.startswith("LVM-") and len(made_by) >= 36:
            found[f"vg:{made_by[4:36]}"] = _group_of(kernel.attribute(name, "dm/name"))
    return found


def _group_of(name: str) -> str:
    """The group in device-mapper's name of an LVM volume: dashes inside of it are doubled."""
    found = re.fullmatch(r"((?:[^-]|--)+)-(?:[^-]|--)+(?:-.*)?", name, re.DOTALL)
    return found[1].replace("--", "-") if found else name


def fio_version(*, ask: bool) -> str:
    """What ``fio --version`` prints, ``none`` without fio. It is a text in the program, and
    starting that only to be told takes longer than mounting a volume; where it cannot be found
    there, fio is started if ``ask``, else the answer is empty.
    """
    path = process.find_program("fio")
    try:
        found: set[bytes] = set(_FIO_VERSION.findall(Path(path).read_bytes())) if path else set()
    except OSError:
        found = set()
    if len(found) == 1:
        return next(iter(found)).decode("ascii")
    if not ask:
        return "" if path else "none"
    try:
        done = process.run(["fio", "--version"], timeout_seconds=_FIO_TIMEOUT_SECONDS, check=False)
    except OperatorError:
        return "none"
    return done.stdout.strip() or "none"
