"""Serial numbers as disks tell them and as operators write them. Pure."""

from __future__ import annotations

from collections.abc import Iterable


def unpadded(text: str) -> str:
    """A serial as sysfs has it, without the blanks and zero bytes that fill its field up."""
    return text.rstrip("\0 \n").lstrip(" ")


def plain(text: str) -> str:
    """What two spellings of one disk's serial have in common, for comparing only.

    EBS shows a volume's id without its dash as the serial (``vol0abc…``); both are meant.
    """
    return text.replace("vol-", "vol", 1) if text.startswith("vol-") else text


def shared(one: Iterable[str], other: Iterable[str]) -> set[str]:
    """The disks that are in both, however they are written."""
    return {plain(text) for text in one} & {plain(text) for text in other}
