"""What single lines of a diary say about the machine: prompts, commands, tables. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from appliance.clouds.provider import providers
from appliance.model import DiskKind

LONGEST_LINE = 2000
# Host and what follows of ``[user@host dir]$ ``, ``user@host:~# ``, ``sh-4.2$ ``, ``$ ``, ``# ``.
_PROMPT = re.compile(
    r"\s*(?:\([\w.-]{1,40}\)\s*)?"
    r"(?:\[?[\w.-]{1,40}@(?P<host>[\w.-]{1,80})[^$#%>\n]{0,120}?\]?[$#%]\s?"
    r"|[\w.-]{1,20}[$#]\s|[$%]\s|#\$?\s)",
    re.ASCII,
)
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(?=\S)|\s{0,3}(?:\*\*|==+ )(?=\S)")
_LONGEST_LABEL = 72
_DEVICE = r"/dev/[\w/.:-]{1,120}"
_DF = re.compile(rf"\s*({_DEVICE})\s+\S+\s+\S+\s+\S+\s+\d{{1,3}}%\s+(/\S*)\s*", re.ASCII)
_MOUNTED = re.compile(rf"\s*({_DEVICE}) on (/\S{{0,200}}) type ", re.ASCII)
_MDSTAT = re.compile(
    r"\s*(md[\w.-]{1,40}) : active (?:\([\w-]+\) )?(?:raid\d+|linear) (.+)", re.ASCII
)
_MDSTAT_MEMBER = re.compile(r"([A-Za-z][\w!.-]{0,40})\[\d+\]", re.ASCII)
_LSBLK = re.compile(
    r"[\s│|`├└─-]{0,24}(?P<name>[A-Za-z][\w!.-]{0,60})\s+\d{1,4}:\d{1,7}\s+[01]\s+"
    r"\S{1,12}\s+[01]\s+(?P<type>disk|part|raid\d+|linear|lvm|dm|crypt|mpath|loop|rom)"
    r"(?:[ \t]+(?P<mount>/\S*|\[SWAP\]))?[ \t]*"
)
# A line of ``nvme list`` or of ``lsblk -o +MODEL`` on EC2.
_MODEL = re.compile(
    r"\s*(?:/dev/)?(nvme\d{1,3}n\d{1,3})\s.{0,200}?"
    r"(Amazon Elastic Block Store|Amazon EC2 NVMe Instance Storage)"
)
_PARTITION = re.compile(
    r"((?:nvme\d+n|mmcblk|md|nbd|loop)\d+)p\d+|((?:xv|s|v|h)d[a-z]+)\d+", re.ASCII
)
_ARRAY = re.compile(r"(?:md|dm-)[\w.-]*", re.ASCII)
_BRACES = re.compile(
    r"([\w/.-]{1,60})[\[{](?:(\w{1,3}(?:,\w{1,3}){1,63}|(?<=\[)\w{2,16})"
    r"|(\d{1,2}|[a-z])(?:\.\.|-)(\d{1,2}|[a-z]))[\]}]([\w.-]{0,20})",
    re.ASCII,
)
_PATH = re.compile(r"(nvme\d+)c\d+(n\d+)", re.ASCII)
_PLAIN = re.compile(r"(nvme)\d+n\d+|((?:xv|s|v|h)d)[a-z]{1,3}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Mounted:
    """``device`` (``nvme1n1``) is on ``directory``, empty when nothing is any more."""

    directory: str
    device: str


@dataclass(frozen=True, slots=True)
class ArrayMade:
    """An array and the disks in it, by kernel name."""

    device: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """A line of ``lsblk``: a device, its kind, and where it is mounted, if anywhere."""

    device: str
    kind: str
    directory: str
    nested: bool


@dataclass(frozen=True, slots=True)
class ModelSeen:
    """A disk that says itself what it is."""

    device: str
    kind: DiskKind


Statement = Mounted | ArrayMade | Listed | ModelSeen


def prompt(line: str) -> tuple[str, str] | None:
    """Host (may be empty) and command of a line with a shell's prompt."""
    found = _PROMPT.match(line[:LONGEST_LINE])
    if found is None or found.end() == len(line.rstrip()):
        return None
    return found["host"] or "", line[found.end() :]


def is_heading(line: str) -> bool:
    """A heading, or a short line that stands for one and is not a sentence."""
    text = line.strip()
    if not text or len(text) > 3 * _LONGEST_LABEL:
        return False
    if _HEADING.match(line):
        return True
    return len(text) <= _LONGEST_LABEL and not text.endswith((".", ",", ";", "\\"))


