"""One finding: what is wrong, since when, why, what to do next, and the evidence. Pure."""

from __future__ import annotations

import datetime
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from appliance.drift.codes import CODES
from appliance.history.json_documents import next_step
from appliance.model import advice
from appliance.model.findings import DriftState, FindingRecord
from appliance.text import count, duration, latency, moment, size
from tui.sources.drift import Evidence

Rows = list[tuple[str, str]]

_DAY_SECONDS = 86_400
_MOST_MOVES = 200
# How far before a change without a known run before it the kernel log is asked for.
_BEFORE_SECONDS = 6 * 3600
# What a command begins with, in the next steps that the codes have.
_PROGRAM = re.compile(
    "(stripewright|journalctl|cat|lsblk|mdadm|nvme|grep|df|du|systemctl|findmnt|timedatectl|lvs|vgs"
    "|storcli64|mount|umount|xfs_info|dumpe2fs) "
)
_NOT_IN_A_SCREEN = " (stripewright drift list)"


@dataclass(frozen=True, slots=True)
class Step:
    """What to do next, in ``words``; ``command`` is the first shell command of it, or empty."""

    words: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """``name`` is a run's number, a disk's serial, or seconds since the epoch, by ``kind``:
    ``run``, ``disks`` or ``log``.
    """

    words: str
    kind: str
    name: str


# --------------------------------------------------------------------------------- opening


def opening(record: FindingRecord, evidence: Evidence | None, step: Step, *, wall: float) -> Rows:
    """What an operator asks first, in that order. ``wall`` is now, in seconds since the epoch."""
    fact, code = record.fact, CODES.get(record.fact.code)
    cause = _cause(record)
    said = evidence.said[-1].words if evidence and evidence.said else ""
    return _told(
        ("since", _since(record, wall)),
        ("cause", cause),
        ("means", "" if cause else code.title if code else "a code unknown to this version"),
        ("next", step.words),
        ("closed", "" if record.closed_at is None else moment(record.closed_at)),
        ("repeated", said),
        ("note", noted(record)),
        ("disk", "" if fact.member in f"{fact.summary} {cause} {step.words}" else fact.member),
    )


def changed_at(record: FindingRecord) -> float:
    """When it began, in seconds since the epoch: the run of the change, or when it was found.

    By the finding alone, so that it is the same before and after its series was read.
    """
    known = record.fact.evidence
    began = known.get("change_at", known.get("last_valid_at"))
    try:
        then = datetime.datetime.strptime(f"{began}+0000", "%Y-%m-%d %H:%M:%SZ%z")
    except ValueError:
        return record.opened_at
    return then.timestamp()


def _since(record: FindingRecord, wall: float) -> str:
    at, run = changed_at(record), record.fact.evidence.get("change_run")
    words = f"{moment(at)}, {_ago(wall - at)}"
    return f"{words}, run {run}" if isinstance(run, int) else words


def _ago(seconds: float) -> str:
    if seconds >= 2 * _DAY_SECONDS:
        return f"{seconds / _DAY_SECONDS:.0f} days ago"
    return f"{duration(seconds)} ago" if seconds >= 0 else "in the future"


def _cause(record: FindingRecord) -> str:
    """As far as something names one; a changed speed says also that nothing does."""
    known = record.fact.evidence
    if cause := str(known.get("cause", "")):
        return cause
    if record.fact.code == "PERF-MEMBER" and "await_ms" in known:
        sure = f"; confidence {known['confidence']}: {known['why']}" if "why" in known else ""
        return f"disk {known.get('member_name', '')} (serial {record.fact.member}) itself{sure}"
    return ""


def noted(record: FindingRecord) -> str:
    if record.acknowledged_at is None:
        return ""
    said = f": {record.note}" if record.note else ""
    return f"acknowledged by {record.acknowledged_by or 'unknown'}{said}"


# ------------------------------------------------------------------------------- next step


