"""One model of columns: rows for tables and lines for panels, their widths and their order."""

from dataclasses import dataclass

import pytest
from rich.cells import cell_len

from tests.tui.driving import keys, settled
from tests.tui.fakes import snapshot, stage
from tui import marks
from tui.widgets.columns import Column, Row, fitted, lines, row
from tui.widgets.table import FilterTable


@dataclass(frozen=True)
class Disk:
    name: str
    wait: str
    wait_ns: float | None


DISKS = [Disk("nvme1n1", "378 µs", 378e3), Disk("nvme2n1", "1.89 ms", 1.89e6), Disk("x", "-", None)]
COLUMNS = (
    Column("disk", 8, get=lambda disk: (disk.name, "")),
    Column("wait", 8, right=True, get=lambda disk: (disk.wait, marks.BAD),
           sort=lambda disk: disk.wait_ns),
    Column("note", 6, grows=True, sorts=False, get=lambda _: ("\x1b[31mred", "")),
    Column("wide", 5, wide=100, get=lambda _: ("w", "")),
)  # fmt: skip


def test_the_column_that_grows_takes_what_is_left():
    for width in (40, 120):
        shown = fitted(COLUMNS, width, 2)
        assert sum(one.cells for one in shown.values()) + 2 * (len(shown) - 1) == width
        assert (3 in shown) is (width >= 100)


def test_lines_are_exactly_as_wide_as_told_and_clean():
    drawn = lines(COLUMNS, DISKS, width=60, glyphs=marks.UNICODE, chosen=DISKS[1])
    assert len(drawn) == 4
    assert all(cell_len(line.plain) <= 60 for line in drawn)
    assert drawn[2].plain.startswith("› nvme2n1")
    assert not any("\x1b" in line.plain for line in drawn)
    assert drawn[1].plain.index("378 µs") + 6 == drawn[2].plain.index("1.89 ms") + 7


@pytest.mark.parametrize(
    ("texts", "ordered"),
    [
        (["1.9k", "200", "3M"], ["200", "1.9k", "3M"]),
        (["378 µs", "1.89 ms", "90 ns"], ["90 ns", "378 µs", "1.89 ms"]),
        (["2 GiB", "-", "900 MiB"], ["-", "900 MiB", "2 GiB"]),
        (["+3 %", "-12 %", "0 %"], ["-12 %", "0 %", "+3 %"]),
        (["beta", "Alpha"], ["Alpha", "beta"]),
    ],
)
def test_texts_are_sorted_by_the_value_that_they_begin_with(texts, ordered):
    rows = sorted((Row(text, ((text, ""),)) for text in texts), key=lambda one: one.rank(0))
    assert [one.key for one in rows] == ordered


async def opened(pilot, **given):
    await settled(pilot)
    await keys(pilot, "2")
    table = pilot.app.screen.query_one(FilterTable)
    rows = [row(COLUMNS, disk, key=disk.name) for disk in DISKS]
    pilot.app.screen.present = lambda view: None
    table.show(COLUMNS, rows, width=78, glyphs=marks.UNICODE)
    await settled(pilot)
    return table


async def test_tables_are_sorted_by_any_column():
    async with stage(snapshot()).app.run_test(size=(80, 24)) as pilot:
        table = await opened(pilot)

        def order():
            return [one.key for one in table._shown]

        def heading():
            return "".join(str(column.label) for column in table.rows.columns.values())

        await keys(pilot, "greater_than_sign", "greater_than_sign")
        assert order() == ["nvme2n1", "nvme1n1", "x"]
        assert "wait ↓" in heading()
        await keys(pilot, "I")
        assert order() == ["x", "nvme1n1", "nvme2n1"]
        assert "wait ↑" in heading()
        # What has no order or is not seen is left out; after the last they are as they came.
        await keys(pilot, "greater_than_sign")
        assert order() == [disk.name for disk in DISKS]
        await keys(pilot, "less_than_sign")
        assert "wait ↓" in heading()


async def test_a_table_that_asks_leaves_rows_and_order_to_who_gives_them():
    asked = []
    async with stage(snapshot()).app.run_test(size=(80, 24)) as pilot:
        table = await opened(pilot)
        table._asks = True
        table.post_message, post = (
            lambda message: asked.append(message) or post(message),
            table.post_message,
        )
        await keys(pilot, "greater_than_sign", "I", "slash", "z")
        known = [
            (one.words, one.column, one.descending)
            for one in asked
            if isinstance(one, FilterTable.Asked)
        ]
        assert known == [((), "disk", True), ((), "disk", False), (("z",), "disk", False)]
        assert [one.key for one in table._shown] == [disk.name for disk in DISKS]


def test_what_stands_last_takes_no_more_room_than_it_has_text():
    columns = (Column("disk", 8, get=lambda disk: (disk.name, "")),
               Column("wait", 8, get=lambda disk: (disk.wait, "")))  # fmt: skip
    drawn = lines(columns, DISKS, width=17, glyphs=marks.UNICODE)
    assert [line.plain for line in drawn[1:]] == ["nvme1n1   378 µs", "nvme2n1   1.89 ms",
                                                  "x         -"]  # fmt: skip
