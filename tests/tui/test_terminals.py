"""Every screen on every kind of terminal: ASCII alone, 16 colours, themes, sizes, paste, mouse."""

import argparse
import json
import os

import pytest
from rich.color import Color as RichColor
from rich.color import ColorSystem
from textual import events
from textual.color import Color
from textual.command import CommandPalette
from textual.widgets import DataTable, Input

from appliance.cli import status
from appliance.cli.command import parser
from appliance.cli.main import commands, main
from appliance.history.store import History
from appliance.model.runs import RunState
from tests.tui.driving import notices, resized, settled
from tests.tui.fakes import running_snapshot, screen_text, snapshot, stage
from tests.unit.histories import begin
from tui import marks, plain, start
from tui.app import StripewrightApp
from tui.tabs import TABS
from tui.terminal import LIGHT_THEME, POOR_THEME, RICH_THEME, THEMES, Policy, TerminalUnusable
from tui.theme import DARK, LIGHT
from tui.widgets.table import Column, FilterTable, Row

ASCII_ONLY = Policy(ascii_only=True, theme=POOR_THEME, remote=True)
every_tab = pytest.mark.parametrize("tab", TABS, ids=[tab.mode for tab in TABS])
SIZES = [(40, 10), (240, 70), (20, 5), (80, 24)]


def beyond_ascii(app):
    return {char for char in screen_text(app) if char != "\n" and not " " <= char <= "~"}


async def opened(pilot, acted, *keys):
    await pilot.press(*keys)
    await settled(pilot)
    await settled(pilot)
    return beyond_ascii(acted.app)


# -- ASCII alone


@every_tab
async def test_a_poor_terminal_gets_ascii_alone(tab):
    """Also what Textual draws: keys in the footer, borders, scroll bars, inputs, toasts."""
    acted = stage(running_snapshot(), policy=ASCII_ONLY)
    async with acted.app.run_test(size=(80, 24), notifications=True) as pilot:
        await settled(pilot)
        assert await opened(pilot, acted, tab.key) == set()
        if list(acted.app.screen.query(DataTable)):
            assert await opened(pilot, acted, "slash", "x") == set()
            await pilot.press("escape")
        for key in [
            entry.binding.key
            for entry in acted.app.screen.active_bindings.values()
            if (entry.binding.id or "").partition(".")[0] == tab.mode
        ]:
            # Whatever it opens, if it can be done at all.
            assert await opened(pilot, acted, key) == set(), key
            while len(acted.app.screen_stack) > 1:
                await pilot.press("escape")
                await settled(pilot)
        acted.app.tell("an error, said for a while", "error")
        assert await opened(pilot, acted) == set()
        assert await opened(pilot, acted, "question_mark") == set()


async def test_the_palette_is_ascii_too():
    acted = stage(snapshot(), policy=ASCII_ONLY)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert await opened(pilot, acted, "ctrl+p") == set()
        assert isinstance(acted.app.screen, CommandPalette)
        assert await opened(pilot, acted, "d", "i", "s") == set()
        assert "every disk, and why it is used or not" in screen_text(acted.app)


@pytest.mark.parametrize(
    ("shown", "text"), [("⏎", "enter"), ("←", "left"), ("^p", "^p"), ("⌘x", "?x"), ("q", "q")]
)
def test_keys_have_names_of_ascii(shown, text):
    assert plain.key_text(shown) == text


# -- colours


def colours_of(app):
    """Names of all colours that would be sent."""
    ground = app.screen.background_colors[1]
    found = set()
    for drawn in app.screen._compositor.render_strips():
        strip = drawn
        for line_filter in app._filters:
            if line_filter.enabled:
                strip = strip.apply_filter(line_filter, ground)
        for part in strip:
            for colour in (part.style.color, part.style.bgcolor) if part.style else ():
                if colour is not None and not colour.is_default:
                    found.add(colour)
    return found


@every_tab
async def test_the_terminals_own_colours_are_its_sixteen(tab):
    policy = Policy(ascii_only=False, theme=POOR_THEME, remote=True)
    acted = stage(running_snapshot(), policy=policy)
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(tab.key)
        await settled(pilot)
        used = colours_of(acted.app)
        assert used
        assert all(colour.number is not None and colour.number < 16 for colour in used), used


both_themes = pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
GROUNDS = ("background", "surface", "panel", "cursor")
TEXTS = ("foreground", "foreground-muted", "primary", "success", "warning", "error", "accent")
DRAWN = ("secondary", "rule", "grid", "band")


