"""Many applications in little time, and nothing in them that the time of day moves.

Waiting without sleeping: Textual's pilot sleeps until the process uses little CPU, 20 ms or more
for every key and longer on a busy machine. Here it waits until all messages are processed. And
the style sheets, which are the same for all, are parsed once for each set of colours.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from textual import _context
from textual import app as textual_app
from textual import pilot as textual_pilot
from textual.app import App
from textual.css.stylesheet import Stylesheet
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.timer import Timer

# So often in a row nobody may have a message: what one handler starts goes through several tasks.
_QUIET_ROUNDS = 12
_MOST_ROUNDS = 20_000
_MOST_REPAINTS = 20
# Textual's own timers, which draw, are faster.
_TICK_SECONDS = 0.5
_set_interval = MessagePump.set_interval
_parse_rules = Stylesheet._parse_rules
_parsed: dict[Any, Any] = {}


async def _until_quiet(min_sleep: float = 0, max_sleep: float = 1) -> None:
    app = _context.active_app.get(None)
    for _ in range(_MOST_REPAINTS):
        await _no_messages(app)
        if app is None or not app.screen_stack or not _awaits_repaint(app.screen):
            return
        # What the sixtieth of a second would do: lay out, repaint, call what waits for that.
        app.screen._on_timer_update()


def _awaits_repaint(screen: Screen) -> bool:
    return bool(
        screen._layout_required
        or screen._scroll_required
        or screen._repaint_required
        or screen._recompose_required
        or screen._dirty_widgets
        or screen._callbacks
    )


async def _no_messages(app: App | None) -> None:
    quiet = 0
    for _ in range(_MOST_ROUNDS):
        await asyncio.sleep(0)
        pumps = () if app is None else (app, *app._registry)
        # A batch is open while a handler, as of a new footer, waits for its widgets.
        busy = (app is not None and app._batch_count) or any(p.message_queue_size for p in pumps)
        quiet = 0 if busy else quiet + 1
        if quiet >= _QUIET_ROUNDS:
            return


@pytest.fixture(autouse=True)
def no_sleeping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textual_app, "wait_for_idle", _until_quiet)
    monkeypatch.setattr(textual_pilot, "wait_for_idle", _until_quiet)


@pytest.fixture(autouse=True)
def no_ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a test that takes a second or more on a busy machine no clock of its own may draw: what
    a screen does every second a test does itself.
    """
    monkeypatch.setattr(MessagePump, "set_interval", _paused)


def _paused(pump: MessagePump, interval: float, *given: Any, **named: Any) -> Timer:
    ticks = interval >= _TICK_SECONDS
    return _set_interval(pump, interval, *given, **{**named, "pause": ticks or named.get("pause")})


def _parse_once(sheet: Stylesheet, *given: Any, **named: Any) -> Any:
    key = (frozenset(sheet._variables.items()), given, tuple(named.items()))
    if key not in _parsed:
        _parsed[key] = _parse_rules(sheet, *given, **named)
    return _parsed[key]


@pytest.fixture(autouse=True)
def one_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stylesheet, "_parse_rules", _parse_once)