def next_of(
    record: FindingRecord,
    evidence: Evidence | None,
    others: Iterable[FindingRecord],
    *,
    repeat_seconds: float | None = None,
) -> Step:
    """What to do about a finding that stands, with real names.

    ``others`` are all findings; ``repeat_seconds`` is how long its repeats take, ``None`` if it
    cannot be repeated now.
    """
    fact = record.fact
    kind = fact.evidence.get("cause_kind")
    if record.state is DriftState.CLOSED:
        return Step("")
    if repeat_seconds is not None:
        return Step(f"R repeats the suspect job now, for about {duration(repeat_seconds)}")
    if fact.code == "PERF-FASTER":
        return Step("if this was intended, b makes it the new normal")
    if fact.code == "PERF-MEMBER" or (fact.code == "PERF-SLOWER" and kind == "member"):
        return _about_disk(fact.member, others)
    if fact.code == "PERF-BELOW-PUBLISHED" and fact.member:
        return _about_disk(fact.member, others)
    if fact.code == "PERF-SLOWER" and kind == "environment":
        return Step("set it back, or, if it was intended, make this the new normal with b")
    if fact.code == "PERF-LATENCY-MODE" or (fact.code == "PERF-SLOWER" and not kind):
        command = kernel_log(record, evidence)
        return Step(f"see what the kernel said then: {command}", command)
    epoch = fact.evidence.get("epoch")
    if fact.code.startswith("ENV-") and isinstance(epoch, int) and epoch > 1:
        command = f"stripewright compare epoch:{epoch - 1} epoch:{epoch}"
        return Step(f"see whether it made a difference: {command}", command)
    if fact.code == "RUNS-MISSING" and not fact.next_step and "suite" in fact.evidence:
        command = f"stripewright results --suite {shlex.quote(str(fact.evidence['suite']))}"
        return Step(f"see what became of the last runs: {command}", command)
    words = next_step(record).replace(_NOT_IN_A_SCREEN, "").replace("compare A B", "results")
    return Step(words, next(_commands(words), ""))


def _about_disk(serial: str, others: Iterable[FindingRecord]) -> Step:
    """Whether the disk warns as well is known here."""
    for one in others:
        if (one.fact.code, one.fact.member) == ("DISK-HEALTH", serial) and one.closed_at is None:
            return Step(
                f"disk {serial} warns, too (finding {one.id}): save the data; on a cloud machine "
                "stop and start it for other disks, otherwise replace this one"
            )
    command = advice.MEMBERS_ALONE.removeprefix("as root: ")
    return Step(
        f"disk {serial} gives no health warning; measure each member alone, as root: {command}",
        command,
    )


def kernel_log(record: FindingRecord, evidence: Evidence | None) -> str:
    """The command that shows the kernel's messages from the run before the change to it."""
    until = changed_at(record)
    slots = evidence.stretch.slots if evidence and evidence.stretch else ()
    earlier = [slot.started_at for slot in slots if slot.started_at < until]
    since = max(earlier, default=until - _BEFORE_SECONDS)
    # systemd.time(7) reads UTC, and no Z.
    from_words, to_words = (f"'{moment(at).removesuffix('Z')} UTC'" for at in (since, until))
    return f"journalctl -k --since {from_words} --until {to_words}"


def _commands(step: str) -> Iterator[str]:
    for part in step.split("; "):
        command = part.rpartition(": ")[2]
        if _PROGRAM.match(command):
            yield command


def links(record: FindingRecord, evidence: Evidence | None) -> list[Link]:
    """Where a finding leads, where one looks first last: the log of the time when it began, its
    disk, the last run and the one with which it began.
    """
    known, fact = record.fact.evidence, record.fact
    slots = evidence.stretch.slots if evidence and evidence.stretch else ()
    began = known.get("change_run")
    last = slots[-1].run_id if slots else known.get("last_run", known.get("alarm_run"))
    at = changed_at(record)
    found = [Link(f"Log {moment(at)[11:16]}", "log", f"{at:.0f}")]
    if fact.member:
        found.append(Link("Disk", "disks", fact.member))
    if isinstance(last, int) and last != began:
        found.append(Link(f"Run {last}", "run", str(last)))
    if isinstance(began, int):
        found.append(Link(f"Run {began}", "run", str(began)))
    return found


