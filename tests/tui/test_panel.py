"""A panel sends what has changed to the terminal, and nothing else."""

from textual.app import App
from textual.content import Content

from tui.widgets.panel import Panel, wrapped

TEXT = "scratch  1.60 GiB/s  0.31 ms"


class Shown(App):
    def compose(self):
        yield Panel(id="panel")


async def sent(before, after, *, size=(40, 5)):
    """Regions that the screen has to draw again when ``after`` is shown instead of ``before``."""
    app = Shown()
    async with app.run_test(size=size) as pilot:
        panel = app.query_one(Panel)
        panel.show([Content(one) if isinstance(one, str) else one for one in before])
        await pilot.pause()
        panel._repaint_regions.clear()
        panel.show([Content(one) if isinstance(one, str) else one for one in after])
        return {tuple(region) for region in panel._repaint_regions}


async def test_same_lines_are_not_sent_again():
    assert await sent([TEXT, "a"], [TEXT, "a"]) == set()


async def test_only_cells_that_differ_are_sent():
    assert await sent(["first", TEXT, "last"], ["first", TEXT.replace("1.60", "1.75"), "last"]) == {
        (11, 1, 2, 1)
    }


async def test_other_colour_of_the_same_text_is_sent():
    found = await sent([Content.styled(TEXT, "$success")], [Content.styled(TEXT, "$error")])
    assert found == {(0, 0, len(TEXT), 1)}


async def test_line_of_another_length_or_with_wide_characters_is_sent_whole():
    assert await sent(["short"], ["longer"]) == {(0, 0, 6, 1)}
    assert await sent(["盘 1"], ["盘 2"]) == {(0, 0, 4, 1)}
    # One of two cells and one of none have the length of two characters.
    assert await sent(["x\u0301盘"], ["x\u0301字"]) == {(0, 0, 3, 1)}


async def test_more_lines_are_drawn_with_the_panel_as_high_as_they_are():
    app = Shown()
    async with app.run_test(size=(40, 5)) as pilot:
        panel = app.query_one(Panel)
        for lines in (["a"], ["a", "b", "c"], ["c"]):
            panel.show([Content(line) for line in lines])
            await pilot.pause()
            assert panel.size.height == len(lines)
            shown = [panel.render_line(y).text.rstrip() for y in range(len(lines))]
            assert shown == lines


def test_wide_characters_are_wrapped_and_none_is_lost():
    label = "全角" * 20
    lines = wrapped(f"holds '{label}' END", first=Content("x"), indent=4, width=40, rows=9)
    assert max(line.cell_length for line in lines) <= 40
    assert "".join("".join(line.plain.split()) for line in lines) == f"xholds'{label}'END"
