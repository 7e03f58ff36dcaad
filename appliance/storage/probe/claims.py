"""Who else uses a disk or has plans for it: fstab, crypttab, cloud-init, the providers' own agents,
and programs at work.

A disk can be blank and yet promised to another tool that will format or mount it a moment
later. The files of such tools are read for the devices that they name.

cloud-init's files are YAML, and there is no YAML library among the appliance's own (one for
a single question is not worth its updates). It is not needed: a device that is *named* under
``disk_setup``, ``fs_setup`` or ``mounts`` counts as claimed, whatever stands around it. Top-level
keys of block-style YAML begin in the first column, so where a section ends is known without
a parser, and a file in another style counts as one section. That can refuse a disk
too much, never one too little.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from appliance.clouds.provider import Agent, providers
from appliance.model.disks import Disk
from appliance.model.plans import Layout
from appliance.system import files
from appliance.system.kernel import Kernel, read_text, unescape
from appliance.text import printable

_MAX_FILE_BYTES = 1024 * 1024
_COMMENT = re.compile(r"(^|\s)#.*")
_KEY = re.compile(r"""["']?[A-Za-z_][\w.-]*["']?\s*:""")
_SECTION = re.compile(r"""["']?(?:disk_setup|fs_setup|mounts|swap)["']?\s*:""")
_NAMED = re.compile(
    r"/dev/[A-Za-z0-9/._:+\\-]+|\b(?:LABEL|UUID)=[^\s,\"'\]]+|\bephemeral[0-9]+"
    r"|\b(?:sd|xvd|vd)[a-z]{1,3}[0-9]*\b|\bnvme[0-9]+n[0-9]+(?:p[0-9]+)?\b"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """``device`` as the file has it (a path, a tag, ``ephemeral0``), ``source`` file and line;
    of a provider's agent, the disk's ``cloud_name``.
    """

    device: str
    source: str
    mount: str = ""
    cloud_name: str = ""


def read_claims(root: Path = Path("/")) -> tuple[Claim, ...]:
    """Every claim in the files below ``root``. Never raises: what cannot be read says nothing."""
    found = list(parse_fstab(_text(root / "etc/fstab")))
    found += parse_crypttab(_text(root / "etc/crypttab"))
    cloud = root / "etc/cloud"
    if not (cloud / "cloud-init.disabled").exists():
        configs = [cloud / "cloud.cfg", *sorted((cloud / "cloud.cfg.d").glob("*.cfg"))]
        # What this instance's user-data and vendor-data were merged to.
        configs.append(root / "var/lib/cloud/instance/cloud-config.txt")
        for file in configs:
            found += parse_cloud_config(_text(file), f"cloud-init, /{file.relative_to(root)}")
    for agent in (one.agent for one in providers() if one.agent):
        found += parse_agent(_text(root / agent.file), agent)
    return tuple(found)


def parse_fstab(text: str) -> Iterator[Claim]:
    """fstab(5): the first two fields of each line."""
    for source, device, mount in _first_fields(text, "/etc/fstab"):
        yield Claim(device.replace('"', ""), source, mount)


def parse_crypttab(text: str) -> Iterator[Claim]:
    """crypttab(5): the second field of each line is what is to be unlocked."""
    for source, _, device in _first_fields(text, "/etc/crypttab"):
        yield Claim(device.replace('"', ""), source)


def _first_fields(text: str, file: str) -> Iterator[tuple[str, str, str]]:
    """File and line, and the first two fields, of each line that has them."""
    for number, line in enumerate(text.splitlines(), start=1):
        fields = line.split()
        if len(fields) >= 2 and not fields[0].startswith("#"):
            yield f"{file} line {number}", unescape(fields[0]), unescape(fields[1])


def parse_cloud_config(text: str, source: str) -> Iterator[Claim]:
    """Every device that is named in one of the sections that set disks up."""
    lines = text.splitlines()
    whole = next((line for line in lines if line.strip() and line[0] != "#"), "").startswith("{")
    inside, depth = whole, 0
    for number, line in enumerate(lines, start=1):
        bare = _COMMENT.sub("", line)
        # Inside of brackets a key in the first column is not a top-level one.
        if not whole and depth <= 0 and _KEY.match(bare):
            inside, depth = _SECTION.match(bare) is not None, 0
        depth += sum(bare.count(one) for one in "[{") - sum(bare.count(one) for one in "]}")
        if inside:
            for device in _NAMED.findall(bare):
                yield Claim(device.rstrip(":"), f"{source} line {number}")


def parse_agent(text: str, agent: Agent) -> Iterator[Claim]:
    """The disks that a provider's agent is to format or to swap on."""
    for cloud_name, where in agent.claims(text):
        yield Claim("", f"/{agent.file} {where}", cloud_name=cloud_name)


def claimed_by(
    disk: Disk,
    claims: Collection[Claim],
    *,
    layout: Layout,
    dev_root: Path = Path("/dev"),
    links: Collection[str] = (),
    ephemeral: bool = False,
) -> str:
    """The first claim on ``disk`` that is not our own mount line, as words; empty if none.

    ``links`` are udev's links to the disk; ``ephemeral`` says that the provider calls it so.
    """
    for claim in claims:
        if not _is_own(claim, layout) and _names(claim, disk, dev_root, links, ephemeral):
            return f"{claim.source}, {claim.mount}" if claim.mount[:1] == "/" else claim.source
    return ""


def _is_own(claim: Claim, layout: Layout) -> bool:
    volume = next((one for one in layout.volumes if one.mount and one.mount == claim.mount), None)
    if volume is None:
        return False
    # A UUID is that of a filesystem that is there: then that is what decides about the disk.
    return claim.device == f"LABEL={volume.name}" or claim.device.startswith(
        ("/dev/stripewright/", "UUID=", "/dev/disk/by-uuid/")
    )


def _names(
    claim: Claim, disk: Disk, dev_root: Path, links: Collection[str], ephemeral: bool
) -> bool:
    if claim.cloud_name:
        return disk.cloud_name == claim.cloud_name
    device = claim.device
    name = disk.path.rpartition("/")[2]
    tag, separator, value = device.partition("=")
    if separator and tag in {"LABEL", "UUID"}:
        field = tag.lower()
        held = [getattr(one, field) for one in disk.signatures]
        held += [getattr(disk.filesystem, field)] if disk.filesystem else []
        return value.casefold() in {text.casefold() for text in held if text}
    if device.startswith("ephemeral"):
        return ephemeral
    if re.sub(r"-part[0-9]+$", "", device) in links:
        return True
    target = dev_root / device.removeprefix("/dev/")
    reached = target.resolve().name if target.exists() else target.name
    # nvme0n1p1, but sda1: a letter stands between two numbers only.
    partition = re.escape(name) + ("p" if name[-1:].isdecimal() else "") + "[0-9]+"
    return any(one == name or re.fullmatch(partition, one) for one in (reached, target.name))


def _text(path: Path) -> str:
    try:
        return files.read_bounded(path, _MAX_FILE_BYTES, follow=True, cut=True).decode(
            errors="replace"
        )
    except OSError:
        return ""


# ----------------------------------------------------------------------------- programs at work


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
            yield device, printable(name), "exported by nvmet"
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
                        name = printable(read_text(f"{process}/comm"))
                        yield kernel.device_number(file), f"process {pid}", name


def _writes(process: str, fd: str) -> bool:
    """Whether it is open for writing, see proc(5) on fdinfo: the flags are octal."""
    for line in read_text(f"{process}/fdinfo/{fd}").splitlines():
        key, _, value = line.partition(":")
        if key == "flags":
            return int(value, 8) & os.O_ACCMODE != os.O_RDONLY
    return False
