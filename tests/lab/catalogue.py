"""The scenarios of tests/lab/catalogue, read and checked: every mistake names file and key.

A folder is a scenario: ``scenario.toml`` says which disks there are, what is done, and what
must come of it; ``layout.toml`` is what is declared, and none is the built-in default. What the
keys mean is in tests/lab/catalogue/README.md.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from tests.lab.rack import KINDS, MIB
from tests.lab.shapes import SHAPES

FOLDER = Path(__file__).parent / "catalogue"
DECISIONS = {"create", "assemble", "nothing", "grow", "recreate", "remove", "wait", "refuse"}
_SIZE = re.compile(r"([1-9][0-9]*)MiB")


class BadScenario(Exception):
    """``FILE: KEY: what is wrong``."""


@dataclass(frozen=True, slots=True)
class DiskBefore:
    """A disk as the scenario begins. ``shape`` is of tests/lab/shapes.py; empty: blank."""

    size_bytes: int = 64 * MIB
    kind: str = "local-ssd"
    serial: str = ""
    shape: str = ""
    label: str = ""
    byte_at: int | None = None
    plugged: bool = True
    read_only: bool = False
    discard: bool = True


@dataclass(frozen=True, slots=True)
class Expected:
    """What must come of a boot, a plan or an apply.

    ``decisions`` by volume name, ``""`` for the only one. ``reason`` and ``hint`` are fragments
    that must occur. ``touches`` are the only disks of which a byte may change.
    """

    decisions: Mapping[str, str] = field(default_factory=dict)
    exit: int = 0
    reason: tuple[str, ...] = ()
    message: tuple[str, ...] = ()
    touches: tuple[str, ...] = ()
    mounted: tuple[str, ...] = ()
    unmounted: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    destroys: tuple[str, ...] = ()
    error: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing that is done: a verb, its argument and, for the appliance's own, the outcome."""

    verb: str
    argument: Any
    expected: Expected
    where: str


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    what: str
    disks: Mapping[str, DiskBefore]
    deeds: tuple[Deed, ...]
    expected_disks: int | None
    machine_id: str
    files: Mapping[str, str]
    folder: Path
    provider: str = "gcp"


# Verbs of the appliance, which have an outcome, and what their argument is.
_OWN = {"boot": bool, "plan": dict, "apply": bool, "boot_late": dict, "boot_killed": float}
# Verbs of life, the operator and other software.
_OTHER: Mapping[str, type] = {
    "release": bool,
    "unplug": list,
    "plug": list,
    "blank": list,
    "enlarge": dict,
    "shape": dict,
    "put": dict,
    "run": list,
    "fails": list,
    "write": dict,
    "read": dict,
    "absent": list,
    "declare": str,
    "machine_id": str,
    "hold": str,
    "link": dict,
    "same_bytes": list,
}
_EXPECT_KEYS = {"decision", "exit", "reason", "message", "touches", "mounted", "unmounted",
                "commands", "never", "destroys", "error"}  # fmt: skip
_DEFAULT_ID = "0123456789abcdef0123456789abcdef"


def load_all(folder: Path = FOLDER) -> dict[str, Scenario]:
    """Every scenario by name, in order of their names."""
    return {one.parent.name: load(one.parent) for one in sorted(folder.glob("*/scenario.toml"))}


def load(folder: Path) -> Scenario:
    file = folder / "scenario.toml"
    source = f"{folder.name}/scenario.toml"
    try:
        table = tomllib.loads(file.read_text())
    except tomllib.TOMLDecodeError as error:
        raise BadScenario(f"{source}: {error}") from error
    _known(table, {"what", "machine", "disks", "do"}, source)
    machine = _get(table, "machine", dict, source, {})
    _known(machine, {"expected", "id", "files", "provider"}, f"{source}: machine")
    disks = {
        name: _disk(one, f"{source}: disks.{name}")
        for name, one in _get(table, "disks", dict, source, {}).items()
    }
    local = sum(one.kind == "local-ssd" and one.plugged for one in disks.values())
    expected = machine.get("expected", local)
    if expected != "unknown" and (isinstance(expected, bool) or not isinstance(expected, int)):
        raise BadScenario(f"{source}: machine.expected: a number or 'unknown'")
    deeds = _get(table, "do", list, source)
    return Scenario(
        name=folder.name,
        what=_get(table, "what", str, source),
        disks=disks,
        deeds=tuple(_deed(one, f"{source}: do[{at}]", disks) for at, one in enumerate(deeds)),
        expected_disks=None if expected == "unknown" else expected,
        machine_id=_get(machine, "id", str, source, _DEFAULT_ID),
        files=_get(machine, "files", dict, source, {}),
        folder=folder,
        provider=_get(machine, "provider", str, source, "gcp"),
    )