def palette_of(theme):
    return theme.to_color_system().generate() | theme.variables


@both_themes
def test_text_can_be_read_on_every_ground(theme):
    """WCAG 2.2, 1.4.3: 4.5 to 1; also on the row under the cursor, and on a focused button."""
    colours = {name: Color.parse(palette_of(theme)[name]) for name in (*GROUNDS, *TEXTS, *DRAWN)}
    for text in (*TEXTS, "secondary"):
        for ground in GROUNDS:
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for ground in ("primary", "error"):
        assert contrast(colours["background"], colours[ground]) >= 4.5, ground


@both_themes
def test_256_colours_show_what_was_chosen(theme):
    """Over SSH and in tmux: what Rich makes of a colour there is that colour."""
    palette = palette_of(theme)
    for name in {*GROUNDS, *TEXTS, *DRAWN, *theme.variables}:
        colour = RichColor.parse(palette[name])
        sent = colour.downgrade(ColorSystem.EIGHT_BIT)
        assert sent.number >= 16, name
        assert sent.get_truecolor() == colour.get_truecolor(), name


@both_themes
def test_16_colours_can_be_read(theme):
    """Where they are asked for by name: whatever is wrong is neither its ground nor plain text."""
    palette = palette_of(theme)
    sent = {
        name: RichColor.parse(palette[name]).downgrade(ColorSystem.STANDARD).number
        for name in (*GROUNDS, *TEXTS)
    }
    for ground in GROUNDS:
        for text in TEXTS:
            assert sent[text] != sent[ground], (text, ground)
    assert sent["error"] not in {sent["foreground"], sent["success"], sent["warning"]}


@both_themes
@every_tab
async def test_a_screen_sends_only_colours_of_256(tab, theme):
    policy = Policy(ascii_only=False, theme=theme.name, remote=True)
    acted = stage(running_snapshot(), policy=policy)
    async with acted.app.run_test(size=(80, 24), notifications=True) as pilot:
        await settled(pilot)
        await pilot.press(tab.key)
        acted.app.tell("said for a while", "error")
        await settled(pilot)
        for colour in colours_of(acted.app):
            sent = colour.downgrade(ColorSystem.EIGHT_BIT)
            assert sent.get_truecolor() == colour.get_truecolor(), colour


async def test_a_severity_keeps_its_colour_under_the_cursor():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        table = acted.app.screen.query_one(FilterTable)
        table.show(
            [Column("state", 8)],
            [Row("bad", (("wrong", marks.BAD),)), Row("good", (("right", marks.GOOD),))],
            width=78,
            glyphs=marks.UNICODE,
        )
        table.move_to("bad")
        await settled(pilot)
        part = next(
            part
            for strip in acted.app.screen._compositor.render_strips()
            for part in strip
            if "wrong" in part.text
        )
        palette = palette_of(DARK)
        assert part.style.color.get_truecolor() == RichColor.parse(palette["error"]).triplet
        assert part.style.bgcolor.get_truecolor() == RichColor.parse(palette["cursor"]).triplet


def contrast(one, other):
    """As WCAG defines it, of the relative luminance of sRGB."""

    def luminance(colour):
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
            for part in colour.normalized
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


async def test_themes_are_changed_in_the_palette():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for words, theme in (
            ("theme: light", LIGHT_THEME),
            ("theme: terminal", POOR_THEME),
            ("theme: dark", RICH_THEME),
        ):
            await pilot.press("ctrl+p")
            await settled(pilot)
            await pilot.press(*["space" if char == " " else char for char in words])
            # The palette looks for commands in a task of its own.
            await acted.app.workers.wait_for_complete()
            await settled(pilot)
            await pilot.press("enter")
            await settled(pilot)
            await settled(pilot)
            assert acted.app.theme == theme
            assert "HEALTHY" in screen_text(acted.app)
            own = theme == POOR_THEME
            used = colours_of(acted.app)
            assert all((colour.number is not None) is own for colour in used)


# -- sizes


