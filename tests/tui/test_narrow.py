"""What is written to the terminal: only the cells that changed."""

import re

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate
from textual.app import App
from textual.strip import Strip

from tests.tui.driving import both_sizes, keys, resized, settled
from tests.tui.fake_log import READ_AT, FakeLog, entry
from tests.tui.fakes import running_snapshot, screen_text, snapshot, stage
from tui.narrow import NarrowUpdate
from tui.sources.journal import LogState

WIDE = "\N{CJK UNIFIED IDEOGRAPH-5B57}"


def written(chops, spans, ends):
    """(column, line, text) of each move; the styles taken away."""
    console = Console(color_system="truecolor", force_terminal=True, width=80)
    raw = NarrowUpdate.of(ChopsUpdate(chops, spans, ends)).render_segments(console)
    parts = re.findall(r"\x1b\[(\d+);(\d+)H((?:(?!\x1b\[\d+;\d+H).)*)", raw, re.S)
    assert "".join(f"\x1b[{y};{x}H{text}" for y, x, text in parts) == raw
    return [(int(x) - 1, int(y) - 1, re.sub(r"\x1b\[[0-9;]*m", "", text)) for y, x, text in parts]


def strip(*texts):
    return Strip([Segment(text, Style(bold=number % 2 == 1)) for number, text in enumerate(texts)])


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        ((0, 0, 10), [(0, 0, "abcde"), (5, 0, "fghij")]),
        ((0, 2, 4), [(2, 0, "cd")]),
        ((0, 4, 7), [(4, 0, "e"), (5, 0, "fg")]),
        ((0, 5, 10), [(5, 0, "fghij")]),
        ((0, 9, 10), [(9, 0, "j")]),
        ((0, 3, 5), [(3, 0, "de")]),
    ],
)
def test_a_line_of_two_widgets(span, expected):
    assert written([{0: strip("abc", "de"), 5: strip("fghij")}], [span], [[5, 10]]) == expected


def test_what_was_not_drawn_is_not_written():
    assert written([{0: None, 5: strip("fghij")}], [(0, 0, 10)], [[5, 10]]) == [(5, 0, "fghij")]


def test_a_wide_character_is_written_whole_or_not_at_all():
    chops, ends = [{0: strip(f"a{WIDE}b", f"{WIDE}c")}], [[7]]
    assert written(chops, [(0, 2, 4)], ends) == [(1, 0, f"{WIDE}b")]
    assert written(chops, [(0, 3, 5)], ends) == [(3, 0, f"b{WIDE}")]
    assert written(chops, [(0, 3, 4)], ends) == [(3, 0, "b")]


def test_each_line_is_written_where_it_is():
    chops = [{0: strip("aaaa")}, {0: strip("bbbb")}, {0: strip("cccc")}]
    assert written(chops, [(0, 1, 2), (2, 0, 3)], [[4], [4], [4]]) == [(1, 0, "a"), (0, 2, "ccc")]


async def test_a_second_later_the_line_of_the_clock_is_not_written_again(monkeypatch):
    acted = stage(snapshot())
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        sent = []
        shown = App._display
        monkeypatch.setattr(
            App,
            "_display",
            lambda app, screen, what: sent.append(what) or shown(app, screen, what),
        )
        acted.clock[0] += 1
        acted.app.present()
        await settled(pilot)
        updates = [one for one in sent if isinstance(one, ChopsUpdate)]
        assert updates
        assert all(isinstance(one, NarrowUpdate) for one in updates)
        first = updates[0].render_segments(acted.app.console).partition("\x1b[2;")[0]
        assert "stripewright" not in first
        assert re.search(r"\d", re.sub(r"\x1b\[[0-9;]*[mH]", "", first))


class Grid:
    """A terminal as far as updates need one: it goes to a place and writes."""

    def __init__(self, width, height):
        self.lines = [[" "] * width for _ in range(height)]

    def put(self, x, y, character):
        line, cells = self.lines[y], cell_len(character)
        # Of a wide character that loses one half a terminal blanks the other one.
        if line[x] == "" and x:
            line[x - 1] = " "
        if x + cells < len(line) and line[x + cells] == "":
            line[x + cells] = " "
        line[x : x + cells] = [character] + [""] * (cells - 1)
        return x + cells

    def take(self, raw):
        x = y = 0
        for move_y, move_x, text in re.findall(
            r"\x1b\[(?:(\d+);(\d+)H|[0-9;?]*[a-zA-Z])|([^\x1b]+)", raw
        ):
            if move_y:
                y, x = int(move_y) - 1, int(move_x) - 1
            for character in text:
                if character in "\r\n":
                    y, x = (y + 1, x) if character == "\n" else (y, 0)
                    continue
                x = self.put(x, y, character)

    def text(self):
        return "\n".join("".join(line).rstrip() for line in self.lines)


STEPS = (
    *("2", "down", "down", "/", "n", "v", "backspace", "escape", "enter", "pagedown", "escape"),
    *("3", "s", "down", "escape", "e", "tab", "tab", "escape", "4", "down", "s", "right", "escape"),
    *("5", "down", "enter", "pagedown", "escape", "c", "escape", "t", "m", "T", "escape"),
    *("6", "down", "a", "x", "escape", "7", "up", "n", "escape", "f", "question_mark", "escape"),
    *("1", "t", "T", "escape", "m", "x", "escape", "ctrl+p", "d", "escape"),
)


@pytest.fixture
def watched(monkeypatch):
    """Has everything that is written to a terminal shown in a grid, too."""
    grids = []
    shown = App._display

    def display(app, screen, update):
        if update is not None and grids and not app._batch_count and app._running:
            grids[-1].take(update.render_segments(app.console))
        shown(app, screen, update)

    monkeypatch.setattr(App, "_display", display)
    return lambda size: grids.append(Grid(*size)) or grids[-1]


@both_sizes
async def test_a_terminal_shows_what_is_meant_after_every_key(size, watched):
    acted = stage(running_snapshot())
    grid = watched(size)
    changed = 0
    async with acted.app.run_test(size=size) as pilot:
        await settled(pilot)
        for number, key in enumerate(STEPS):
            before = grid.text()
            await keys(pilot, key)
            acted.clock[0] += 1
            acted.feed.post(running_snapshot())
            await settled(pilot)
            assert grid.text() == screen_text(acted.app), (number, key)
            changed += grid.text() != before
    assert changed > len(STEPS) // 2


async def test_so_it_does_with_wide_words_beneath_messages_and_in_other_sizes(watched):
    wide = [entry(number, message=f"{'x' * number}{WIDE * 60}") for number in range(12)]
    log = FakeLog(LogState(tuple(wide), "the journal", read_at=READ_AT))
    acted = stage(snapshot(), log=log)
    grid = watched((80, 24))
    async with acted.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await keys(pilot, "7")
        for number in range(6):
            acted.app.tell("a" * (5 + number) + WIDE * number)
            await settled(pilot)
            assert grid.text() == screen_text(acted.app)
            acted.app.clear_notifications()
            await settled(pilot)
            assert grid.text() == screen_text(acted.app)
            await keys(pilot, "up")
        grid = watched((100, 30))
        await resized(pilot, 100, 30)
        await settled(pilot)
        assert grid.text() == screen_text(acted.app)
