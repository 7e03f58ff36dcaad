"""What root's look unit runs."""

from __future__ import annotations

from appliance.commands.work import need_root
from appliance.errors import EXIT_OK


def look_as_root() -> int:
    """Leave in /run what of drift only root can see. Whatever does not answer is left out."""
    from appliance.drift import rootlook

    need_root()
    rootlook.look()
    return EXIT_OK
