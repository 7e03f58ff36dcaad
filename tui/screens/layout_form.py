"""The form of one volume: each field checked when it is left, with a preview on these disks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Button, Input

from appliance.model.disks import Disk
from appliance.model.plans import Decision, Layout, Volume
from appliance.storage.policy.layout_draft import Draft, is_another_shape
from appliance.storage.policy.layout_fields import (
    Fields,
    Problem,
    about,
    check,
    choices,
    default_of,
    fields_of,
    names,
    option_fields,
    used_fields,
)
from appliance.storage.policy.preview import Preview
from tui import marks
from tui.marks import Glyphs
from tui.screens.layout_picker import DiskPicker
from tui.screens.sheet import FORM_KEYS, Reply, Sheet
from tui.widgets.keys import Scroll
from tui.widgets.layout import verdict_lines
from tui.widgets.layout_form import Field
from tui.widgets.panel import Line, Panel, clean, wrapped

_ABOUT_ROWS, _VERDICT_ROWS = 3, 5
_OPTIONS = frozenset(option.key for _, option in option_fields())
_STAYS = (Decision.ASSEMBLE, Decision.NOTHING)


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


class VolumeForm(Sheet, inherit_bindings=False):
    """Gives ``keep`` the volume as it is wanted."""

    VERTICAL_BREAKPOINTS = [(0, "-short"), (18, "-tall")]  # noqa: RUF012 - as Textual declares it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "keep", "Keep", tooltip="put the volume into the draft",
                id="form.keep", priority=True),
        Binding("ctrl+r", "two_plans", "Remove first",
                tooltip="remove the existing volume by this plan, create this one by the next",
                id="form.two", priority=True),
        # Before the fields' scroll bar takes them.
        Binding("down", "app.focus_next", "Next field", tooltip="go to the next field",
                show=False, id="form.down", priority=True),
        Binding("up", "app.focus_previous", "Previous field", tooltip="go to the previous field",
                show=False, id="form.up", priority=True),
        *FORM_KEYS,
    ]  # fmt: skip

    def __init__(
        self,
        subject: Subject,
        preview: AskPreview,
        keep: Callable[[Wish], None],
        glyphs: Glyphs,
    ) -> None:
        before = subject.before
        title = "A new volume" if before is None else f"Volume {clean(before.name)}"
        super().__init__(title, Content(""), [Reply("keep", "Keep in the draft")])
        self._subject = subject
        self._keep = keep
        self._ask_preview = preview
        self._glyphs = glyphs
        self._fields = Fields() if subject.before is None else fields_of(subject.before)
        self._volume: Volume | None = None
        self._problems: tuple[Problem, ...] = ()
        self._seen: frozenset[str] = frozenset()
        self._preview: Preview | None = None
        self._no_preview = ""

    def body(self) -> ComposeResult:
        one = self._fields
        with Scroll(id="form-fields", can_focus=False):
            for name in names():
                value = one.options.get(name, "") if name in _OPTIONS else getattr(one, name)
                yield Field(name, value, words=choices(name), placeholder=default_of(one, name))
        yield Panel(id="form-about")
        yield Panel(id="form-verdict")

    def focus_first(self) -> None:
        self._field("name").focus_editor()

    def on_mount(self) -> None:
        self._changed()

    def _field(self, name: str) -> Field:
        return self.query_one(f"#field-{name.replace('_', '-')}", Field)

    # -- what is typed

    @on(Field.Changed)
    def _field_changed(self, event: Field.Changed) -> None:
        name, value = event.field.field, event.field.value
        if name == "wait" and value.isdigit():
            value += "s"
        self._fields = self._fields.with_text(name, value)
        self._changed()

    @on(events.DescendantBlur)
    def _left_field(self, event: events.DescendantBlur) -> None:
        """Nothing is said of a field before it is left; from then on, as it is typed."""
        self._seen |= {one.field for one in event.widget.ancestors if isinstance(one, Field)}
        self.draw()

    @on(events.DescendantFocus)
    def _entered_field(self) -> None:
        self.draw()

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.app.action_focus_next()

    @on(Field.Opened)
    def _pick(self) -> None:
        known, chosen = self._subject.disks, self._fields.serials
        self.app.push_screen(DiskPicker(known, chosen, self._picked, self._glyphs))

    def _picked(self, serials: tuple[str, ...]) -> None:
        self._fields = self._fields.with_text("serials", serials)
        self._changed()

    def _changed(self) -> None:
        """Check the volume, and have its preview computed."""
        subject = self._subject
        name = "" if subject.before is None else subject.before.name
        layout = subject.draft.layout(subject.base)
        others = [one for one in layout.volumes if one.name != name]
        self._volume, self._problems = check(self._fields, others, subject.base)
        if self._fields.name.strip() in subject.draft.removed:
            self._volume = None
            self._problems = (
                Problem(
                    "name",
                    "this draft removes a volume of that name",
                    "use another name, or add it after that plan",
                ),
            )
        if self._volume is None:
            self._preview, self._no_preview = None, ""
        else:
            asked = self._volume
            self._ask_preview(asked, lambda *found: self._previewed(asked, *found))
        self.draw()

    def _previewed(self, asked: Volume, preview: Preview | None, why_none: str) -> None:
        # The preview of what was typed before.
        if asked != self._volume:
            return
        self._preview, self._no_preview = preview, why_none
        if self.is_mounted:
            self.draw()

    # -- drawing

    @property
    def _entered(self) -> Field | None:
        """The field that has the focus."""
        return next((one for one in self.query(Field) if one.has_focus_within), None)

    @property
    def _said(self) -> dict[str, Problem]:
        """What is wrong, as far as it is said yet: of fields that were left, and of the one that
        alone is wrong.
        """
        problems, entered = self._problems, self._entered
        at = "" if entered is None else entered.field
        return {
            one.field: one
            for one in problems
            if one.field in self._seen or (len(problems) == 1 and one.field != at)
        }

    def draw(self) -> None:
        if not self.is_mounted or not self.query("#form-verdict"):
            return
        used, said, entered = used_fields(self._fields), self._said, self._entered
        short = self.has_class("-short")
        for field in self.query(Field):
            field.display = field.field in used
            problem = said.get(field.field)
            # What is allowed, the line of help says.
            brief = short or field is entered
            field.say("" if problem is None else problem.what if brief else problem.text)
        picked = ", ".join(clean(one) for one in self._fields.serials)
        number = len(self._fields.serials)
        self._field("serials").show(f"{number}: {picked}" if picked else "enter chooses them")
        width = self.query_one("#form-verdict").size.width or self.size.width - 12
        help_words = "" if entered is None else clean(about(self._fields, entered.field))
        self.query_one("#form-about", Panel).show(
            wrapped(help_words, width=width, style=marks.MUTED,
                    rows=1 if short else _ABOUT_ROWS)
        )  # fmt: skip
        verdict = self._verdict(width)[: 1 if short else _VERDICT_ROWS]
        self.query_one("#form-verdict", Panel).show(verdict)
        self.query_one("#keep", Button).disabled = self._volume is None
        self.refresh_bindings()
        if entered is not None:
            # With the line below it.
            self.call_after_refresh(entered.scroll_visible, animate=False)

    def _verdict(self, width: int) -> list[Line]:
        glyphs, volume = self._glyphs, self._volume
        if volume is None:
            said = self._said
            if not said:
                return []
            text = f"to be fixed: {', '.join(filter(None, said))}"
            if "" in said:
                text = said[""].text
            lead = (glyphs.bad, marks.BAD)
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
        lead = (glyphs.warn, marks.WARN)
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
        if action in {"keep", "two_plans"} and self._problems:
            first = self._problems[0]
            return f"{first.field}: {first.text}" if first.field else first.text
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

    @on(Button.Pressed, "#keep")
    def action_keep(self) -> None:
        self._wish(first_remove=False)

    def action_two_plans(self) -> None:
        self._wish(first_remove=True)

    def _wish(self, *, first_remove: bool) -> None:
        if self._volume is not None:
            self._keep(Wish(self._volume, first_remove))
            if self.is_current:
                self.dismiss("")
