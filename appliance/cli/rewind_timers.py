"""What root's unit runs when the clock was set."""

from __future__ import annotations

import os
import time

from appliance import paths, text
from appliance.cli.unit_entrypoints import need_root
from appliance.drift import hostlook
from appliance.errors import EXIT_FAILED, EXIT_OK, OperatorError
from appliance.system import journal, services


def rewind_timers() -> int:
    """Let our timers of which the last time lies ahead count from now; 1 if one could not.

    systemd rewinds a timer that waits when the clock is put back, and forgets one whose unit is at
    work: when that has ended, the next time is counted from the one that lies ahead.
    """
    need_root()
    failed = False
    now = time.time()
    for timer, at in sorted(hostlook.stamps_ahead(paths.TIMER_STAMPS, now).items()):
        try:
            # Systemd takes no stamp that is not older than now.
            before = (now - 1, now - 1)
            os.utime(paths.TIMER_STAMPS / f"stamp-{timer}", before, follow_symlinks=False)
            services.restart_if_active(timer)
        except (OSError, OperatorError) as error:
            failed, priority = True, journal.Priority.ERROR
            said = f"it could not be set to the present: {error}"
        else:
            priority, said = journal.Priority.WARNING, "it now counts from the present"
        journal.event(
            journal.Event.TIMERS_REWOUND,
            f"{timer} last fired at {text.moment(at)}, when the clock was ahead; {said}",
            priority=priority,
            timer=timer,
        )
    return EXIT_FAILED if failed else EXIT_OK