@every_tab
async def test_every_screen_survives_every_size(tab):
    acted = stage(running_snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(tab.key)
        await settled(pilot)
        for width, height in SIZES:
            await resized(pilot, width, height)
            acted.give(running_snapshot())
            await settled(pilot)
            rows = screen_text(acted.app).splitlines()
            assert len(rows) == height
            assert all(len(row) <= width for row in rows)
            assert rows[0].strip().startswith("strip")
            await pilot.press("question_mark")
            await settled(pilot)
            await pilot.press("escape")
        assert acted.app.is_running


# -- keys, paste, mouse


async def test_pasting_into_a_screen_presses_no_keys():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        acted.app.post_message(events.Paste("q\ns\ny"))
        await settled(pilot)
        assert acted.app.is_running
        assert acted.control.calls == []
        assert len(acted.app.screen_stack) == 1
        await pilot.press("2", "slash")
        acted.app.post_message(events.Paste("AWS00003EXAMPLE\nq"))
        await settled(pilot)
        table = acted.app.screen.query_one(DataTable)
        assert table.row_count == 1
        assert acted.app.is_running


async def test_nothing_moves_for_its_own_sake():
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert acted.app.animation_level == "none"
        await pilot.press("2", "slash")
        await settled(pilot)
        words = acted.app.screen.query_one("#filter", Input)
        assert words.has_focus
        assert not words.cursor_blink
        assert words._cursor_visible
        await pilot.press("escape", "ctrl+p")
        await settled(pilot)
        assert not acted.app.screen.query_one(Input).cursor_blink


# -- starting


@pytest.fixture
def started(monkeypatch, tmp_path):
    """What the application was made of and run with, instead of running it."""
    calls = []
    monkeypatch.setattr(
        StripewrightApp, "run", lambda app, **given: calls.append((app.world, given))
    )
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("appliance.system.services.systemd_is_running", lambda: True)
    return calls


def tui(*words):
    return main(["tui", *words])


def test_the_command_line_says_how_to_start(started, monkeypatch):
    monkeypatch.setattr("sys.stdin", argparse.Namespace(isatty=lambda: True))
    monkeypatch.setattr("sys.stdout", argparse.Namespace(isatty=lambda: True, flush=lambda: None))
    assert tui() == 0
    assert tui("--readonly", "--theme", "light") == 0
    assert tui("--mouse") == 0
    (usual, how), (readonly, _), (_, mouse) = started
    assert (usual.unable, usual.history, usual.policy.theme) == ("", "", RICH_THEME)
    # The mouse stays the terminal's, which selects text with it.
    assert how == {"mouse": False}
    assert mouse == {"mouse": True}
    assert readonly.unable == "the screens were started with --readonly"
    assert readonly.policy.theme == LIGHT_THEME


def test_there_are_the_themes_that_the_command_line_names():
    choices = next(
        action.choices
        for action in parser(commands("tui"))._subparsers._group_actions[0].choices["tui"]._actions
        if action.dest == "theme"
    )
    assert set(choices) == set(THEMES)


def test_a_theme_by_name_wins_over_no_color(started, monkeypatch, tmp_path):
    monkeypatch.setenv("NO_COLOR", "1")
    start.run(tmp_path / "some.db", theme="terminal")
    assert os.environ["NO_COLOR"] == "1"
    start.run(tmp_path / "some.db", theme="dark")
    assert "NO_COLOR" not in os.environ
    assert started[-1][0].policy.theme == RICH_THEME


def test_a_dumb_terminal_is_refused_and_told_the_status(monkeypatch, capsys):
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdin", argparse.Namespace(isatty=lambda: True))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    told = []
    monkeypatch.setattr(status, "status", lambda *, db, as_json: told.append(db) or 0)
    assert tui() == 0
    assert len(told) == 1
    assert "TERM=dumb" in capsys.readouterr().err
    with pytest.raises(TerminalUnusable):
        start.run(told[0])


def test_without_a_terminal_another_history_is_shown_and_not_this_machine(
    monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr("sys.stdin", argparse.Namespace(isatty=lambda: True))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr(status, "status", lambda **_: pytest.fail("this machine was asked"))
    db = tmp_path / "copy.db"
    with History.open_writable(db) as history:
        history.finish_run(begin(history, time_factor=1.0), RunState.COMPLETE)
    monkeypatch.setenv("TERM", "dumb")
    assert tui("--db", str(db)) == 0
    assert "run 1: smoke complete" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: False, raising=False)
    assert tui("--db", str(db), "--json") == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["run"] == 1


async def test_readonly_disables_whatever_changes_anything():
    why = "the screens were started with --readonly"
    acted = stage(running_snapshot(), unable=why)
    async with acted.app.run_test(size=(100, 50)) as pilot:
        await settled(pilot)
        await pilot.press("s", "x")
        await settled(pilot)
        assert notices(acted.app) == [f"Start smoke: {why}", f"Cancel: {why}"]
        await pilot.press("question_mark")
        await settled(pilot)
        assert f"not now: {why}" in screen_text(acted.app)