# -------------------------------------------------------------------------------- evidence


def evidence_rows(record: FindingRecord) -> Rows:
    """The figures of a finding in words, with their units."""
    fact, known = record.fact, dict(record.fact.evidence)
    rows = _told(
        ("expected", fact.expected),
        ("observed", fact.observed),
        ("volume", fact.volume),
        ("disk", fact.member),
    )
    names = [str(known.pop(name, "")) for name in ("suite", "job", "direction", "target")]
    if names[0] and names[3]:
        rows.append(("series", f"{' '.join(filter(None, names[:3]))} in {names[3]}"))
    elif fact.subject not in {fact.volume, fact.member}:
        rows.append(("about", fact.subject))
    low, high = known.pop("baseline_low_iops", None), known.pop("baseline_high_iops", None)
    if isinstance(low, int | float) and isinstance(high, int | float):
        number = known.pop("baseline_slots", None)
        of = f", from {number} results" if number else ""
        rows.append(("normal range", f"{count(low)} to {count(high)} IOPS{of}"))
    # Both are told above, and in whole sentences.
    known.pop("cause", None)
    known.pop("cause_kind", None)
    return rows + [_figure(name, value) for name, value in known.items()]


# By the end of a figure's name: how it is written. What is left of the name is its label.
_UNITS = {
    "_iops": lambda value: f"{count(value)} IOPS",
    "_ns": latency,
    "_ms": lambda value: latency(value * 1e6),
    "_percent": lambda value: f"{value:g} %",
    "_bytes": size,
    "_seconds": duration,
}
_LABELS = {
    "change_run": "began with run",
    "change_at": "began",
    "alarm_run": "raised by run",
    "alarm_at": "raised",
    "effect_percent": "change",
    "against_baseline_percent": "against normal",
    "baseline_iops": "normal",
    "level_iops": "now",
    "before_iops": "before",
    "slots_since": "results since",
    "cut_ns": "usual end",
    "mode_ns": "second peak",
    "member_name": "device",
    "others_await_ms": "await of the others",
    "ratio": "times the others",
    "ratio_before": "times before",
}
_FLAGS = {"provisional": "few results are known yet", "by_hand": "runs are started by hand"}


def _figure(name: str, value: str | int | float) -> tuple[str, str]:
    if name in _FLAGS:
        return name.replace("_", " "), _FLAGS[name]
    for end, write in _UNITS.items():
        if f"_{name}".endswith(end) and isinstance(value, int | float):
            label = _LABELS.get(name) or f"_{name}".removesuffix(end).strip("_").replace("_", " ")
            return label or end.strip("_"), write(value)
    return _LABELS.get(name) or name.replace("_", " "), str(value)


def repeat_rows(evidence: Evidence | None) -> Rows:
    return [(moment(one.at), one.words) for one in (evidence.said if evidence else ())]


def happened_rows(evidence: Evidence | None) -> Rows:
    """What became of the finding, oldest first."""
    rows = []
    for one in evidence.transitions[-_MOST_MOVES:] if evidence else ():
        who, note = f" by {one.who}" if one.who else "", f": {one.note}" if one.note else ""
        rows.append((moment(one.at), f"{one.kind}{who}{note}"))
    return rows


def catalog_command(record: FindingRecord) -> str:
    """The command that shows its entries with the catalog's text; empty for an unknown code."""
    code = CODES.get(record.fact.code)
    return f"journalctl -x -t stripewright STRIPEWRIGHT_DRIFT_CODE={code.name}" if code else ""


def _told(*rows: tuple[str, str]) -> Rows:
    return [(label, text) for label, text in rows if text]
