"""A plan that is carried out: its steps as they are done. Leaving does not end it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from appliance.client.apply_progress import Watched
from tui.marks import Glyphs
from tui.tabs import TABS
from tui.widgets.layout_progress import end_lines, steps_lines, title_words
from tui.widgets.panel import Panel

_ROWS_ABOVE = 3
_PARTS = "#apply-title, #apply-body, #apply-steps, #apply-end"


class ApplyScreen(ModalScreen[None]):
    """Draws what ``watched`` gives, each second."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,w", "dismiss", "Back", tooltip="go back; the plan continues",
                id="apply.back"),
        # It keeps its place for the next visit.
        *(
            Binding(tab.key, f"app.show('{tab.mode}')", tab.name, tooltip=tab.about,
                    show=False, id=f"apply.{tab.mode}")
            for tab in TABS
        ),
        Binding("q", "app.quit", "Quit", tooltip="leave; the plan continues", id="apply.quit"),
    ]  # fmt: skip

    def __init__(
        self, watched: Callable[[], Watched | None], clock: Callable[[], float], glyphs: Glyphs
    ) -> None:
        super().__init__()
        self._watched = watched
        self._clock = clock
        self._glyphs = glyphs
        self._shown_step = -1

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet layout-plan"):
            yield Static("", id="apply-title", classes="sheet-title", markup=False)
            with VerticalScroll(id="apply-body"):
                yield Panel(id="apply-steps")
            yield Panel(id="apply-end")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()
        self.call_after_refresh(self.tick)

    def on_resize(self) -> None:
        self.call_after_refresh(self.tick)

    def tick(self) -> None:
        """Draw how far it is now."""
        watched = self._watched()
        # A screen that is being closed loses its parts before its timer stops.
        if watched is None or not self.is_mounted or len(self.query(_PARTS)) < _PARTS.count("#"):
            return
        body = self.query_one("#apply-body", VerticalScroll)
        width = max(20, body.size.width - 3)
        self.query_one("#apply-title", Static).update(title_words(watched))
        lines, at = steps_lines(watched, self._clock(), width, self._glyphs)
        self.query_one("#apply-steps", Panel).show(lines)
        self.query_one("#apply-end", Panel).show(end_lines(watched, width, self._glyphs))
        step = 0 if watched.latest is None else watched.latest.step
        if step != self._shown_step:
            # Once per step, so that scrolling is not undone every second.
            self._shown_step = step
            self.call_after_refresh(body.scroll_to, y=max(0, at - _ROWS_ABOVE), animate=False)
