"""What a text says about the storage it measures: tables, commands, headings. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from appliance.clouds.volumes import MIB, Volume
from appliance.figures.quantities import disk_of
from appliance.fio_import import units_printed
from appliance.model.disks import DiskKind

# A diary of more mounts, arrays or disks than this is not kept track of.
_MOST_DEVICES = 256
_T = TypeVar("_T")

# ------------------------------------------------------------------------- kernel names

_ARRAY = re.compile(r"(?:md|dm-)[\w.-]*", re.ASCII)
_PATH = re.compile(r"(nvme\d+)c\d+(n\d+)", re.ASCII)
_PLAIN = re.compile(r"(nvme)\d+n\d+|((?:xv|s|v|h)d)[a-z]{1,3}", re.ASCII)


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


# ------------------------------------------------------------------ tables and commands

_PROMPT = re.compile(
    r"\s*(?:\([\w.-]{1,40}\)\s*)?"
    r"(?:\[?[\w.-]{1,40}@(?P<host>[\w.-]{1,80})[^$#%>\n]{0,120}?\]?[$#%]\s?"
    r"|[\w.-]{1,20}[$#]\s|[$%]\s|#\$?\s)",
    re.ASCII,
)
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
_BRACES = re.compile(
    r"([\w/.-]{1,60})[\[{](?:(\w{1,3}(?:,\w{1,3}){1,63}|(?<=\[)\w{2,16})"
    r"|(\d{1,2}|[a-z])(?:\.\.|-)(\d{1,2}|[a-z]))[\]}]([\w.-]{0,20})",
    re.ASCII,
)
# mount's and mdadm's options that take a value.
_WITH_VALUE = frozenset({"-t", "-o", "-L", "-U", "--types", "--options"})


def prompt(line: str) -> tuple[str, str] | None:
    """Host (may be empty) and command of a line with a shell's prompt: ``[user@host dir]$ ``,
    ``user@host:~# ``, ``sh-4.2$ ``, ``$ ``, ``# ``.
    """
    found = _PROMPT.match(line)
    if found is None or found.end() == len(line.rstrip()):
        return None
    return found["host"] or "", line[found.end() :]


@dataclass(slots=True)
class Storage:
    """``mounts`` maps directories to devices (by kernel name; empty after ``umount``), ``arrays``
    a device to the disks in it, ``disks`` a disk to what its model says that it is.

    The maps are replaced and never changed: a report keeps those that held for it.
    """

    root_device: str = ""
    mounts: Mapping[str, str] = field(default_factory=dict)
    arrays: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    disks: Mapping[str, DiskKind] = field(default_factory=dict)
    _listing: dict[str, list[str]] = field(default_factory=dict, init=False)
    _parent: str = field(default="", init=False)

    def feed(self, line: str) -> bool:
        """Take what a table's line or a command says; false if that is nothing."""
        model = _MODEL.match(line)
        if model is None and (listed := _LSBLK.fullmatch(line)):
            self._listed(listed, nested=not line[:1].isalnum())
            return True
        self.end_listing()
        if model:
            local = model[2].endswith("Storage")
            kind = DiskKind.INSTANCE_STORE if local else DiskKind.NETWORK
            self.disks = _with(self.disks, model[1], kind)
        elif (found := _DF.fullmatch(line)) or (found := _MOUNTED.match(line)):
            self._mounted(found[2], found[1])
        elif found := _MDSTAT.match(line):
            self._made(found[1], _MDSTAT_MEMBER.findall(found[2]))
        elif "mount" in line or "mdadm" in line or "mkfs" in line:
            shown = prompt(line)
            parts = re.split(r"&&|\|\||[;|]", shown[1] if shown else line)
            said = [self._command(part.split()) for part in parts]
            return any(said)
        else:
            return False
        return True

    def _mounted(self, directory: str, device: str) -> None:
        directory, device = directory.rstrip("/") or "/", disk_of(device)
        if directory == "/":
            self.root_device = device
        self.mounts = _with(self.mounts, directory, device)

    def _made(self, device: str, members: list[str]) -> None:
        self.arrays = _with(self.arrays, disk_of(device), tuple(map(disk_of, members)))

    def _listed(self, found: re.Match[str], *, nested: bool) -> None:
        """Lsblk names an array below each of its members, once for each."""
        device, mount = disk_of(found["name"]), found["mount"] or ""
        if not nested or found["type"] == "disk":
            self._parent = device
        elif is_array(device) and self._parent:
            members = self._listing.setdefault(device, [])
            if self._parent not in members and len(members) < _MOST_DEVICES:
                members.append(self._parent)
        if mount[:1] == "/":
            self._mounted(mount, device)

    def end_listing(self) -> None:
        """No line of the table follows."""
        for device, members in self._listing.items():
            self._made(device, members)
        self._listing, self._parent = {}, ""

    def _command(self, words: list[str]) -> bool:
        while words and (words[0] in {"sudo", "doas", "exec", "#", "$"} or "=" in words[0]):
            words = words[1:]
        program = words[0].rpartition("/")[2] if words else ""
        operands = _operands(words[1:])
        if program == "mount" and len(operands) >= 2 and operands[-1].startswith("/"):
            self._mounted(operands[-1], operands[-2])
            return True
        if program == "umount":
            gone = [one for one in operands if one[:1] == "/"]
            for directory in gone:
                self._mounted(directory, "")
            return bool(gone)
        if program == "mdadm" and {"--create", "-C"} & set(words):
            named = [one for one in operands if one.startswith("/dev/")]
            devices = [device for word in named for device in _expanded(word)]
            if len(devices) >= 2 and not any(set("*?[{$`") & set(one) for one in devices):
                self._made(devices[0], devices[1:])
                return True
        return False


