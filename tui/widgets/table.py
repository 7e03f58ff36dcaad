"""A table with a cursor that stays on its row, and a filter: what all tables here are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.containers import Vertical
from textual.coordinate import Coordinate
from textual.message import Message
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import DataTable, Input, Static

from tui.marks import Glyphs
from tui.widgets.columns import Column, Row, fitted
from tui.widgets.keys import moves
from tui.widgets.panel import cell, clean

# The table puts one cell at each side of a column.
_PADDING = 2


class FilterLine(Input):
    """A line for words to find, in place of the keys: enter keeps them, escape takes them away.

    It is seen from :meth:`begin` to :meth:`end`. What is typed is found at once: :class:`Typed` has
    the words in lower case. Without words enter ends it, too.
    """

    class Typed(Message):
        """Other words, or (empty) that there are no words any more."""

        def __init__(self, words: tuple[str, ...]) -> None:
            super().__init__()
            self.words = words

    DEFAULT_CSS = "FilterLine { height: 1; border: none; padding: 0 1; display: none; }"

    def __init__(self, back: Callable[[], Widget]) -> None:
        super().__init__(placeholder="filter; enter keeps it, escape clears it", id="filter")
        # What has the focus otherwise.
        self._back = back

    def begin(self) -> None:
        """Show the line, and go there."""
        self.display = True
        # At once, not with the next message as focus() does: what is typed next is for it.
        self.screen.set_focus(self)

    def end(self) -> bool:
        """Take words and line away; whether it was there."""
        if not self.display:
            return False
        with self.prevent(Input.Changed):
            self.value = ""
        self.display = False
        self.post_message(self.Typed(()))
        self._back().focus()
        return True

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self.post_message(self.Typed(tuple(self.value.lower().split())))

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        if self.value.split():
            self._back().focus()
        else:
            self.end()

    def on_key(self, event: events.Key) -> None:
        """Escape ends it."""
        if event.key == "escape":
            event.stop()
            self.end()


class FilterTable(Vertical):
    """Shows rows; ``/`` filters them by words, escape takes the filter away; ``<`` and ``>`` sort
    them by another column, ``I`` the other way round.

    Texts are cleaned here. :class:`Moved` follows the cursor, :class:`Chosen` is enter. A table
    that ``asks`` shows the rows that it is given: whoever gives them hears of other words and of
    another order by :class:`Asked`.
    """

    DEFAULT_CSS = """
    FilterTable { height: 1fr; }
    FilterTable > DataTable { height: 1fr; }
    FilterTable > #nothing { height: auto; padding: 0 1; display: none; }
    """

    class Moved(Message):
        """The cursor is on another row, or on none (``row`` is ``None``)."""

        def __init__(self, table: FilterTable, row: Row | None) -> None:
            super().__init__()
            self.table = table
            self.row = row

        @property
        def control(self) -> FilterTable:
            return self.table

    class Chosen(Message):
        """Enter on a row."""

        def __init__(self, table: FilterTable, row: Row) -> None:
            super().__init__()
            self.table = table
            self.row = row

        @property
        def control(self) -> FilterTable:
            return self.table

    class Asked(Message):
        """Of a table that asks: other words, or another order. ``column`` is a column's name,
        empty for the order in which the rows come.
        """

        def __init__(
            self, table: FilterTable, words: tuple[str, ...], column: str, *, descending: bool
        ) -> None:
            super().__init__()
            self.table = table
            self.words = words
            self.column = column
            self.descending = descending

        @property
        def control(self) -> FilterTable:
            return self.table

    class _Rows(DataTable[Text]):
        BINDINGS: ClassVar[list[BindingType]] = [
            Binding("enter", "select_cursor", "Detail", tooltip="all of this row",
                    id="table.detail"),
            Binding("slash", "filter", "Filter", tooltip="show only rows with these words",
                    id="table.filter"),
            Binding("escape", "leave", "Back", tooltip="all rows again, or go back",
                    id="table.back"),
            Binding("n", "match(1)", "Next", tooltip="next match", show=False, id="table.next"),
            Binding("N", "match(-1)", "Previous", tooltip="previous match", show=False,
                    id="table.previous"),
            Binding("greater_than_sign", "sort(1)", "Sort", tooltip="sort by the next column",
                    key_display=">", show=False, id="table.sort"),
            Binding("less_than_sign", "sort(-1)", "Sort back", show=False, key_display="<",
                    tooltip="sort by the column before", id="table.sort_back"),
            Binding("I", "invert", "Invert", tooltip="sort the other way round", show=False,
                    id="table.invert"),
            *moves(down="cursor_down", up="cursor_up", first="scroll_top", last="scroll_bottom"),
        ]  # fmt: skip

        @property
        def _table(self) -> FilterTable:
            table = self.parent
            assert isinstance(table, FilterTable)  # noqa: S101 - how it is built
            return table

        def action_filter(self) -> None:
            self._table.line.begin()

        async def action_leave(self) -> None:
            if self._table.line.end():
                return
            if isinstance(self.screen, ModalScreen):
                self.screen.dismiss()
            else:
                await self.run_action("app.back")

        def action_match(self, by: int) -> None:
            self._table.to_match(by)

        def action_sort(self, by: int) -> None:
            self._table.sort_by(by)

        def action_invert(self) -> None:
            self._table.invert()

    def __init__(self, *, id: str, asks: bool = False) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._asks = asks
        self._sorted, self._descending = "", True
        self._columns: tuple[Column, ...] = ()
        self._rows: tuple[Row, ...] = ()
        self._shown: tuple[Row, ...] = ()
        self._drawn: tuple[object, ...] = ()
        self._words: tuple[str, ...] = ()
        # Of the last filter, also when it has been taken away: for n and N.
        self._sought: tuple[str, ...] = ()
        self._glyphs: Glyphs | None = None
        self._width = 0
        self._nothing = ""

    def compose(self) -> ComposeResult:
        yield Static("", id="nothing", markup=False)
        # A severity keeps its colour under the cursor.
        yield self._Rows(id="rows", cursor_type="row", cursor_foreground_priority="renderable")
        yield FilterLine(lambda: self.rows)

    @property
    def line(self) -> FilterLine:
        """Where words are typed."""
        return self.query_one(FilterLine)

    @property
    def rows(self) -> DataTable[Text]:
        """The table itself, to be focused."""
        return self.query_one("#rows", DataTable)

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        if not self._shown:
            return None  # also before there is a table
        at = self.rows.cursor_row
        return self._shown[at] if 0 <= at < len(self._shown) else None

    @property
    def shown_count(self) -> int:
        """How many rows the filter leaves."""
        return len(self._shown)

    def show(
        self,
        columns: Sequence[Column],
        rows: Sequence[Row],
        *,
        width: int,
        glyphs: Glyphs,
        nothing: str = "",
    ) -> None:
        """Draw ``rows`` in ``width`` cells; ``nothing`` is shown if there are no rows.

        Draws again only what has changed, and keeps the cursor on its row.
        """
        self._columns, self._rows = tuple(columns), tuple(rows)
        self._width, self._glyphs, self._nothing = width, glyphs, nothing
        self._draw()

    def move_to(self, key: str) -> None:
        """Put the cursor on the row called ``key``; a filter that leaves it out is taken away."""
        hidden = any(row.key == key for row in self._rows) and not any(
            row.key == key for row in self._shown
        )
        if hidden and not self._asks:
            self.line.end()
            self._words = ()
            self._draw()
        for at, row in enumerate(self._shown):
            if row.key == key:
                self.rows.move_cursor(row=at)

    def to_match(self, by: int) -> None:
        """To the next (1) or previous (-1) row that has the last words, from the end on again."""
        rows, at = self._shown, self.rows.cursor_row
        for step in range(1, len(rows) + 1):
            number = (at + by * step) % len(rows)
            if rows[number].matches(self._sought):
                self.rows.move_cursor(row=number)
                return

    # -- the order

    def sort_by(self, by: int) -> None:
        """By the next column (1) or the one before (-1) that has an order, or as they come."""
        names = ["", *(one.name for one in self._columns
                       if one.sorts and one.name and one.wide <= self._width)]  # fmt: skip
        at = names.index(self._sorted) if self._sorted in names else 0
        self._sorted, self._descending = names[(at + by) % len(names)], True
        self._changed()

    def invert(self) -> None:
        """The other way round."""
        self._descending = not self._descending
        self._changed()

    def _changed(self) -> None:
        self._draw()
        if self._asks:
            self.post_message(
                self.Asked(self, self._words, self._sorted, descending=self._descending)
            )

    def _in_order(self, rows: Sequence[Row]) -> tuple[Row, ...]:
        # By what is not seen nothing is sorted.
        names = [one.name if one.wide <= self._width else "" for one in self._columns]
        if self._asks or not self._sorted or self._sorted not in names:
            return tuple(rows)
        at = names.index(self._sorted)
        return tuple(sorted(rows, key=lambda row: row.rank(at), reverse=self._descending))

    @on(FilterLine.Typed)
    def _typed(self, event: FilterLine.Typed) -> None:
        event.stop()
        self._words = event.words
        self._sought = event.words or self._sought
        self._changed()

    # -- drawing

    def _draw(self) -> None:
        glyphs = self._glyphs
        if glyphs is None or not self.is_mounted:
            return
        shown = self._in_order(
            [row for row in self._rows if self._asks or row.matches(self._words)]
        )
        drawn = (
            *(shown, self._columns, self._width, glyphs, self.app.theme),
            *(self._sorted, self._descending, self._words, self._nothing),
        )
        if drawn == self._drawn:
            return
        columns_same = self._drawn[1:7] == drawn[1:7]
        self._drawn = drawn
        before = self.current
        at = self.rows.cursor_row
        # It has a cell more at each end than there is text.
        columns = fitted(self._columns, self._width, _PADDING)
        table = self.rows
        known = self._shown if columns_same else ()
        with self.app.batch_update():
            if not columns_same:
                table.clear(columns=True)
                for column in columns.values():
                    sign = glyphs.descending if self._descending else glyphs.ascending
                    sorts = self._sorted and column.name == self._sorted
                    words = f"{column.name} {sign}" if sorts else column.name
                    name = cell(words, column.cells, glyphs, right=column.right)
                    table.add_column(Text(name), width=column.cells)
            elif [old.key for old in known] != [row.key for row in shown[: len(known)]]:
                table.clear()
                known = ()
            # Of many rows mostly a few are new, or other than they were.
            for at, (old, row) in enumerate(zip(known, shown, strict=False)):
                if old != row:
                    for number, text in enumerate(self._texts(row, columns, glyphs)):
                        table.update_cell_at(Coordinate(at, number), text)
            self._shown = shown
            for row in shown[len(known) :]:
                table.add_row(*self._texts(row, columns, glyphs))
        if shown:
            wanted = next(
                (n for n, row in enumerate(shown) if before and row.key == before.key),
                min(at, len(shown) - 1),
            )
            table.move_cursor(row=max(0, wanted))
        nothing = self.query_one("#nothing", Static)
        nothing.display = not shown
        if not shown:
            words = " ".join(self._words)
            nothing.update(
                f"no row has: {clean(words)}"
                if words and (self._rows or self._asks)
                else self._nothing
            )
        self.post_message(self.Moved(self, self.current))

    def _texts(self, row: Row, columns: Mapping[int, Column], glyphs: Glyphs) -> list[Text]:
        return [
            Text(
                cell(clean(row.cells[at][0]), column.cells, glyphs, right=column.right),
                style=self._style(row.cells[at][1]),
                no_wrap=True,
            )
            for at, column in columns.items()
        ]

    def _style(self, variable: str) -> str:
        """Make a Rich style of a theme variable: the table draws with Rich, not with Textual."""
        variables = self.app.theme_variables
        words = []
        for word in variable.split():
            value = variables.get(word[1:], "") if word.startswith("$") else word
            if value.startswith("#") and len(value) == len("#rrggbbaa"):
                # Rich knows no transparency.
                colour = Color.parse(value)
                value = Color.parse(variables["background"]).blend(colour, colour.a, 1.0).hex
            words.append("dim" if value.startswith("auto") else value.removeprefix("ansi_"))
        return " ".join(word for word in words if word)

    @on(DataTable.RowHighlighted, "#rows")
    def _moved(self, event: DataTable.RowHighlighted) -> None:
        event.stop()
        self.post_message(self.Moved(self, self.current))

    @on(DataTable.RowSelected, "#rows")
    def _chosen(self, event: DataTable.RowSelected) -> None:
        event.stop()
        if self.current is not None:
            self.post_message(self.Chosen(self, self.current))


__all__ = ["Column", "FilterLine", "FilterTable", "Row"]
