"""What the pages over the Results screen share: heading, body, footer, and asking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.content import Content

from appliance.text import duration
from tui import marks
from tui.asking import Answer
from tui.screens.base import FrameScreen
from tui.widgets.panel import Line, Panel, clean, section, wrapped
from tui.widgets.table import FilterTable

T = TypeVar("T")
V = TypeVar("V")
# The one question of a page.
_PAGE = "page"


class PageScreen(FrameScreen[T]):
    """A page that reads one thing and shows it, under the top bar of the screens.

    Subclasses give :meth:`parts` and :meth:`draw`, and call :meth:`read` for what they show.
    """

    # A widget with keys of its own gets the focus when shown.
    AUTO_FOCUS = ""
    # What enter on a row of its table opens, and more of that; empty where that is nothing.
    opens: tuple[str, str] = ("Detail", "all of this row")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Back", tooltip="close this page", key_display="esc",
                id="page.back"),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._problem = ""
        self._reading = ""

    @property
    def active_bindings(self) -> dict[str, ActiveBinding]:
        found = super().active_bindings
        name, tooltip = self.opens
        for key, entry in [*found.items()]:
            if entry.binding.id == "table.detail":
                binding = replace(entry.binding, description=name, tooltip=tooltip)
                found[key] = entry._replace(binding=binding)
                if not name:
                    del found[key]
        return found

    def body(self) -> ComposeResult:
        yield Panel(id="page-heading")
        yield from self.parts()

    def parts(self) -> ComposeResult:
        """What is below the heading."""
        raise NotImplementedError

    def heading(self) -> tuple[str, Content]:
        """Title (clean) and the note at its end."""
        raise NotImplementedError

    def draw(self, width: int) -> None:
        """Show what was read; ``width`` is the text width inside the margins."""
        raise NotImplementedError

    def read_again(self) -> None:
        """The history has something new: read what is shown again, if it may be other now."""

    def on_mount(self) -> None:
        self._view = self.main.view()
        self._mark = "" if self._view.snapshot is None else self._view.snapshot.history_mark

    def history_changed(self) -> None:
        self.read_again()

    def tick(self) -> None:
        """While something is being read, say for how long; else only the bar moves."""
        if self._reading:
            self.redraw()
        else:
            self.draw_bar()

    def read(self, what: str, work: Callable[[], V], done: Callable[[V], None]) -> None:
        """Have ``work`` done beside the application; ``done`` gets its value here.

        ``what`` says what is being read. On a problem what was shown stays, with the problem.
        """
        self._reading = what

        def answered(answer: Answer[V]) -> None:
            # Of another question since, the answer is still to come.
            if not self.is_asking(_PAGE):
                self._reading = ""
            self._problem = answer.problem
            if answer.value is not None:
                done(answer.value)
            self.redraw()

        self.ask(_PAGE, work, answered)

    @property
    def is_reading(self) -> bool:
        """Whether an answer is still to come."""
        return bool(self._reading)

    def redraw(self) -> None:
        if not self.draw_bar() or not self.query("#page-heading"):
            return
        width = self.size.width - 2
        title, note = self.heading()
        lines = [section(title, note, width, self.glyphs), *self._asking_lines(width)]
        self.query_one("#page-heading", Panel).show(lines)
        self.draw(width)
        self.main.update_permissions()

    def _asking_lines(self, width: int) -> list[Line]:
        seconds = self.asking_seconds(_PAGE)
        if self._reading and seconds >= 1:
            words = f"{self.glyphs.busy} reading {self._reading}, for {duration(seconds)}"
            return [Content.styled(words, marks.BUSY)]
        if self._problem:
            words = f"{self.glyphs.warn} {clean(self._problem)}"
            return wrapped(words, width=width, style=marks.WARN)
        return []

    def copy_text(self) -> str:
        rows = (one.current for one in self.query(FilterTable) if one.display)
        cells = ("  ".join(text for text, _ in row.cells if text) for row in rows if row)
        return "\n".join([super().copy_text(), *cells])

    def action_leave(self) -> None:
        self.dismiss()