def _with(known: Mapping[str, _T], key: str, value: _T) -> Mapping[str, _T]:
    if len(known) >= _MOST_DEVICES or known.get(key) == value:
        return known
    return {**known, key: value}


def _operands(words: list[str]) -> list[str]:
    """What is not an option, nor the value of one."""
    before = ["", *words]
    return [
        word
        for option, word in zip(before, words, strict=False)
        if not word.startswith("-") and option not in _WITH_VALUE
    ]


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


# --------------------------------------------------------------- headings and sentences

_EBS = "gp2|gp3|io1|io2|st1|sc1"
_TYPE = re.compile(rf"(?<![\w-])({_EBS})(?![\w-])", re.ASCII | re.IGNORECASE)
_NETWORK = re.compile(r"\b(?:EBS|elastic block)\b(?![ -]opti)", re.IGNORECASE)
# A machine's link is said of machines that are measured on their own disks, too.
_LINK = re.compile(r"\d ?G(?:bps|bit|b/s)", re.IGNORECASE)
_LOCAL = re.compile(
    r"\binstance[ -]stor(?:e|age)\b|\bephemeral\b|\blocal (?:nvme|ssd)s?\b"
    r"|\bnvme (?:ssd|disk|drive|instance)",
    re.IGNORECASE,
)
# What makes another target of a heading's section. Words of the workload are not among them.
_SUBJECT = re.compile(
    rf"\b(ebs|{_EBS}|instance stor(?:e|age)|ephemeral|local ssd|nvme|ssd|hdd"
    r"|raid|raid ?-?\d{1,2}|strip(?:e|ed|ing)|lvm|mdadm|single|multi\w*|without|raw"
    r"|root|boot|\d{1,3} ?(?:x|×)|(?:x|×) ?\d{1,3}|\d{1,5} ?(?:gib|gb|tib|tb)"
    r"|\d[\d,]{0,8} ?iops)\b",
    re.IGNORECASE | re.ASCII,
)
_COUNT = re.compile(
    rf"(?<![\w.])(\d{{1,2}}) ?(?:x|×)(?= ?\d| ?(?:{_EBS}|ebs)\b)"
    r"|(?:x|×) ?(\d{1,2})\b(?! ?iops)"
    rf"|(?<![\w.])(\d{{1,2}}) (?:{_EBS}) ",
    re.IGNORECASE | re.ASCII,
)
_SINGLE = re.compile(r"\b(?:single|one)\b", re.IGNORECASE)
_IOPS = re.compile(r"(?<![\w.])(\d[\d,]{0,8}(?:\.\d)?k?) ?(?:provisioned )?iops\b", re.IGNORECASE)
_SIZE = re.compile(r"(?<![\w.])(\d{1,5}(?:\.\d{1,3})?) ?(GiB|GB|TiB|TB)\b(?!/s)", re.IGNORECASE)
_RATE = re.compile(r"(?<![\w.])(\d{1,5}) ?(MiB|MB)/s", re.IGNORECASE)


def volume(line: str) -> Volume | None:
    """``io1 of 300GB @ 15000iops``, ``gp3 @ 6 x 2500iops`` -> what each volume has.

    People write GB for the GiB of a volume, and MB/s for the MiB/s that it is given.
    """
    types = {found.lower() for found in _TYPE.findall(line)}
    if len(types) != 1:
        return None
    size, iops, rate = (one.search(line) for one in (_SIZE, _IOPS, _RATE))
    amount = units_printed.number(size[1]) if size else None
    if size and amount is not None and size[2][:1].lower() == "t":
        amount *= 1024
    asked = units_printed.count(iops[1]) if iops else None
    return Volume(
        type=types.pop(),
        size_gib=amount or None,
        iops=asked or None,
        throughput_bytes_per_s=int(rate[1]) * MIB if rate else None,
    )


def volume_count(line: str) -> int:
    """How many volumes a line says there are, 0 if it does not."""
    if found := _COUNT.search(line):
        return int(found[1] or found[2] or found[3])
    return 1 if _SINGLE.search(line) else 0


def kind(line: str) -> str:
    """``network``, ``instance-store``, or empty where the line says neither or both."""
    named = _NETWORK.search(line) and not _LINK.search(line)
    network, local = bool(named or _TYPE.search(line)), bool(_LOCAL.search(line))
    if network == local:
        return ""
    return "network" if network else "instance-store"


def subject(heading: str) -> frozenset[str]:
    """The words by which headings name another target; empty where it names none."""
    return frozenset(found.lower() for found in _SUBJECT.findall(heading))
