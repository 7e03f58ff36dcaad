"""What a heading or sentence says about the storage that is measured below it. Pure."""

from __future__ import annotations

import re

from appliance.clouds.volumes import MIB, Volume
from appliance.fio_import import units_printed

_LONGEST_LINE = 2000
_TYPE = re.compile(r"(?<![\w-])(gp2|gp3|io1|io2|st1|sc1)(?![\w-])", re.ASCII | re.IGNORECASE)
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
    r"\b(ebs|gp2|gp3|io1|io2|st1|sc1|instance stor(?:e|age)|ephemeral|local ssd|nvme|ssd|hdd"
    r"|raid|raid ?-?\d{1,2}|strip(?:e|ed|ing)|lvm|mdadm|single|multi\w*|without|raw"
    r"|root|boot|\d{1,3} ?(?:x|×)|(?:x|×) ?\d{1,3}|\d{1,5} ?(?:gib|gb|tib|tb)"
    r"|\d[\d,]{0,8} ?iops)\b",
    re.IGNORECASE | re.ASCII,
)
_COUNT = re.compile(
    r"(?<![\w.])(\d{1,2}) ?(?:x|×)(?= ?\d| ?(?:gp2|gp3|io1|io2|st1|sc1|ebs)\b)"
    r"|(?:x|×) ?(\d{1,2})\b(?! ?iops)"
    r"|(?<![\w.])(\d{1,2}) (?:gp2|gp3|io1|io2|st1|sc1) ",
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
    line = line[:_LONGEST_LINE]
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
    found = _COUNT.search(line[:_LONGEST_LINE])
    if found is not None:
        return int(found[1] or found[2] or found[3])
    return 1 if _SINGLE.search(line[:_LONGEST_LINE]) else 0


def kind(line: str) -> str:
    """``network``, ``instance-store``, or empty where the line says neither or both."""
    line = line[:_LONGEST_LINE]
    named = _NETWORK.search(line) and not _LINK.search(line)
    network = bool(named or _TYPE.search(line))
    local = bool(_LOCAL.search(line))
    if network == local:
        return ""
    return "network" if network else "instance-store"


def subject(heading: str) -> frozenset[str]:
    """The words by which headings name another target; empty where it names none."""
    return frozenset(found.lower() for found in _SUBJECT.findall(heading[:_LONGEST_LINE]))
