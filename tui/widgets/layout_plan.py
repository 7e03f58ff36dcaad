"""A plan exactly as it will run, and what it takes to confirm it. Pure."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterable, Sequence

from textual.content import Content

from appliance.client.plan_requests import PlannedHere
from appliance.model.plans import Decision, Destruction, Plan
from tui import marks
from tui.marks import Glyphs
from tui.widgets.layout import decision_mark, destroyed_heading, destroyed_lines, is_loss
from tui.widgets.panel import Line, clean, section, wrapped

# What is made or loses what it holds.
_GRAVE = (Decision.CREATE, Decision.RECREATE, Decision.REMOVE)
_WHAT = {
    Decision.CREATE: "is created, empty",
    Decision.RECREATE: "is recreated EMPTY: all data on it is destroyed",
    Decision.REMOVE: "is taken down: ALL DATA ON IT IS DESTROYED",
    Decision.GROW: "grows and keeps its data",
    Decision.ASSEMBLE: "is brought up with its data",
    Decision.NOTHING: "is not changed",
    Decision.WAIT: "waits for disks",
    Decision.REFUSE: "is refused: nothing is done to it",
}
# What is typed where only the declaration changes.
DECLARATION = "layout"
STILL = "still to type"
_NAME = re.compile(r"[^\s,;]+")


def names_to_type(plan: Plan) -> tuple[str, ...]:
    """What has to be typed to confirm ``plan``: each volume that is created or loses its data.

    Without any, those with something to do; and :data:`DECLARATION` if only the layout's text
    changes.
    """
    grave = [one.name for one in plan.volumes if one.decision in _GRAVE]
    lossy = [step.volume for step in plan.steps if step.destroys]
    busy = [step.volume for step in plan.steps]
    for names in ((*grave, *lossy), busy):
        if found := tuple(dict.fromkeys(name for name in names if name)):
            return found
    return (DECLARATION,)


def not_yet_confirmed(names: Sequence[str], typed: str) -> str:
    """Why ``typed`` does not confirm: empty if it names all ``names`` and nothing else.

    As they are shown: what is erased by order is called ``erase`` and its serial, which may have
    anything in it.
    """
    said = _NAME.findall(typed)
    asked = list(dict.fromkeys(_NAME.findall(" ".join(map(clean, names)))))
    if wrong := [one for one in said if one not in asked]:
        return f"{clean(wrong[0])!r} is not one of the names asked for"
    if left := [one for one in asked if one not in said]:
        return f"{STILL}: {' '.join(left)}"
    return ""


def destroyed(plan: Plan) -> tuple[Destruction, ...]:
    """Every disk that is overwritten, once, with what it holds before anything is done."""
    found: dict[str, Destruction] = {}
    for step in plan.steps:
        for one in step.destroys:
            found.setdefault(one.path, one)
    return tuple(found.values())


def plan_lines(made: PlannedHere, width: int, glyphs: Glyphs, *, comments: bool) -> list[Line]:
    """The whole plan: volumes in words, what is lost, the steps with their commands, the digest.

    ``comments``: the installed layout is a file, whose comments a new one does not keep.
    """
    plan = made.plan
    lines = [*_lost(plan, width, glyphs), Content("")]
    note = Content.styled(decision_words(plan), marks.MUTED)
    lines.append(section("WHAT BECOMES OF THE VOLUMES", note, width, glyphs))
    for one in plan.volumes:
        mark = decision_mark(one.decision, glyphs)
        lead = Content.assemble((mark.glyph, mark.style), " ", (clean(one.name), "bold"), " ")
        lines += wrapped(
            # The disks of one that is removed are listed above.
            mark.word + (f": {clean(one.reason)}" if one.decision is not Decision.REMOVE else ""),
            first=lead,
            indent=max(16, lead.cell_length),
            width=width,
            rows=6,
        )
        if one.hint:
            lines += _below(f"next: {clean(one.hint)}", width, marks.MUTED)
    if made.late is not None:
        lines += _below("if no more disks come:", width, marks.WARN)
        for one in made.late.volumes:
            lines += _below(f"{clean(one.name)} {_WHAT[one.decision]}", width, marks.WARN)
    if comments and made.request.layout_text is not None:
        lines += _below(
            "the installed layout is replaced; comments in it are not kept", width, marks.MUTED
        )
    lines += [*_steps(plan, width, glyphs), Content(""), *_digest(plan, width, glyphs)]
    return lines


def decision_words(plan: Plan) -> str:
    """The plan's decision as the command line has it, and how many steps there are."""
    number = len(plan.steps)
    return f"{plan.decision}, {number} {'step' if number == 1 else 'steps'}"


