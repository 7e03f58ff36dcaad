"""The kernel's io.cost settings, and systemd's hwdb of them. Pure.

Formats: Documentation/admin-guide/cgroup-v2.rst (io.cost.model, io.cost.qos); systemd's
src/udev/iocost, which writes properties of the hwdb to these two files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from appliance.model.toml_table import Document, shown
from appliance.presets.preset import MAX_LINES, Figure, Preset, Quantity, Scope, amount

DEVICE = re.compile(r"([0-9]{1,4}:[0-9]{1,7})(?: +(.*))?", re.ASCII)
MATCH = "block:"
_PROPERTY = re.compile(r" +IOCOST_(SOLUTIONS|MODEL_[A-Z0-9_]{1,40}|QOS_[A-Z0-9_]{1,40})=(.*)")
_MODEL = {
    "rbps": Quantity.READ_BANDWIDTH,
    "rseqiops": None,
    "rrandiops": Quantity.READ_IOPS,
    "wbps": Quantity.WRITE_BANDWIDTH,
    "wseqiops": None,
    "wrandiops": Quantity.WRITE_IOPS,
}
_LATENCIES = ("rlat", "wlat")
_PERCENT = re.compile(r"[0-9]{1,5}(?:\.[0-9]{1,2})?", re.ASCII)
_PERCENTS = ("rpct", "wpct", "min", "max")
_WORDS: Mapping[str, tuple[str, ...]] = {
    "ctrl": ("auto", "user"),
    "model": ("linear",),
    "enable": ("0", "1"),
}
_OF_MODEL = frozenset({"ctrl", "model", *_MODEL})
_OF_QOS = frozenset({"enable", "ctrl", *_LATENCIES, *_PERCENTS})
_MERGED = "sequential 4 KiB I/Os are merged on their way: nothing is published of them"
_TARGET = "a latency to keep, in µs: nothing is published of it"


def presets(document: Document) -> tuple[Preset, ...]:
    """The presets of a file in their order; :class:`UsageError` names what is wrong in it."""
    lines = document.text.splitlines()
    if len(lines) > MAX_LINES:
        document.fail("file", f"more than {MAX_LINES:,} lines", "split it", MAX_LINES + 1)
    return tuple(_presets(document, lines))


def _presets(document: Document, lines: list[str]) -> Iterator[Preset]:
    device = ""
    for number, line in enumerate(lines, start=1):
        if not line.strip(" ") or line.startswith("#"):
            continue
        if line.startswith(MATCH):
            device = line
        elif found := DEVICE.fullmatch(line.rstrip(" ")):
            yield _preset(document, found[1], found[2] or "", number)
        elif device and (found := _PROPERTY.fullmatch(line.rstrip(" "))):
            if found[1] != "SOLUTIONS":
                yield _preset(document, f"{found[1]} of {device}", found[2], number)
        else:
            document.fail(
                "file",
                f"{shown(line)} is no setting of io.cost",
                "allowed: 'MAJ:MIN key=value …', or below a line 'block:…' the properties"
                " IOCOST_SOLUTIONS, IOCOST_MODEL_… and IOCOST_QOS_…",
                number,
            )


def _preset(document: Document, place: str, settings: str, line: int) -> Preset:
    """A line of either kind: both have ``ctrl``, but no other key."""
    values: dict[str, str] = {}
    for word in settings.split(" "):
        if not word:
            continue
        key, equals, value = word.partition("=")
        if not equals or key not in _OF_MODEL | _OF_QOS:
            known = ", ".join(sorted(_OF_MODEL | _OF_QOS))
            document.fail(place, f"{shown(word)} is not known", f"allowed: {known}", line)
        if key in values:
            document.fail(f"{place} {key}", "is there twice", "leave one of them", line)
        values[key] = value
    if not values.keys() <= _OF_MODEL and not values.keys() <= _OF_QOS:
        document.fail(place, "has keys of io.cost.model and of io.cost.qos", "one line each", line)
    figures = []
    for key, value in values.items():
        where = f"{place} {key}"
        if key in _MODEL:
            unit = "bytes_per_s" if key.endswith("bps") else "iops"
            why = "" if _MODEL[key] else _MERGED
            found = amount(document, where, value, line)
            figures.append(Figure(key, found, unit, line, _MODEL[key], why))
        elif key in _LATENCIES:
            found = amount(document, where, value, line, least=0)
            figures.append(Figure(key, found, "us", line, None, _TARGET))
        elif key in _PERCENTS:
            if not _PERCENT.fullmatch(value):
                hint = "allowed: a percentage, such as 95.00"
                document.fail(where, f"{shown(value)} is no percentage", hint, line)
        elif value not in _WORDS[key]:
            allowed = f"allowed: {' or '.join(_WORDS[key])}"
            document.fail(where, f"{shown(value)} is not known", allowed, line)
    return Preset(place, Scope.DISK, tuple(figures))
