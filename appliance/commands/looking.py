"""What root's look unit runs."""

from __future__ import annotations

import contextlib

from appliance.commands.work import need_root
from appliance.errors import EXIT_OK, OperatorError


def look_as_root() -> int:
    """Leave in /run what of drift only root can see, and start what was stopped by the way.

    Whatever does not answer is left out.
    """
    from appliance.commands import scheduling
    from appliance.drift import rootlook

    need_root()
    rootlook.look()
    with contextlib.suppress(OperatorError):
        scheduling.start_stopped()
    return EXIT_OK
