"""What root's look unit runs."""

from __future__ import annotations

import contextlib

from appliance.cli.unit_entrypoints import need_root
from appliance.errors import EXIT_OK, OperatorError


def look_as_root() -> int:
    """Leave in /run what of drift only root can see, and start what was stopped by the way.

    Whatever does not answer is left out.
    """
    from appliance.cli import schedule
    from appliance.drift import privileged_scan

    need_root()
    privileged_scan.look()
    with contextlib.suppress(OperatorError):
        schedule.start_stopped()
    return EXIT_OK
