"""JSON documents in a text with anything around them. Pure; linear in the text's length.

fio's documents begin with ``{ "fio version"``, or with another of its top level's keys where
somebody sorted them. From one beginning to the next there is at most one document: a part
that is cut off is closed after its last whole value, and one with foreign lines in it is
read without them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_BEGIN = re.compile(
    r'\{\s*"(?:fio version|jobs|disk_util|client_stats|global options|time(?:stamp(?:_ms)?)?)"'
)
# Possessive: what was read is not given back, so that no string of 40 MB is remembered twice.
_TOKEN = re.compile(r'"(?:[^"\\\n]++|\\.)*+"?|[{}\[\],]')
_JSON_LINE = re.compile(r'\s*(?:["{}\[\]]|-?\d|$)')
# No more digits than any counter has: Python refuses to convert numbers of thousands.
_MOST_DIGITS = 40
# A thousand jobs by json+ have some 5; decoded, they take up to thirty times as much.
MOST_CHARACTERS = 6 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Document:
    """One object with fio's ``jobs``, the characters it takes, and whether its end is missing."""

    value: dict[str, Any]
    start: int
    end: int
    cut: bool = False


def documents(text: str, notes: list[str]) -> Iterator[Document]:
    """Every fio document in ``text``, in order; what is not read is added to ``notes``."""
    decoder = json.JSONDecoder(parse_int=_whole)
    begin = _BEGIN.search(text)
    while begin is not None:
        start = begin.start()
        begin = _BEGIN.search(text, begin.end())
        # Cut out, because an error counts the lines from the beginning of what it was given.
        end = begin.start() if begin else len(text)
        part = text[start : min(end, start + MOST_CHARACTERS)]
        try:
            value, length = decoder.raw_decode(part)
            found = _document(value, start, start + length)
        except (ValueError, RecursionError):
            found = _repaired(decoder, part, start)
            if end - start > MOST_CHARACTERS:
                notes.append(
                    f"read only the first {MOST_CHARACTERS // 1024**2} Mi characters of a "
                    "JSON document"
                )
        if found is not None:
            yield found


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) < _MOST_DIGITS else float("inf")


def _document(value: object, start: int, end: int, *, cut: bool = False) -> Document | None:
    if not isinstance(value, dict):
        return None
    if not any(isinstance(value.get(key), list) for key in ("jobs", "client_stats")):
        return None
    return Document(value, start, end, cut)


def _repaired(decoder: json.JSONDecoder, part: str, start: int) -> Document | None:
    lines = part.split("\n")
    clean = [line for line in lines if _JSON_LINE.match(line)]
    if len(clean) < len(lines):
        try:
            value, _ = decoder.raw_decode("\n".join(clean))
        except (ValueError, RecursionError):
            pass
        else:
            last = part.rfind("\n}")
            return _document(value, start, start + (last + 2 if last > 0 else len(part)))
    # A terminal or a mail program broke lines within strings.
    for between in (" ", "") if "\n" in part else ():
        try:
            value, length = decoder.raw_decode(part.replace("\n", between))
        except (ValueError, RecursionError):
            continue
        # With a space for each line's end nothing moves.
        return _document(value, start, start + (length if between else len(part)))
    closed = _closed(part)
    if closed is None:
        return None
    try:
        value = decoder.decode(closed[0])
    except (ValueError, RecursionError):
        return None
    return _document(value, start, start + closed[1], cut=True)


def _closed(part: str) -> tuple[str, int] | None:
    """``part`` up to its last whole value, with what is open closed, and how far that is."""
    stack: list[str] = []
    safe, depth = 0, 0
    for token in _TOKEN.finditer(part):
        mark = token[0][0]
        if mark == '"' and (len(token[0]) == 1 or token[0][-1] != '"'):
            break
        if mark in "{[":
            stack.append("}" if mark == "{" else "]")
        elif mark in "}]":
            if not stack or stack.pop() != mark:
                break
            safe, depth = token.end(), len(stack)
            if not stack:
                break
        elif mark == ",":
            safe, depth = token.start(), len(stack)
    if not safe:
        return None
    return part[:safe] + "".join(reversed(stack[:depth])), safe
