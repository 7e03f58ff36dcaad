"""Bytes of a file -> text: UTF-16, quoted-printable mail, quoted JSON. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

_ASTRAL = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{3}")
_QUOTED_JSON = re.compile(r'^[ \t]{0,3}>[> \t]{0,60}"(?:fio version|jobs)"', re.MULTILINE)
_QUOTATION = re.compile(r"^(?:[ \t]{0,3}>){1,20} ?", re.MULTILINE)
# Stands for a line that was joined with the one before it.
JOINED = "\x0b"
# In plain text fio writes no "=3D" behind its own words.
_MARK = re.compile(
    r"\b(?:IOPS|iops|BW|bw|io|avg|min|max|ios|rw|bs|err|groupid|jobs|usr|util|total|g)=3[Dd]",
    re.ASCII,
)
# A line that is encoded has no other "=", or a character of several bytes: without these "=95"
# is a figure.
_ESCAPED = re.compile(r"=3[Dd]|=[C-Fc-f][0-9A-Fa-f]=[89ABab][0-9A-Fa-f]", re.ASCII)
# The space before a broken line's end, where it is the only sign; not an option's 20.
_SPACE = re.compile(r"(?<!iodepth)(?<!numjobs)(?<!runtime)(?<!size)(?<!bs)=20\r?$", re.ASCII)
_ESCAPES = re.compile(r"(?:=[0-9A-Fa-f]{2})+", re.ASCII)
_SHORTEST_CUT = 60
# Mail has at most 76 characters a line, and no line of a report is longer than this.
_MOST_LINES = 16
_AT_A_TIME = 10_000


def decode(data: bytes) -> str:
    """Bytes as text; PowerShell writes UTF-16. Whatever is not text becomes U+FFFD."""
    utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if not utf16 and _ASTRAL.search(data):
        # A single one of these makes Python use four bytes for each character of the text.
        data = _ASTRAL.sub(b"\xef\xbf\xbd", data)
    text = _mail_decoded(data.decode("utf-16" if utf16 else "utf-8-sig", errors="replace"))
    if '"' in text and "\n>" in text and _QUOTED_JSON.search(text):
        # A document is read as a whole: its quotation marks go first.
        text = _QUOTATION.sub("", text)
    return text


def _mail_decoded(text: str) -> str:
    """``text`` with its quoted-printable lines (RFC 2045, section 6.7) decoded, and its lines where
    they were.

    Archives hand mail out as it was sent: ``IOPS=3D15.9M``, and lines cut with ``=`` at their end.
    A file may hold such mail beside plain text, so that each line tells for itself.
    """
    if ("=3D" not in text and "=3d" not in text) or not _MARK.search(text):
        return text
    # Some lines at a time: a line as an object is larger than the line.
    lines, parts = _lines(text), list[str]()
    while some := list(islice(lines, _AT_A_TIME)):
        parts.append("\n".join(some))
    return "\n".join(parts)


def _physical(text: str) -> Iterator[str]:
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def _lines(text: str) -> Iterator[str]:
    held: list[str] = []
    for line in _physical(text):
        end = line.rstrip("\r")
        # A row of "=" is a heading's.
        soft = end.endswith("=") and not end.endswith("==") and len(held) < _MOST_LINES
        soft = soft and (len(end) >= _SHORTEST_CUT or _ESCAPED.search(end) is not None)
        held.append(end[:-1] if soft else line)
        if not soft:
            yield from _whole(held)
            held = []
    yield from _whole(held)


def _whole(held: list[str]) -> Iterator[str]:
    if not held:
        return
    whole = "".join(held)
    if _ESCAPED.search(whole):
        whole = _ESCAPES.sub(_characters, whole)
    yield _SPACE.sub(" ", whole)
    yield from (JOINED,) * (len(held) - 1)


def _characters(found: re.Match[str]) -> str:
    return bytes.fromhex(found[0].replace("=", "")).decode("utf-8", errors="replace")