def _below(text: str, width: int, style: str) -> list[Line]:
    return wrapped(text, indent=2, width=width, style=style, rows=6)


def _lost(plan: Plan, width: int, glyphs: Glyphs) -> list[Line]:
    written = destroyed(plan)
    lost = sum(map(is_loss, written))
    return [
        destroyed_heading("WHAT IS DESTROYED", lost, width, glyphs),
        *destroyed_lines(written, width, glyphs),
    ]


def _steps(plan: Plan, width: int, glyphs: Glyphs) -> list[Line]:
    words = (
        "refused: nothing is run"
        if plan.decision is Decision.REFUSE
        else "exactly what runs, in this order"
    )
    title = "1 STEP" if len(plan.steps) == 1 else f"{len(plan.steps)} STEPS"
    note = Content.styled(words, marks.MUTED)
    lines = [Content(""), section(title, note, width, glyphs)]
    for number, step in enumerate(plan.steps, 1):
        lead = f"{number}."
        names = ", ".join(one.path.removeprefix("/dev/") for one in step.destroys)
        why = clean(f"{step.why}; overwrites {names}" if names else step.why)
        lines += wrapped(why, first=lead, indent=4, width=width, rows=6)
        lines += [
            Content.styled(f"    {part}", "bold") for part in command_lines(step.argv, width - 4)
        ]
    return lines


def command_lines(argv: Sequence[str], width: int) -> list[str]:
    r"""``argv`` as a shell would take it, in lines of ``width``; all but the last end in ``\``.

    Nothing is left out: a word that is longer than a line goes on in the next.
    """
    room = max(20, width - 4)
    lines = ["$"]
    for word in (clean(shlex.quote(part)) for part in argv):
        if len(lines[-1]) + 1 + len(word) <= room:
            lines[-1] += f" {word}"
            continue
        lines[-1] += " \\"
        parts = [word[at : at + room] for at in range(0, len(word), room)]
        lines += [
            *(f"{part}\\" for part in parts[:-1]),
            f"  {parts[-1]}" if len(parts) == 1 else parts[-1],
        ]
    return lines


def _digest(plan: Plan, width: int, glyphs: Glyphs) -> list[Line]:
    return [
        section(
            "DIGEST", Content.styled("of these disks and these steps", marks.MUTED), width, glyphs
        ),
        *(Content.styled(part, marks.MUTED) for part in textwrap.wrap(plan.digest, width)),
    ]


def confirm_words(plan: Plan, names: Iterable[str]) -> list[tuple[str, str, bool]]:
    """For each of ``names``: (name, what happens to it, whether it loses what it holds)."""
    decisions = {one.name: one.decision for one in plan.volumes}
    erased = {step.volume or "" for step in plan.steps if step.destroys}
    words = []
    for name in names:
        decision = decisions.get(name)
        if decision is None:
            text = (
                "only the text of the layout is replaced" if name == DECLARATION else "is changed"
            )
        else:
            text = _WHAT[decision]
        loses = decision in {Decision.REMOVE, Decision.RECREATE}
        words.append((name, text, loses or (decision is None and name in erased)))
    return words
