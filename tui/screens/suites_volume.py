"""Choosing the volume that a suite measures, where there are several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option

from appliance.client.machine_status import VolumeStatus
from appliance.model.runs import Suite
from appliance.text import size
from tui import marks
from tui.permission import may_measure
from tui.widgets.panel import clean

if TYPE_CHECKING:
    from tui.app import StripewrightApp


class VolumeScreen(ModalScreen[str | None]):
    """Returns a volume's name, or ``None``. What cannot be measured is there, with why."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back", tooltip="go back without starting", id="volume.back"),
    ]

    def __init__(self, suite: Suite, volumes: Sequence[VolumeStatus]) -> None:
        super().__init__()
        self._suite = suite
        self._volumes = tuple(volumes)

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet question"):
            yield Static(
                f"Measure which volume with {clean(self._suite.name)}?",
                classes="sheet-title",
                markup=False,
            )
            yield OptionList(*map(self._option, self._volumes), id="suite-volumes")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._volumes[event.option_index].name)

    def action_leave(self) -> None:
        self.dismiss(None)

    def _option(self, volume: VolumeStatus) -> Option:
        glyphs = cast("StripewrightApp", self.app).glyphs
        reason = may_measure(self._suite, volume).reason
        name = f"{clean(volume.name):12} "
        if reason:
            words = Content.assemble(
                (f"{glyphs.warn} {name}", marks.WARN), (f"not now: {clean(reason)}", marks.MUTED)
            )
            return Option(words, disabled=True)
        disks = len(volume.members)
        about = f"{clean(volume.mount)}, {disks} disk{'s' * (disks != 1)}"
        if volume.free_bytes is not None:
            about += f", {size(volume.free_bytes)} free"
        return Option(Content.assemble((f"{glyphs.good} {name}", ""), (about, marks.MUTED)))
