"""A plan that is carried out: its steps as they are done. Leaving does not end it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from appliance.client.apply_progress import Watched
from tui.marks import Glyphs
from tui.screens.sheet import Sheet
from tui.tabs import TABS
from tui.widgets.keys import Scroll
from tui.widgets.layout_progress import end_lines, steps_lines, title_words
from tui.widgets.panel import Line, Panel

_ROWS_ABOVE = 3
_PARTS = ".sheet-title, .sheet-body, #apply-steps, #apply-end"


class ApplyScreen(Sheet):
    """Draws what ``watched`` gives, each second."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,w", "leave", "Back", tooltip="go back; the plan continues",
                key_display="esc", id="sheet.back"),
        # It keeps its place for the next visit.
        *(
            Binding(tab.key, f"app.show('{tab.mode}')", tab.name, tooltip=tab.about,
                    show=False, id=f"apply.{tab.mode}")
            for tab in TABS
        ),
    ]  # fmt: skip

    def __init__(
        self, watched: Callable[[], Watched | None], clock: Callable[[], float], glyphs: Glyphs
    ) -> None:
        super().__init__("", self._all_lines)
        self._watched = watched
        self._clock = clock
        self._glyphs = glyphs
        self._shown_step = -1

    def body(self) -> ComposeResult:
        with Scroll(classes="sheet-body"):
            yield Panel(id="apply-steps")
        yield Panel(id="apply-end")

    def _all_lines(self, width: int) -> list[Line]:
        watched = self._watched()
        if watched is None:
            return []
        lines, _ = steps_lines(watched, self._clock(), width, self._glyphs)
        return [*lines, *end_lines(watched, width, self._glyphs)]

    def draw(self) -> None:
        """Draw how far it is now."""
        watched = self._watched()
        # A screen that is being closed loses its parts before its timer stops.
        if (
            watched is None
            or not self.is_mounted
            or len(self.query(_PARTS)) < _PARTS.count(",") + 1
        ):
            return
        body = self.query_one(Scroll)
        width = max(20, body.scrollable_content_region.width)
        self.query_one(".sheet-title", Static).update(title_words(watched))
        lines, at = steps_lines(watched, self._clock(), width, self._glyphs)
        self.query_one("#apply-steps", Panel).show(lines)
        self.query_one("#apply-end", Panel).show(end_lines(watched, width, self._glyphs))
        step = 0 if watched.latest is None else watched.latest.step
        if step != self._shown_step:
            # Once per step, so that scrolling is not undone every second.
            self._shown_step = step
            self.call_after_refresh(body.scroll_to, y=max(0, at - _ROWS_ABOVE), animate=False)
