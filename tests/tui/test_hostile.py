"""Text from disks, labels, files and errors is text: no markup, no control sequences."""

from dataclasses import replace

import pytest
from textual import events
from textual.widgets import DataTable

from appliance.model.disks import Signature
from appliance.model.measurement import Finding, Severity
from tests.tui.fakes import (
    RESULTS,
    RUNNING,
    STATUS,
    VOLUME,
    disk,
    run_record,
    screen_text,
    snapshot,
    stage,
)
from tui.terminal import POOR_THEME, Policy

CLICK = "[@click=app.quit]X"
RED = "[red]R[/red]"
CONTROL = "a\x1b[2J\x07\x9bb\u202ec\x00"
HOSTILE = [CLICK, CONTROL + RED, "l\nb\t$error[/]\\["]


def shown(text: str) -> str:
    return (
        text.replace("\x1b", "\\x1b")
        .replace("\x07", "\\x07")
        .replace("\x9b", "\\x9b")
        .replace("\u202e", "\\u202e")
        .replace("\x00", "\\x00")
        .replace("\n", "\\n")
        .replace("\t", "\\t")
    )


def hostile_status(text):
    finding = Finding(f"C{text}"[:20], Severity.BLOCK, f"finding {text}")
    evil = disk(
        1,
        serial=text[:20],
        model=text,
        reason=f"reason {text}",
        id=text,
        vendor=text[:8],
        signatures=(Signature(text, 0, text),),
    )
    return replace(
        STATUS,
        summary=f"sum {text}",
        hint=f"hint {text}",
        disks=(evil,),
        volumes=(replace(VOLUME, name=text[:12], mount=f"/mnt/{text}"),),
        last_run=run_record(suite=text, reason=f"why {text}", target=text, engine=text),
        last_results=(replace(RESULTS[0], job=text, findings=(finding,)),),
        history_problem=f"history {text}",
    )


def assert_clean(text):
    assert all(char == "\n" or char.isprintable() for char in text)


@pytest.mark.parametrize("text", HOSTILE)
async def test_hostile_text_is_shown_as_text_on_every_screen(text):
    acted = stage(snapshot(hostile_status(text), live_problem=text))
    async with acted.app.run_test(size=(140, 45)) as pilot:
        await pilot.pause()
        await pilot.pause()
        overview = screen_text(acted.app)
        assert f"sum {shown(text)}" in overview
        assert f"hint {shown(text)}" in overview
        # The column cuts it.
        assert f"finding {shown(text)}"[:24] in overview
        assert f"why {shown(text)}" in overview
        await pilot.press("2")
        await pilot.pause()
        await pilot.pause()
        disks = screen_text(acted.app)
        assert f"reason {shown(text)}" in disks
        assert shown(text[:20]) in disks.replace("…", "")
        await pilot.press("enter")
        await pilot.pause()
        detail = screen_text(acted.app)
        # A sheet is narrower, and wraps it.
        assert "reason" in detail
        assert shown(text) in detail
        for screen in (overview, disks, detail):
            assert_clean(screen)
        acted.app.notify(shown(text), markup=False)
        acted.give(snapshot(hostile_status(text), start_problem=text))
        await pilot.pause()
        assert acted.app.is_running


async def test_click_markup_in_a_serial_is_not_a_link():
    acted = stage(snapshot(hostile_status(CLICK)))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("2")
        await pilot.pause()
        await pilot.pause()
        table = acted.app.screen.query_one(DataTable)
        cells = [table.get_cell_at((0, column)) for column in range(6)]
        assert CLICK in [cell.plain.strip() for cell in cells]
        assert all("click" not in str(span.style) for cell in cells for span in cell.spans)
        for line, text in enumerate(screen_text(acted.app).splitlines()):
            if "[@click" in text:
                await pilot.click(offset=(text.index("[@click") + 2, line))
        await pilot.pause()
        assert acted.app.is_running


async def test_hostile_names_in_the_questions():
    status = replace(
        STATUS,
        running=replace(RUNNING, suite=CLICK, phase=RED),
        volumes=(replace(VOLUME, name=RED, mount=f"/mnt/{CLICK}"),),
    )
    acted = stage(snapshot(status))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.pause()
        await pilot.press("x")
        await pilot.pause()
        text = screen_text(acted.app)
        assert f"Stop suite {CLICK}?" in text
        assert f"now in {RED}" in text
        await pilot.press("escape")
        acted.give(snapshot(replace(status, running=None)))
        await pilot.pause()
        await pilot.press("s")
        await pilot.pause()
        text = screen_text(acted.app)
        assert f"Start suite smoke on {RED}?" in text
        assert CLICK in text


async def test_a_very_long_text_neither_breaks_the_layout_nor_takes_the_screen():
    status = replace(STATUS, summary="x" * 100_000, hint="y " * 50_000)
    acted = stage(snapshot(status))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.pause()
        text = screen_text(acted.app)
        assert "LAST SUITE smoke" in text
        assert all(len(line) <= 80 for line in text.splitlines())


async def test_no_color_means_no_colour_but_words_and_glyphs(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    policy = Policy(ascii_only=False, theme=POOR_THEME, remote=True)
    acted = stage(snapshot(), policy=policy)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        for keys in ((), ("2",), ("1", "s")):
            await pilot.press(*keys)
            await pilot.pause()
            ground = acted.app.screen.background_colors[1]
            strips = acted.app.screen._compositor.render_strips()
            colours = set()
            for unfiltered in strips:
                strip = unfiltered
                for line_filter in acted.app._filters:
                    if line_filter.enabled:
                        strip = strip.apply_filter(line_filter, ground)
                colours |= {
                    colour.name
                    for part in strip
                    if part.style
                    for colour in (part.style.color, part.style.bgcolor)
                    if colour is not None and not colour.is_default
                }
            assert colours == set(), keys


async def test_poor_terminal_gets_only_ascii_from_us():
    policy = Policy(ascii_only=True, theme=POOR_THEME, remote=True)
    acted = stage(snapshot(), policy=policy)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.pause()
        for keys in ((), ("2",), ("1", "s"), ("escape", "r"), ("escape", "question_mark")):
            await pilot.press(*keys)
            await pilot.pause()
            await pilot.pause()
            # the footer is Textual's, which draws keys such as the arrows
            body = "\n".join(screen_text(acted.app).splitlines()[:-1])
            assert {char for char in body if ord(char) > 126} == set(), keys


async def test_what_is_pasted_into_a_line_does_not_steer_the_terminal():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await pilot.press("2", "slash")
        await pilot.pause()
        acted.app.post_message(events.Paste(f"{CONTROL}\r\nmore"))
        await pilot.pause()
        await pilot.pause()
        assert acted.app.screen.query_one("#filter").value == shown(CONTROL)
