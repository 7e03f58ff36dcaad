"""Whether something else is using the disks before a run starts.

A measurement beside other load measures neither, and disturbs that load. The rule is
simple on purpose: a disk that was busy for more than 5 % of a two-second window is in use.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from appliance.bench import sampler
from appliance.bench.run_log import RunLog
from appliance.model.runs import Counters

MAX_FOREIGN_UTIL = 0.05
WINDOW_SECONDS = 2.0
# A short burst (a log being written) is waited out; a database at work is not.
PATIENCE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How busy the disks may be before a run, and how long to wait for them to be quieter."""

    max_foreign_util: float = MAX_FOREIGN_UTIL
    seconds: float = PATIENCE_SECONDS


def wait_until_idle(disks: Sequence[str], patience: Patience, log: RunLog) -> str:
    """Wait for ``disks`` to be quiet; the reason to skip the run if they never are."""
    log.begin_phase("check", expected_seconds=WINDOW_SECONDS)
    began = time.monotonic()
    before = first = sampler.read_all(disks)
    while disks:
        window_began = time.monotonic()
        while time.monotonic() - window_began < WINDOW_SECONDS:
            log.tick()
            time.sleep(0.1)
        after = sampler.read_all(disks)
        reason = foreign_load(
            before,
            after,
            seconds=time.monotonic() - window_began,
            max_util=patience.max_foreign_util,
        )
        if not reason or time.monotonic() - began >= patience.seconds:
            return reason
        if before is first:
            # Now it takes as long as the others do, and no longer than this.
            rest = patience.seconds - (time.monotonic() - began)
            log.begin_phase("check", expected_seconds=max(0.0, rest))
        before = after
    return ""


def foreign_load(
    before: dict[str, Counters],
    after: dict[str, Counters],
    *,
    seconds: float,
    max_util: float = MAX_FOREIGN_UTIL,
) -> str:
    """Why the disks are not quiet, in one sentence; empty if they are."""
    for device, counters in after.items():
        if device not in before:
            continue
        rate = sampler.rates(before[device], counters, seconds=seconds, at_ns=0)
        if rate.util > max_util:
            return (
                f"not started because of foreign load: {device} was busy {rate.util * 100:.0f} % "
                f"of the time ({rate.read_iops:.0f} reads, {rate.write_iops:.0f} writes a second), "
                f"and {max_util * 100:.0f} % is allowed"
            )
    return ""
