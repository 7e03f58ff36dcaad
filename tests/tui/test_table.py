"""The table that all screens use: its cursor stays on its row, its filter finds words."""

import pytest
from textual.app import App

from tests.tui.driving import settled
from tui import marks
from tui.theme import DARK
from tui.widgets.panel import Panel
from tui.widgets.table import Column, FilterTable, Row

COLUMNS = (Column("disk", 8), Column("size", 6, right=True), Column("why", 10, grows=True))


def rows(*names):
    return tuple(
        Row(name, ((name, f"bold {marks.WARN}"), ("1 TB", marks.MUTED), (f"why {name}", "")))
        for name in names
    )


class Little(App):
    CSS = "Panel { height: 1; }"

    def __init__(self):
        super().__init__()
        self.register_theme(DARK)
        self.theme = DARK.name
        self.moved = []
        self.chosen = []

    def compose(self):
        yield Panel(id="topbar")
        yield FilterTable(id="table")

    def on_mount(self):
        self.table.rows.focus()

    @property
    def table(self):
        return self.query_one("#table", FilterTable)

    def give(self, *names, nothing=""):
        self.table.show(COLUMNS, rows(*names), width=60, glyphs=marks.UNICODE, nothing=nothing)

    def on_filter_table_moved(self, event):
        self.moved.append(None if event.row is None else event.row.key)

    def on_filter_table_chosen(self, event):
        self.chosen.append(event.row.key)

    async def action_back(self):
        self.chosen.append("back")

    @property
    def text(self):
        lines = self.screen._compositor.render_strips()
        return "\n".join("".join(part.text for part in strip) for strip in lines)


async def test_the_cursor_stays_on_its_row_when_rows_come_and_go():
    app = Little()
    async with app.run_test(size=(60, 12)) as pilot:
        app.give("nvme1", "nvme2", "nvme3")
        await settled(pilot)
        await pilot.press("down")
        await settled(pilot)
        assert app.table.current.key == "nvme2"
        app.give("nvme0", "nvme1", "nvme2", "nvme3")
        await settled(pilot)
        assert app.table.current.key == "nvme2"
        app.give("nvme0", "nvme3")
        await settled(pilot)
        assert app.table.current.key == "nvme3"
        app.give(nothing="no disks")
        await settled(pilot)
        assert app.table.current is None
        assert app.moved[-1] is None
        assert "no disks" in app.text
        app.give("nvme7")
        await settled(pilot)
        assert app.table.current.key == "nvme7"
        assert "no disks" not in app.text
        await pilot.press("enter")
        await settled(pilot)
        assert app.chosen == ["nvme7"]


async def test_the_filter_finds_all_words_and_escape_ends_it():
    app = Little()
    async with app.run_test(size=(60, 12)) as pilot:
        app.give("nvme1", "nvme2", "sda")
        await settled(pilot)
        await pilot.press("slash", *"NVME 2")
        await settled(pilot)
        assert app.table.shown_count == 1
        await pilot.press("enter")
        await settled(pilot)
        assert app.table.rows.has_focus
        assert app.table.current.key == "nvme2"
        app.give("nvme2", "nvme22", "sda")
        await settled(pilot)
        assert app.table.shown_count == 2
        await pilot.press("escape")
        await settled(pilot)
        assert app.table.shown_count == 3
        assert app.chosen == []
        await pilot.press("escape")
        await settled(pilot)
        assert app.chosen == ["back"]


async def test_a_filter_that_finds_nothing_says_so_and_goes_when_it_is_empty():
    app = Little()
    async with app.run_test(size=(60, 12)) as pilot:
        app.give("nvme1")
        await settled(pilot)
        await pilot.press("slash", *"[b]x")
        await settled(pilot)
        assert "no row has: [b]x" in app.text
        await pilot.press("escape")
        await settled(pilot)
        assert app.table.shown_count == 1
        await pilot.press("slash", "enter")
        await settled(pilot)
        assert not app.table.line.display
        assert app.table.rows.has_focus


@pytest.mark.parametrize("theme", [DARK.name, "ansi-dark", "textual-light"])
async def test_every_style_of_ours_is_one_that_the_table_can_draw(theme):
    app = Little()
    async with app.run_test(size=(60, 12)) as pilot:
        app.theme = theme
        styles = [marks.GOOD, marks.WARN, marks.BAD, marks.BUSY, marks.MUTED, marks.TITLE]
        app.table.show(
            (Column("state", 10),),
            [Row(str(number), (("text", style),)) for number, style in enumerate(styles)],
            width=60,
            glyphs=marks.UNICODE,
        )
        await settled(pilot)
        assert app.text.count("text") == len(styles)


async def test_text_from_outside_is_only_text():
    app = Little()
    async with app.run_test(size=(60, 12)) as pilot:
        app.give("a\x1b[31m\nb", "[red]x[/]", "寿司" * 20)
        await settled(pilot)
        assert "\x1b" not in app.text
        assert "[red]x" in app.text
        assert len({len(line) for line in app.text.splitlines() if "寿" not in line}) == 1


async def test_what_is_not_shown_is_not_sorted_by():
    columns = (COLUMNS[0], Column("why", 10, wide=100), COLUMNS[1])
    async with Little().run_test(size=(60, 12)) as pilot:
        table = pilot.app.table
        seen = []
        for width in (60, 120):
            table.show(columns, rows("a"), width=width, glyphs=marks.UNICODE, nothing="")
            for _ in range(len(columns) + 1):
                table.sort_by(1)
                seen.append(table._sorted)
    assert seen == ["disk", "size", "", "disk", "why", "size", "", "disk"]