def _disk(table: Any, source: str) -> DiskBefore:
    if not isinstance(table, dict):
        raise BadScenario(f"{source}: a table is wanted, {{}} for a blank disk")
    _known(table, {one.name.replace("size_bytes", "size") for one in fields(DiskBefore)}, source)
    kind = _get(table, "kind", str, source, "local-ssd")
    shape = _get(table, "shape", str, source, "")
    if kind not in KINDS:
        raise BadScenario(f"{source}.kind: one of {', '.join(KINDS)}")
    if shape and shape not in SHAPES:
        raise BadScenario(f"{source}.shape: one of {', '.join(SHAPES)}")
    return DiskBefore(
        size_bytes=size_of(_get(table, "size", str, source, "64MiB"), f"{source}.size"),
        kind=kind,
        serial=_get(table, "serial", str, source, ""),
        shape=shape,
        label=_get(table, "label", str, source, ""),
        byte_at=_get(table, "byte_at", int, source, None),
        plugged=_get(table, "plugged", bool, source, True),
        read_only=_get(table, "read_only", bool, source, False),
        discard=_get(table, "discard", bool, source, True),
    )


def size_of(text: str, source: str) -> int:
    found = _SIZE.fullmatch(text)
    if not found:
        raise BadScenario(f"{source}: a whole number of MiB, as '64MiB'")
    return int(found.group(1)) * MIB


def _deed(table: Any, source: str, disks: Mapping[str, DiskBefore]) -> Deed:
    if not isinstance(table, dict):
        raise BadScenario(f"{source}: a table is wanted")
    verbs = [key for key in table if key in _OWN or key in _OTHER]
    if len(verbs) != 1:
        raise BadScenario(f"{source}: exactly one of {', '.join([*_OWN, *_OTHER])}")
    verb = verbs[0]
    _known(table, {verb, *(_EXPECT_KEYS if verb in _OWN else ())}, source)
    wanted = _OWN.get(verb) or _OTHER[verb]
    argument = _get(table, verb, wanted, source)
    named = argument if verb in {"unplug", "plug", "blank", "same_bytes"} else ()
    if verb in {"enlarge", "shape", "put"}:
        named = tuple(argument)
    expected = _expected(table, source)
    for name in (*named, *expected.touches):
        if name not in disks:
            raise BadScenario(f"{source}: there is no disk {name!r}")
    return Deed(verb, argument, expected, source)


def _expected(table: Mapping[str, Any], source: str) -> Expected:
    decision = table.get("decision", {})
    decisions = {"": decision} if isinstance(decision, str) else decision
    if not isinstance(decisions, dict) or not DECISIONS.issuperset(decisions.values()):
        raise BadScenario(f"{source}.decision: of {', '.join(sorted(DECISIONS))}")

    def texts(key: str) -> tuple[str, ...]:
        found = _get(table, key, list, source, [])
        if not all(isinstance(one, str) for one in found):
            raise BadScenario(f"{source}.{key}: a list of texts")
        return tuple(found)

    return Expected(
        decisions=decisions,
        exit=_get(table, "exit", int, source, 0),
        reason=texts("reason"),
        message=texts("message"),
        touches=texts("touches"),
        mounted=texts("mounted"),
        unmounted=texts("unmounted"),
        commands=texts("commands"),
        never=texts("never"),
        destroys=texts("destroys"),
        error=texts("error"),
    )


_NOTHING: Any = object()


def _get(
    table: Mapping[str, Any], key: str, wanted: type, source: str, default: Any = _NOTHING
) -> Any:
    if key not in table:
        if default is _NOTHING:
            raise BadScenario(f"{source}: {key} is missing")
        return default
    value = table[key]
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise BadScenario(f"{source}.{key}: {wanted.__name__} is wanted, not {value!r}")
    return value


def _known(table: Mapping[str, Any], keys: set[str], source: str) -> None:
    for key in table:
        if key not in keys:
            raise BadScenario(f"{source}.{key}: unknown; known are {', '.join(sorted(keys))}")
