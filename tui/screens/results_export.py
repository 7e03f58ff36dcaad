"""Writing a run, an import or the history to a new file of the operator's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Input, Static

from appliance.text import duration
from tui import marks
from tui.asking import Answer
from tui.screens.sheet import FORM_KEYS, Sheet
from tui.widgets.panel import clean

if TYPE_CHECKING:
    from tui.app import StripewrightApp


class ExportScreen(Sheet, inherit_bindings=False):
    """Asks for a file's name; its ending says what is written. Never replaces a file.

    Allowed where nothing can be changed as well: only the operator's own file is written.
    """

    BINDINGS: ClassVar[list[BindingType]] = FORM_KEYS

    def __init__(self, key: str) -> None:
        from appliance.report.sources import FORMS

        forms = "\n".join(f"{ending:6} {what}" for ending, what in FORMS.items())
        super().__init__(
            clean(f"Export {'run ' if ':' not in key else ''}{key.replace(':', ' ')}"),
            Content.assemble(
                "enter writes the file; its extension sets the format:\n", (forms, marks.MUTED)
            ),
        )
        self._key = key
        self._writing = ""

    @property
    def main(self) -> StripewrightApp:
        return cast("StripewrightApp", self.app)

    def body(self) -> ComposeResult:
        name = self._key.replace(":", "-")
        default = f"stripewright-{name if ':' in self._key else f'run-{name}'}.html"
        yield from super().body()
        yield Input(value=default, id="export-name", compact=True, select_on_focus=False)
        yield Static("", id="export-said", markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self._say(f"a new file in {_here()}; existing files stay", marks.MUTED)
        self.set_interval(self.main.world.policy.interval_seconds, self._tick)

    def focus_first(self) -> None:
        self.query_one(Input).focus()

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
                self.dismiss("")
        elif self.is_mounted:
            glyph = self.main.glyphs.bad
            self._say(f"{glyph} {clean(answer.problem)}", marks.BAD)
        else:
            self.main.tell(answer.problem, "error")


def _here() -> str:
    try:
        return clean(str(Path.cwd()))
    except OSError:
        return "a directory that is gone: give the whole path"
