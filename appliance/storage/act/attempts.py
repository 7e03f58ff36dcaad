"""Boots that ended while volumes were being brought up, in a row.

A panic starts the machine again. Where bringing a volume up is what panics the kernel (a damaged
filesystem, a driver, a dying disk), it would go round for ever, and the only way in would be
between two panics. After :data:`MOST` such boots the volumes are left alone.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from appliance import files
from appliance.errors import Refused

MOST = 3
_BOOT = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_MAX_CHARACTERS = 1024


@contextlib.contextmanager
def counted(path: Path, boot_id: str) -> Iterator[None]:
    """While volumes are brought up, have ``path`` say on the disk that ``boot_id`` is at it.

    Raises :class:`Refused` if each of the last :data:`MOST` boots ended in the middle of that. A
    disk that cannot be written to counts nothing and refuses nothing.
    """
    before = [one for one in _read(path) if one != boot_id]
    if len(before) >= MOST:
        raise Refused(
            f"the last {len(before)} boots each ended while volumes were being brought up,"
            " without a shutdown; no disk is touched",
            "see what ended them (stripewright drift list, journalctl -b -1), then as root:"
            f" rm {path} && systemctl restart stripewright-assemble.service",
        )
    with contextlib.suppress(OSError):
        files.replace_text(path, "\n".join([*before, boot_id, ""]), durable=True)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def _read(path: Path) -> list[str]:
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            return [one for one in file.read(_MAX_CHARACTERS).split() if _BOOT.fullmatch(one)]
    except OSError:
        return []
