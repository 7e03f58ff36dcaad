"""Sheets: what has the focus, how they are left, read and copied; choosing from a list."""

import pytest
from textual.content import Content
from textual.widgets import Button

from tests.tui.driving import keys, notices, pressed, resized, settled
from tests.tui.fakes import screen_text, snapshot, stage
from tui.screens.sheet import Item, Pick, Reply, Sheet
from tui.widgets.keys import Scroll

LONG = Content("\n".join(f"line {number}" for number in range(60)))


async def shown(pilot, sheet):
    answers = []
    await settled(pilot)
    pilot.app.push_screen(sheet, answers.append)
    await settled(pilot)
    await settled(pilot)
    return answers


async def test_a_harmless_question_is_answered_by_enter():
    async with stage(snapshot()).app.run_test(size=(80, 24)) as pilot:
        answers = await shown(pilot, Sheet("Start?", Content("it runs"), [Reply("do", "Start")]))
        assert pilot.app.focused.id == "do"
        await pressed(pilot, "enter")
        assert answers == ["do"]


async def test_what_cannot_be_undone_is_red_and_not_under_enter():
    async with stage(snapshot()).app.run_test(size=(80, 24)) as pilot:
        replies = [Reply("do", "Destroy", danger=True)]
        answers = await shown(pilot, Sheet("Destroy?", Content("all of it"), replies))
        assert pilot.app.focused.id == "leave"
        red = pilot.app.theme_variables["error"]
        button = pilot.app.screen.query_one("#do", Button)
        assert button.styles.color.hex.lower() == red
        await pressed(pilot, "right", "right")
        assert button.has_focus
        assert button.styles.background.hex.lower() == red
        await pressed(pilot, "left", "enter")
        assert answers == [""]


@pytest.mark.parametrize("key", ["q", "escape"])
async def test_leaving_a_sheet_leaves_the_sheet_alone(key):
    async with stage(snapshot()).app.run_test(size=(80, 24)) as pilot:
        answers = await shown(pilot, Sheet("Read", LONG))
        await pressed(pilot, key)
        assert answers == [""]
        assert pilot.app.is_running
        assert pilot.app._exit is False


async def test_a_long_text_is_read_with_the_keys_of_lists():
    async with stage(snapshot()).app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, Sheet("Read", LONG, [Reply("do", "Go")]))
        text = pilot.app.screen.query_one(Scroll)
        places = []
        for key in ("j", "k", "G", "g", "pagedown", "home", "end"):
            await keys(pilot, key)
            places.append(text.scroll_offset.y)
        assert places == [1, 0, text.max_scroll_y, 0, text.size.height, 0, text.max_scroll_y]


async def test_wrapped_lines_hang_under_where_they_begin():
    words = "about 16 GiB of files in a directory of its own, which is removed after the run"
    async with stage(snapshot()).app.run_test(size=(60, 20)) as pilot:
        await shown(pilot, Sheet("Start", Content(f"  writes      {words}")))
        rows = [line for line in screen_text(pilot.app).splitlines() if "about" in line]
        at = rows[0].index("about")
        below = screen_text(pilot.app).splitlines()
        after = below[below.index(rows[0]) + 1]
        assert after[:at].strip(" │") == ""
        assert after[at] != " "
        await resized(pilot, 120, 20)
        await settled(pilot)
        assert words in screen_text(pilot.app)


async def test_the_text_of_a_sheet_is_copied_whole():
    async with stage(snapshot()).app.run_test(size=(60, 20)) as pilot:
        await shown(pilot, Sheet("Read", Content("serial  AWS00003EXAMPLE\nmore")))
        await pressed(pilot, "y")
        assert pilot.app.clipboard == "serial  AWS00003EXAMPLE\nmore"
        assert "serial  AWS00003EXAMPLE ..." in notices(pilot.app)[-1]


async def test_picking():
    items = [
        Item("a", Content("alpha")),
        Item("b", Content("beta"), why_not="it is not mounted"),
        Item("c", Content("gamma")),
    ]
    async with stage(snapshot()).app.run_test(size=(80, 24)) as pilot:
        answers = await shown(pilot, Pick("Which?", items, present="a"))
        assert "beta  not now: it is not mounted" in screen_text(pilot.app)
        await pressed(pilot, "j", "enter")
        assert answers == ["c"]
        answers = await shown(pilot, Pick("Which?", items))
        await pressed(pilot, "c", "a", "enter")
        assert answers == ["a"]
        answers = await shown(pilot, Pick("Which?", items))
        await pressed(pilot, "q")
        assert answers == [None]
