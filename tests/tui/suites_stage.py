"""What the tests of the Suites screen share: a run with its figures, and getting to the screen."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

from tests.tui import driving
from tests.tui.driving import settled, until
from tests.tui.fake_suites import told
from tests.tui.fakes import (
    GIB,
    NOW,
    RESULTS,
    STATUS,
    VOLUME,
    live,
    run_record,
    running_snapshot,
    snapshot,
    stage,
)
from tui.app import StripewrightApp
from tui.tracks import second_of

LOGS = replace(VOLUME, name="logs", mount="/mnt/logs", free_bytes=1)
RAW = replace(VOLUME, name="raw", mount="", mounted=False, filesystem="none")
MORE = replace(VOLUME, name="more", mount="/mnt/more")


def followed():
    """Five minutes: half idle, then a stripe of which one member waits longer."""
    made = []
    for second in range(300):
        wave = 1 + 0.08 * ((second * 7919) % 13 - 6) / 6
        rows = live((1.6 if second > 200 else 0.4) * GIB * wave)
        slow = replace(rows[3], sample=replace(rows[3].sample, await_ms=0.9))
        rows = (*rows[:3], slow, rows[4])
        made.append(second_of(rows, NOW - 300 + second, made[-1] if made else None))
    return tuple(made)


RUNS = replace(running_snapshot(), seconds=followed(), live_jobs=(told(),))
ENDED = snapshot(replace(STATUS, last_run=run_record(id=42), last_results=RESULTS))


async def press(pilot, *keys):
    await driving.keys(pilot, *keys)
    await settled(pilot)


def suites_on(first, **others):
    """An application whose first screen is this one: the overview need not be drawn before."""
    with patch.object(StripewrightApp, "DEFAULT_MODE", "suites"):
        return stage(first, **others)


async def opened(pilot, *keys):
    await until(pilot, lambda: pilot.app.snapshot is not None)
    await settled(pilot)
    await press(pilot, *keys)


def on_smoke():
    """Keys from the first row to smoke."""
    return ("down", "down")
