"""Writing a run, an import or the history to a new file of the operator's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, Static

from appliance.text import duration
from tui import marks
from tui.asking import Answer
from tui.widgets.panel import clean

if TYPE_CHECKING:
    from tui.app import StripewrightApp


class ExportScreen(ModalScreen[None]):
    """Asks for a file's name; its ending says what is written. Never replaces a file.

    Allowed where nothing can be changed as well: only the operator's own file is written.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back", tooltip="go back without writing", id="export.back")
    ]

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key
        self._writing = ""

    @property
    def main(self) -> StripewrightApp:
        return cast("StripewrightApp", self.app)

    def compose(self) -> ComposeResult:
        from appliance.report.sources import FORMS

        name = self._key.replace(":", "-")
        default = f"stripewright-{name if ':' in self._key else f'run-{name}'}.html"
        title = f"Export {'run ' if ':' not in self._key else ''}{self._key.replace(':', ' ')}"
        forms = "\n".join(f"{ending:6} {what}" for ending, what in FORMS.items())
        with Vertical(classes="sheet question"):
            yield Static(clean(title), classes="sheet-title", markup=False)
            yield Static("enter writes the file; its extension sets the format:", markup=False)
            yield Static(Content.styled(forms, marks.MUTED), markup=False)
            yield Input(value=default, id="export-name", compact=True, select_on_focus=False)
            yield Static("", id="export-said", markup=False)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#export-name", Input).focus()
        self._say(f"a new file in {_here()}; existing files stay", marks.MUTED)
        self.set_interval(self.main.world.policy.interval_seconds, self._tick)

    def _say(self, words: str, style: str) -> None:
        self.query_one("#export-said", Static).update(Content.styled(words, style))

    def _tick(self) -> None:
        since = self.main.asker.waiting_since(self._question)
        if self._writing and since is not None:
            seconds = self.main.world.clock() - since
            self._say(f"writing {self._writing}, for {duration(seconds)}", marks.BUSY)

    @property
    def _question(self) -> str:
        return f"export.{id(self)}"

    @on(Input.Submitted)
    def _write(self) -> None:
        """Write the file; on a problem the name can be changed."""
        typed = self.query_one("#export-name", Input).value.strip()
        if self._writing:
            return
        if not typed:
            self._say("type a file's name", marks.WARN)
            return
        results = self.main.world.results
        self._writing = clean(typed)

        def work() -> str:
            return results.export(self._key, Path(typed).expanduser())

        self.main.asker.ask(self._question, work, self._written)

    def _written(self, answer: Answer[str]) -> None:
        self._writing = ""
        if answer.value is not None:
            self.main.tell(f"written: {answer.value}")
            if self.is_current:
                self.dismiss()
        elif self.is_mounted:
            glyph = self.main.glyphs.bad
            self._say(f"{glyph} {clean(answer.problem)}", marks.BAD)
        else:
            self.main.tell(answer.problem, "error")

    def action_leave(self) -> None:
        self.dismiss()


def _here() -> str:
    try:
        return clean(str(Path.cwd()))
    except OSError:
        return "a directory that is gone: give the whole path"
