"""A plan that is carried out, step by step, and how it ended. Pure."""

from __future__ import annotations

from textual.content import Content

from appliance.client.apply_progress import StepState, Watched
from appliance.client.plan_requests import ApplyEnd
from appliance.errors import EXIT_OK, EXIT_REFUSED, EXIT_STALE
from appliance.model.plans import Step
from appliance.text import duration
from tui import marks
from tui.marks import Glyphs, Mark
from tui.widgets.layout_plan import command_lines
from tui.widgets.panel import Line, clean, labelled, section, wrapped

_LEAD = 18
_SHOWN = {StepState.RUNNING, StepState.FAILED}


def step_mark(state: StepState, glyphs: Glyphs) -> Mark:
    """How far a step is, as glyph, word and colour."""
    glyph, style = {
        StepState.WAITING: (glyphs.idle, marks.MUTED),
        StepState.RUNNING: (glyphs.pointer, marks.BUSY),
        StepState.DONE: (glyphs.good, marks.GOOD),
        StepState.FAILED: (glyphs.bad, marks.BAD),
        StepState.NOT_RUN: (glyphs.idle, marks.WARN),
        StepState.UNKNOWN: (glyphs.unknown, marks.WARN),
    }[state]
    return Mark(glyph, state.value, style)


def end_mark(end: ApplyEnd, glyphs: Glyphs) -> Mark:
    """How it ended."""
    if end.exit_code == EXIT_OK:
        return Mark(glyphs.good, "DONE", marks.GOOD)
    if end.exit_code == EXIT_STALE:
        return Mark(glyphs.warn, "STALE", marks.WARN)
    if end.exit_code == EXIT_REFUSED:
        return Mark(glyphs.warn, "REFUSED", marks.WARN)
    return Mark(glyphs.bad, "FAILED", marks.BAD)


def title_words(watched: Watched) -> str:
    """What is carried out and how far it is, for the title."""
    name = f"Plan {clean(watched.digest[:12])}"
    if watched.end is not None:
        return f"{name}: ended"
    if watched.latest is None:
        return f"{name}: not started yet"
    lost = ", when it was last seen" if watched.is_lost else ""
    return f"{name}: step {watched.latest.step} of {watched.latest.steps}{lost}"


def steps_lines(watched: Watched, now: float, width: int, glyphs: Glyphs) -> tuple[list[Line], int]:
    """Every step with how far it is and how long it took; at which line the present one is."""
    lines: list[Line] = []
    at = 0
    for number, (why, argv) in enumerate(_steps(watched), 1):
        state = watched.state(number)
        mark = step_mark(state, glyphs)
        seconds = watched.seconds(number, now)
        took = "" if seconds is None else f", {duration(seconds)}"
        if watched.latest is not None and number == watched.latest.step:
            at = len(lines)
        lead = Content.assemble((f"{number:>3}. ", marks.MUTED), (f"{mark.text:<12}", mark.style))
        style = marks.MUTED if state is StepState.WAITING else ""
        lines += wrapped(
            f"{clean(why)}{took}", first=lead, indent=_LEAD, width=width, style=style, rows=3
        )
        if state in _SHOWN:
            lines += [
                Content.styled(f"     {part}", "bold") for part in command_lines(argv, width - 5)
            ]
    return lines, at


def _steps(watched: Watched) -> list[tuple[str, tuple[str, ...]]]:
    """Why and argv of each step; of an unknown plan only what was reported of it."""
    if watched.plan is not None:
        return [(f"{step.why}{_one_disk(step)}", step.argv) for step in watched.plan.steps]
    latest = watched.latest
    if latest is None:
        return []
    unknown = [("not visible from here", ())] * (latest.steps - 1)
    return [*unknown[: latest.step - 1], (latest.why, latest.argv), *unknown[latest.step - 1 :]]


def _one_disk(step: Step) -> str:
    """Which disk a step is for: there may be one such step for each."""
    lost = step.destroys
    return f" ({lost[0].path.removeprefix('/dev/')})" if len(lost) == 1 else ""


def end_lines(watched: Watched, width: int, glyphs: Glyphs) -> list[Line]:
    """The outcome in words: what went wrong, what to do next; or that it is still running."""
    if watched.problem:
        text = f"its progress is not known: {watched.problem}"
        return labelled((glyphs.warn, marks.WARN), text, width, marks.WARN, cells=2, rows=3)
    end = watched.end
    if end is None:
        text = "it continues if you leave; esc goes back, w shows it again"
        if watched.latest is None:
            text = f"root's unit waits for its turn and reads the disks; {text}"
        return wrapped(text, width=width, style=marks.MUTED, rows=3)
    mark = end_mark(end, glyphs)
    lines = [section(mark.text, Content(""), width, glyphs, style=f"bold {mark.style}")]
    lines += wrapped(clean(end.message), width=width, rows=8)
    if end.exit_code in {EXIT_STALE, EXIT_REFUSED} and not watched.began_s:
        lines.append(Content.styled("no step was started", marks.MUTED))
    if end.hint:
        lines += labelled("next", end.hint, width, cells=6)
    return lines
