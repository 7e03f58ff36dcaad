"""Who uses a disk without holding it: the kernel lets them, and O_EXCL does not tell. Reads only.

A loop device, a target that exports the disk, a program that has it open for writing (qemu, nbd,
dd): each writes to a disk that looks free. The kernel's own holders (md, device-mapper, mounts,
swap) are seen elsewhere.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress

from appliance import text
from appliance.system.kernel import Kernel, read_text

# (kernel name or process, what it is), as for holders.
User = tuple[str, str]

_LIO_FILE = re.compile(r"\bFile: (\S+)")


def users(kernel: Kernel) -> Mapping[str, tuple[User, ...]]:
    """The users of each disk, by its kernel name. Processes are those of all namespaces."""
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for device, name, note in (*_loops(kernel), *_exports(kernel), *_writers(kernel)):
        for disk in kernel.whole_disks(device) if device else ():
            found[disk][name] = note
    return {disk: tuple(sorted(those.items())) for disk, those in found.items()}


def _loops(kernel: Kernel) -> Iterator[tuple[str, str, str]]:
    for file in sorted((kernel.sys_root / "block").glob("loop*/loop/backing_file")):
        name = file.parent.parent.name
        yield kernel.device_number(read_text(file)), name, "loop device"


def _exports(kernel: Kernel) -> Iterator[tuple[str, str, str]]:
    """What the kernel's NVMe and SCSI targets serve (configfs)."""
    config = kernel.sys_root / "kernel/config"
    for space in sorted(config.glob("nvmet/subsystems/*/namespaces/*")):
        if read_text(space / "enable") == "1":
            device = kernel.device_number(read_text(space / "device_path"))
            name = f"{space.parent.parent.name}/{space.name}"
            yield device, text.printable(name), "exported by nvmet"
    for info in sorted(config.glob("target/core/fileio_*/*/info")):
        if file := _LIO_FILE.search(read_text(info)):
            yield kernel.device_number(file[1]), info.parent.name, "exported by LIO"


def _writers(kernel: Kernel) -> Iterator[tuple[str, str, str]]:
    own = str(os.getpid())
    # Of thousands of processes each has many files: names alone, and no Path for each.
    for pid in os.listdir(kernel.proc_root):  # noqa: PTH208
        if not pid.isdecimal() or pid == own:
            continue
        process = f"{kernel.proc_root}/{pid}"
        # A process that has ended meanwhile.
        with suppress(OSError):
            for fd in os.listdir(f"{process}/fd"):  # noqa: PTH208
                file = f"{process}/fd/{fd}"
                with suppress(OSError, ValueError):
                    # Only nodes are looked at: a file of a server that is away would not answer.
                    leads_to = os.readlink(file)  # noqa: PTH115
                    if leads_to.startswith("/dev/") and _writes(process, fd):
                        name = text.printable(read_text(f"{process}/comm"))
                        yield kernel.device_number(file), f"process {pid}", name


def _writes(process: str, fd: str) -> bool:
    """Whether it is open for writing, see proc(5) on fdinfo: the flags are octal."""
    for line in read_text(f"{process}/fdinfo/{fd}").splitlines():
        key, _, value = line.partition(":")
        if key == "flags":
            return int(value, 8) & os.O_ACCMODE != os.O_RDONLY
    return False
