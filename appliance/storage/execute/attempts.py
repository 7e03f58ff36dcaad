"""Boots in a row in which bringing volumes up was cut off.

After a panic the machine restarts. If bringing a volume up is what panics the kernel (a damaged
filesystem, a driver, a dying disk), it would restart for ever. After :data:`MOST` such boots the
volumes are left alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from appliance.errors import Refused
from appliance.system import files

MOST = 3
_MAX_CHARACTERS = 1024


@contextlib.contextmanager
def counted(path: Path, boot_id: str) -> Iterator[None]:
    """Keep ``boot_id`` in ``path``, durably, while volumes are brought up.

    Raises :class:`Refused` if ``path`` holds :data:`MOST` other boots: each was cut off. If
    ``path`` cannot be written, nothing is counted and nothing is refused.
    """
    before = [one for one in _read(path) if one != boot_id]
    if len(before) >= MOST:
        raise Refused(
            f"bringing volumes up was cut off in each of the last {len(before)} boots;"
            " this time no disk is touched",
            "find out why (stripewright drift list, journalctl -b -1), then as root:"
            f" rm {path} && systemctl restart stripewright-assemble.service",
        )
    with contextlib.suppress(OSError):
        files.replace_text(path, "\n".join([*before, boot_id, ""]), durable=True)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
            files.sync_folder(path.parent)


def _read(path: Path) -> list[str]:
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            return file.read(_MAX_CHARACTERS).split()
    except OSError:
        return []
