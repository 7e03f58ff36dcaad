"""One static ``.mount`` unit for each declared volume: the text is pure, :func:`sync` writes it.

The executor mounts with mount(8) (docs/decisions/0015); the unit gives that mount an order
and a name that other units can require, and never mounts by itself (0022). Only files that
begin with our own line are ever replaced or removed: an administrator's unit for the same path
stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance.storage.act import files

_OURS = "# Written by Stripewright for the volume that layout.toml declares; it is replaced.\n"
_PLAIN = re.compile(r"[A-Za-z0-9:_.]", re.ASCII)


@dataclass(frozen=True, slots=True)
class MountUnit:
    """What one unit says. ``options`` are mount(8)'s, without ``nofail``."""

    volume: str
    device: str
    mount: str
    filesystem: str
    options: tuple[str, ...]


def unit_name(mount: str) -> str:
    """The unit's name for a mount point, as ``systemd-escape --path --suffix=mount`` makes it."""
    inner = mount.strip("/")
    if not inner:
        return "-.mount"
    escaped = ""
    for at, char in enumerate(inner):
        if char == "/":
            escaped += "-"
        elif _PLAIN.match(char) and not (char == "." and at == 0):
            escaped += char
        else:
            escaped += "".join(f"\\x{byte:02x}" for byte in char.encode())
    return f"{escaped}.mount"


def unit_text(unit: MountUnit) -> str:
    """The whole unit file."""
    options = ",".join(("nofail", *unit.options))
    return f"""{_OURS}[Unit]
Description=Striped volume {unit.volume}
# Not the default dependencies: they would order it before local-fs.target, and the stripes come
# up long after that.
DefaultDependencies=no
Conflicts=umount.target
Before=umount.target
# It is mounted by the boot unit, which also proves it. At shutdown the order is reversed:
# workloads, this mount, then the stripes are stopped.
Wants=stripewright-assemble.service
After=stripewright-assemble.service stripewright-release.service
# Never mounted by this unit: a volume that was refused may well have a device, and what requires
# the mount has to fail then. Not looked at while it is mounted: the unit is active by that.
AssertPathIsMountPoint={_quoted(unit.mount)}

[Mount]
What={_quoted(unit.device)}
Where={_quoted(unit.mount)}
Type={unit.filesystem}
Options={options}
# A big filesystem's log may have to be recovered.
TimeoutSec=30min
"""


def _quoted(path: str) -> str:
    """A path in a unit file: ``%`` begins a specifier there."""
    return path.replace("%", "%%")


def sync(folder: Path, units: Sequence[MountUnit], *, keep: Sequence[str]) -> list[str]:
    """Write ``units``, and remove ours of volumes that are no longer declared.

    ``keep`` are the mount points of all declared volumes: the unit of one that is not up
    stays as it is. Returns the names of the files that changed. Raises :class:`OSError`.
    """
    wanted = {unit_name(unit.mount): unit_text(unit) for unit in units}
    kept = {unit_name(mount) for mount in keep} | set(wanted)
    present = _present(folder)
    changed = []
    for name, text in wanted.items():
        path = folder / name
        if present.get(name) == text or (name not in present and path.exists()):
            continue
        files.replace_text(path, text, durable=True)
        changed.append(name)
    for name in sorted(set(present) - kept):
        (folder / name).unlink(missing_ok=True)
        changed.append(name)
    return changed


def _present(folder: Path) -> Mapping[str, str]:
    """Name -> text of the mount units in ``folder`` that are ours."""
    found = {}
    for path in folder.glob("*.mount"):
        if path.is_symlink() or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if text.startswith(_OURS):
            found[path.name] = text
    return found
