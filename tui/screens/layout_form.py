"""The form of one volume: checked as it is typed, with what it would come to on these disks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Footer, Input, Static

from appliance.model.disks import Disk
from appliance.model.plans import Decision, Layout, Volume
from appliance.model.toml_fields import Flag
from appliance.storage.policy.layout_draft import Draft, is_another_shape
from appliance.storage.policy.layout_fields import (
    ALL,
    COUNT,
    DEFAULT,
    NO,
    ROLE,
    SERIALS,
    YES,
    Fields,
    Problem,
    check,
    choices,
    fields_of,
    option_fields,
    used_fields,
)
from appliance.storage.policy.preview import Preview
from tui import marks
from tui.marks import Glyphs
from tui.screens.layout_picker import DiskPicker
from tui.widgets.layout import verdict_lines
from tui.widgets.layout_form import LABEL_WIDTH, Field, PickField, field_id
from tui.widgets.panel import Line, Panel, clean, wrapped

_VERDICT_ROWS = 5
_STAYS = (Decision.ASSEMBLE, Decision.NOTHING)
_CHUNK_HINT = "256KiB; a power of two from 4KiB to 64MiB"


@dataclass(frozen=True, slots=True)
class Wish:
    """What comes of the form: ``first_remove``: the volume is removed and made in two plans."""

    volume: Volume
    first_remove: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """What the form is about. ``before`` is the volume as the draft has it, ``None`` for a new
    one; ``stands`` what the installed layout declares under that name and the disks carry.
    """

    base: Layout
    draft: Draft
    disks: tuple[Disk, ...]
    before: Volume | None = None
    stands: Volume | None = None


# Has the draft with the volume previewed beside the application, and calls back.
AskPreview = Callable[[Volume, Callable[[Preview | None, str], None]], None]


class VolumeForm(ModalScreen[Wish]):
    """Returns the volume as it is wanted, or nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "keep", "Keep", tooltip="put the volume into the draft",
                id="form.keep", priority=True),
        Binding("ctrl+r", "two_plans", "Remove first",
                tooltip="remove the existing volume by this plan, create this one by the next",
                id="form.two", priority=True),
        Binding("down", "app.focus_next", "Next field", tooltip="go to the next field",
                show=False, id="form.down"),
        Binding("up", "app.focus_previous", "Field before", tooltip="go to the field before",
                show=False, id="form.up"),
        Binding("escape", "dismiss", "Back", tooltip="go back and change nothing", id="form.back"),
    ]  # fmt: skip

    def __init__(self, subject: Subject, preview: AskPreview, glyphs: Glyphs) -> None:
        super().__init__()
        self._subject = subject
        self._ask_preview = preview
        self._glyphs = glyphs
        self._fields = Fields() if subject.before is None else fields_of(subject.before)
        self._volume: Volume | None = None
        self._problem: Problem | None = None
        self._preview: Preview | None = None
        self._no_preview = ""

    @property
    def _title(self) -> str:
        before = self._subject.before
        return "A new volume" if before is None else f"Volume {clean(before.name)}"

    def compose(self) -> ComposeResult:
        one = self._fields
        with Vertical(classes="sheet layout-form"):
            yield Static(self._title, classes="sheet-title", markup=False)
            with VerticalScroll(id="form-fields", can_focus=False):
                yield Static("", id="form-problem", markup=False)
                yield Field("name", "name", one.name, hint="data")
                yield Field("disks", "disks", one.disks, words=(ALL, COUNT, ROLE, SERIALS))
                yield Field("role", "role", one.role, hint="as a [[rule]] of the layout gives it")
                yield Field("count", "how many", one.count, hint="2")
                yield PickField("serials", "which", "")
                yield Field("stripe", "stripe", one.stripe, words=choices("stripe"))
                yield Field("chunk", "chunk", one.chunk, hint=_CHUNK_HINT)
                yield Field(
                    "raid10_layout",
                    "raid10 layout",
                    one.raid10_layout,
                    words=choices("raid10_layout"),
                )
                yield Field("lvm_extent", "LVM extent", one.lvm_extent, hint="4MiB")
                yield Field("filesystem", "filesystem", one.filesystem, words=choices("filesystem"))
                yield Field("mount", "mount", one.mount, hint="/mnt/ and the name")
                yield Field("on_short", "disks missing", one.on_short, words=choices("on_short"))
                yield Field("on_loss", "disk lost", one.on_loss, words=choices("on_loss"))
                yield Field("wait", "wait for disks", one.wait, hint="60s")
                yield Field(
                    "mount_options",
                    "mount options",
                    one.mount_options,
                    hint="such as discard lazytime logbsize=256k",
                )
                yield from self._options()
                yield Field(
                    "initialise_rate",
                    "initialise rate",
                    one.initialise_rate,
                    hint="200MiB/s, of a volume from a snapshot",
                )
            yield Panel(id="form-verdict")
            with Horizontal(classes="answers"):
                yield Button("Cancel", id="leave", compact=True)
                yield Button("Keep in the draft", id="keep", compact=True)
        yield Footer(compact=True, show_command_palette=False)  # fmt: skip

    def _options(self) -> Iterator[Field]:
        """What may be set of each mkfs; only those of the chosen filesystem are shown."""
        for kind, option in option_fields():
            words = option.key.replace("_", " ")
            label = f"{kind} {words}" if len(f"{kind} {words}") < LABEL_WIDTH else words
            value = self._fields.options.get(option.key, "")
            if isinstance(option.kind, Flag):
                yield Field(option.key, label, value or DEFAULT, words=(DEFAULT, YES, NO))
            else:
                yield Field(option.key, label, value, hint="mkfs decides")

    def on_mount(self) -> None:
        # Inside a line of the sheet, whose borders and padding are not the panel's.
        self.query_one("#field-name").query_one(Input).focus()
        self._changed()

    def on_resize(self, event: events.Resize) -> None:  # noqa: ARG002
        self.call_after_refresh(self._draw)

    # -- what is typed

    @on(Field.Changed)
    def _field_changed(self, event: Field.Changed) -> None:
        value = event.field.value
        if event.field.field == "wait" and value.isdigit():
            value += "s"
        name = event.field.field
        if name in {option.key for _, option in option_fields()}:
            changed: dict[str, Any] = {"options": {**self._fields.options, name: value}}
        else:
            changed = {name: value}
        self._fields = replace(self._fields, **changed)
        self._changed()

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.app.action_focus_next()

    @on(Field.Opened)
    def _pick(self) -> None:
        picker = DiskPicker(self._subject.disks, self._fields.serials, self._glyphs)
        self.app.push_screen(picker, self._picked)

    def _picked(self, serials: tuple[str, ...] | None) -> None:
        if serials is not None:
            self._fields = replace(self._fields, serials=serials)
            self._changed()

    def _changed(self) -> None:
        """Check the volume, and have looked at what it would come to."""
        subject = self._subject
        name = "" if subject.before is None else subject.before.name
        layout = subject.draft.layout(subject.base)
        others = [one for one in layout.volumes if one.name != name]
        self._volume, problems = check(self._fields, others, subject.base)
        self._problem = problems[0] if problems else None
        if self._fields.name.strip() in subject.draft.removed:
            self._volume = None
            self._problem = Problem(
                "name",
                "this draft removes a volume of that name: use another name, or add it after that"
                " plan",
            )
        if self._volume is None:
            self._preview, self._no_preview = None, ""
        else:
            asked = self._volume
            self._ask_preview(asked, lambda *found: self._previewed(asked, *found))
        self._draw()

    def _previewed(self, asked: Volume, preview: Preview | None, why_none: str) -> None:
        # The preview of what was typed before.
        if asked != self._volume:
            return
        self._preview, self._no_preview = preview, why_none
        if self.is_mounted:
            self._draw()

    # -- drawing

    def _draw(self) -> None:
        if not self.is_mounted or not self.query("#form-verdict"):
            return
        used = used_fields(self._fields)
        for field in self.query(Field):
            field.display = field.field in used
        self._show_problem()
        picked = ", ".join(clean(one) for one in self._fields.serials)
        number = len(self._fields.serials)
        self.query_one(PickField).show(f"{number}: {picked}" if picked else "enter chooses them")
        verdict = self.query_one("#form-verdict", Panel)
        width = verdict.size.width - 2 or self.size.width - 12
        verdict.show(self._verdict(width)[:_VERDICT_ROWS])
        self.query_one("#keep", Button).disabled = self._volume is None
        self.refresh_bindings()

    def _show_problem(self) -> None:
        """Say what is wrong in a line below the field where it is."""
        line = self.query_one("#form-problem", Static)
        wrong = "" if self._problem is None else self._problem.field
        line.display = bool(wrong)
        if self._problem is None or not wrong:
            return
        field = self.query_one(f"#{field_id(wrong)}", Field)
        line.update(self._problem.text)
        fields = self.query_one("#form-fields", VerticalScroll)
        fields.move_child(line, after=field)
        if field.has_focus_within:
            self.call_after_refresh(line.scroll_visible, animate=False)

    def _verdict(self, width: int) -> list[Line]:
        glyphs, volume = self._glyphs, self._volume
        if volume is None:
            problem = self._problem
            text = "fix the field marked above"
            if problem is not None and not problem.field:
                text = problem.text
            lead = Content.styled(glyphs.bad, marks.BAD)
            return wrapped(text, first=lead, indent=2, width=width, style=marks.BAD, rows=4)
        lines = self._needs(volume, width)
        if self._preview is None:
            words = self._no_preview or "computing the preview"
            return [*lines, Content.styled(words, marks.MUTED)]
        for one in self._preview.volumes:
            if one.name == volume.name:
                lines += verdict_lines(replace(one, hint=""), width, glyphs)
        return lines

    def _needs(self, volume: Volume, width: int) -> list[Line]:
        """What has to be said before a volume that is there is changed."""
        subject, glyphs = self._subject, self._glyphs
        lead = Content.styled(glyphs.warn, marks.WARN)
        stands = subject.stands
        if stands is None:
            return []
        if volume.name != stands.name:
            text = (
                f"another name is another volume: {clean(stands.name)} and its data are removed,"
                f" {clean(volume.name)} is created"
            )
            return wrapped(text, first=lead, indent=2, width=width, style=marks.WARN, rows=2)
        if self.why_not("two_plans"):
            return []
        if self._decision(volume) in _STAYS:
            text = (
                "its disks are unchanged: ctrl+r removes it first, and a second plan recreates it"
            )
            return wrapped(text, first=lead, indent=2, width=width, style=marks.MUTED, rows=2)
        text = (
            "it cannot be changed in place: ctrl+r removes it first and creates this one by another"
            " plan; or give this one another name. Either way all data on it is destroyed"
        )
        return wrapped(text, first=lead, indent=2, width=width, style=marks.WARN, rows=3)

    # -- actions

    def why_not(self, action: str) -> str:
        """Why ``action`` cannot be done now; empty if it can."""
        if action in {"keep", "two_plans"} and self._volume is None:
            return "fix the field marked above"
        if action == "two_plans":
            stands, volume = self._subject.stands, self._volume
            if stands is None or volume is None or volume.name != stands.name:
                return "there is no volume of that name to be removed"
            recreated = {None, Decision.REFUSE, *_STAYS}
            if not is_another_shape(stands, volume) or self._decision(volume) not in recreated:
                return "it can be changed in place"
        return ""

    def _decision(self, volume: Volume) -> Decision | None:
        volumes = () if self._preview is None else self._preview.volumes
        return next((one.decision for one in volumes if one.name == volume.name), None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        return None if self.why_not(action) else True

    @on(Button.Pressed, "#leave")
    def _left(self) -> None:
        self.dismiss(None)

    @on(Button.Pressed, "#keep")
    def _kept(self) -> None:
        self.action_keep()

    def action_keep(self) -> None:
        if self._volume is not None:
            self.dismiss(Wish(self._volume))

    def action_two_plans(self) -> None:
        if self._volume is not None:
            self.dismiss(Wish(self._volume, first_remove=True))