def machine_types(line: str) -> list[str]:
    """Names in the form of a provider's machine type, in their order."""
    return _machine_type().findall(line[:LONGEST_LINE])


@cache
def _machine_type() -> re.Pattern[str]:
    any_of_them = "|".join(one.machine_type_pattern for one in providers())
    return re.compile(rf"(?<![\w.-])(?:{any_of_them})(?![\w-])", re.ASCII)


def statements(line: str) -> list[Statement]:
    """What a table's line or a command says about devices and directories."""
    line = line[:LONGEST_LINE]
    if found := _MODEL.match(line):
        local = found[2].endswith("Storage")
        return [ModelSeen(found[1], DiskKind.INSTANCE_STORE if local else DiskKind.NETWORK)]
    if found := _LSBLK.fullmatch(line):
        name, mount = disk_name(found["name"]), found["mount"] or ""
        nested = not line[:1].isalnum()
        return [Listed(name, found["type"], _directory(mount) if mount[:1] == "/" else "", nested)]
    if (found := _DF.fullmatch(line)) or (found := _MOUNTED.match(line)):
        return [Mounted(_directory(found[2]), disk_name(found[1]))]
    if found := _MDSTAT.match(line):
        members = tuple(disk_name(name) for name in _MDSTAT_MEMBER.findall(found[2]))
        return [ArrayMade(found[1], members)]
    made: list[Statement] = []
    if any(word in line for word in ("mount", "mdadm", "mkfs")):
        shown = prompt(line)
        for part in re.split(r"&&|\|\||[;|]", shown[1] if shown else line):
            made += _from_command(part.split())
    return made


def _from_command(words: list[str]) -> list[Statement]:
    while words and (words[0] in {"sudo", "doas", "exec", "#", "$"} or "=" in words[0]):
        words = words[1:]
    if not words:
        return []
    program = words[0].rpartition("/")[2]
    operands = _operands(words[1:])
    if program == "mount" and len(operands) >= 2 and operands[-1].startswith("/"):
        return [Mounted(_directory(operands[-1]), disk_name(operands[-2]))]
    if program == "umount":
        return [Mounted(_directory(one), "") for one in operands if one[:1] == "/"]
    if program == "mdadm" and {"--create", "-C"} & set(words):
        words = [one for one in operands if one.startswith("/dev/")]
        devices = [device for word in words for device in _expanded(word)]
        if len(devices) >= 2 and not any(set("*?[{$`") & set(one) for one in devices):
            return [ArrayMade(disk_name(devices[0]), tuple(map(disk_name, devices[1:])))]
    return []


def _operands(words: list[str]) -> list[str]:
    """What is not an option, nor the value of one of ``mount``'s options that take one."""
    operands = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in {"-t", "-o", "-L", "-U", "--types", "--options"}:
            skip = True
        elif not word.startswith("-"):
            operands.append(word)
    return operands


def _expanded(word: str) -> list[str]:
    """What a shell makes of ``/dev/nvme{1..4}n1``, ``/dev/xvd{b,c}`` or ``/dev/sd[b-e]``."""
    found = _BRACES.fullmatch(word)
    if found is None:
        return [word]
    before, listed, low, high, after = found.groups()
    if listed is not None:
        middles = listed.split(",") if "," in listed else list(listed)
    elif low.isdecimal() and high.isdecimal():
        middles = [str(number) for number in range(int(low), int(high) + 1)]
    else:
        middles = [chr(letter) for letter in range(ord(low[0]), ord(high[0]) + 1)]
    return [before + middle + after for middle in middles]


def _directory(path: str) -> str:
    return path.rstrip("/") or "/"


def disk_name(path: str) -> str:
    """``nvme1n1`` of ``/dev/nvme1n1p1``; a partition is on its disk, as fio counts."""
    name = path.removeprefix("/dev/")
    found = _PARTITION.fullmatch(name)
    return (found[1] or found[2]) if found else name


def namespace(device: str) -> str:
    """``nvme0n1`` of ``nvme0c0n1``, one of its paths; other names as they are."""
    found = _PATH.fullmatch(device)
    return found[1] + found[2] if found else device


def is_array(device: str) -> bool:
    """A device that the kernel puts together from others."""
    return _ARRAY.fullmatch(device) is not None


def family(device: str) -> str:
    """``nvme``, ``xvd``, ``sd``: disks of one family are named alike; else empty."""
    found = _PLAIN.fullmatch(device)
    return (found[1] or found[2]) if found else ""
