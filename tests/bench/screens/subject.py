"""The program that is measured: the real screens over the machine in a folder.

``python -c "from tests.bench.screens.subject import main; main()" FOLDER [SPEED]``. With
``SPEED`` all clocks run so many times as fast, and so do feed and repaints: an hour of the
screens passes in an hour divided by it.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from appliance import paths
from tests.bench.screens.places import Places


def main() -> None:
    places = Places(Path(sys.argv[1]))
    speed = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    # Before anything else is imported: everybody takes the places from there.
    for name, value in list(vars(paths).items()):
        if isinstance(value, Path):
            setattr(paths, name, places.root / value.relative_to("/"))

    from appliance.bench.sampler import read_counters
    from appliance.client.machine_status import Status, read_status
    from appliance.model.runs import Counters
    from tui.app import StripewrightApp
    from tui.feed import Feed
    from tui.machine import machine_world
    from tui.sources.machine import MachineSources
    from tui.terminal import decide

    sys_block = places.sys_block

    class Sources(MachineSources):
        def status(self) -> Status:
            return read_status(
                db=paths.HISTORY_DB,
                state_file=paths.STATE_FILE,
                mountinfo=places.mountinfo,
                sys_block=sys_block,
                next_run=self.next_run,
            )

        def counters(self, device: str) -> Counters | None:
            return read_counters(device, sys_block=sys_block)

    def clock() -> float:
        return time.monotonic() * speed

    began = time.time()

    def wall() -> float:
        return began + (time.time() - began) * speed

    world = machine_world(decide(os.environ))
    policy = replace(world.policy, interval_seconds=world.policy.interval_seconds / speed)
    sources = Sources(paths.HISTORY_DB)
    StripewrightApp(
        replace(
            world,
            feed=lambda post: Feed(sources, post, policy.interval_seconds, clock),
            policy=policy,
            # As on an appliance, whatever the machine that measures has.
            unable="",
            host="example",
            clock=clock,
            wall=wall,
        )
    ).run()
