"""What keeps the appliance itself from its work: its disk, /run, the clock, the last boot. Pure.

Nothing here is about the volumes. Most of it keeps findings out of the history as well, so that
``status`` and ``doctor`` say it without one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from appliance import paths, text
from appliance.drift.codes import fact
from appliance.model.findings import DriftSeverity, Fact

RUN = "/run"
# Less than this is soon nothing: a run writes its samples and reports, SQLite a journal.
_LOW_BYTES = 64 * 1024 * 1024
_LOW_RUN_BYTES = 4 * 1024 * 1024
_LOW_INODES = 1024
# With less, a file of a few pages can no longer be replaced.
_NO_BYTES = 256 * 1024
_NO_INODES = 8
# A time server moves a clock by less, once it is right.
_SET_SECONDS = 3600.0
# Two clocks that are read one after the other, and the jitter of a file system's times.
AHEAD_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Room:
    """What a file system of the appliance itself has left; without ``free_inodes`` it does not
    count them.
    """

    path: str
    free_bytes: int
    free_inodes: int | None
    read_only: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """How the last boot ended, if that was no shutdown. ``boot_id`` and ``began_at`` are empty and
    0 where its mark does not say. ``record`` is where the kernel's last messages are, ``panic`` and
    ``trouble`` its words for the end and for what came first, ``uptime_seconds`` when.
    """

    boot_id: str
    began_at: float
    record: str = ""
    panic: str = ""
    trouble: str = ""
    uptime_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Host:
    """One look. ``stamps`` are our timers that fired at a time that has not come yet, and that
    time. ``set_seconds`` is by how much the clock was set since the first look of this boot,
    ``None`` if root has not looked.
    """

    at: float
    rooms: tuple[Room, ...] = ()
    stamps: Mapping[str, float] = field(default_factory=dict)
    set_seconds: float | None = None
    ended: Ended | None = None


def judge(host: Host, *, ahead: tuple[int, float] | None = None) -> tuple[Fact, ...]:
    """Every fact. ``ahead`` is how many runs of the history are dated later than now, and the
    latest of these dates; ``None`` without a history.
    """
    return (*pressing(host), *_runs_ahead(host, ahead), *_crash(host))


def pressing(host: Host) -> tuple[Fact, ...]:
    """The facts that hold only for as long as something stops, or goes wrong, because of them."""
    return (*(one for room in host.rooms for one in _room(room)), *_clock(host), *_stamps(host))


def blind(host: Host) -> frozenset[tuple[str, str]]:
    """What this look could not see (:class:`appliance.drift.lifecycle.Scope`)."""
    return frozenset({("HOST-CLOCK", "clock")}) if host.set_seconds is None else frozenset()


# -------------------------------------------------------------------------- room to write


def _room(room: Room) -> list[Fact]:
    if room.read_only:
        if room.path != RUN:
            return [fact("HOST-READ-ONLY", room.path, expected="rw", observed="ro")]
        return [
            fact(
                "HOST-RUN",
                RUN,
                expected="rw",
                observed="ro",
                summary="{subject} is read-only: the state of runs and plans cannot be written",
                next_step="its mount options: findmnt -o TARGET,SOURCE,OPTIONS {subject}; a reboot"
                " makes it writable again",
            )
        ]
    facts = []
    if room.free_bytes < (_LOW_RUN_BYTES if room.path == RUN else _LOW_BYTES):
        facts.append(_short(room, "bytes", text.size(room.free_bytes), room.free_bytes < _NO_BYTES))
    if room.free_inodes is not None and room.free_inodes < _LOW_INODES:
        facts.append(
            _short(room, "inodes", f"{room.free_inodes} inodes", room.free_inodes < _NO_INODES)
        )
    return facts


def _short(room: Room, what: str, left: str, is_full: bool) -> Fact:
    df, du = ("-i", "-x --inodes") if what == "inodes" else ("-h", "-x")
    return fact(
        "HOST-RUN" if room.path == RUN else "HOST-DISK-FULL",
        room.path,
        expected="room to write",
        observed=f"{left} left",
        identity=f"no {what}",
        severity=None if is_full else DriftSeverity.WARNING,
        effect="results and findings are not kept"
        if is_full
        else "soon results and findings cannot be kept",
        df=df,
        du=du,
    )


# -------------------------------------------------------------------------------- the clock


def _clock(host: Host) -> list[Fact]:
    by = host.set_seconds
    if by is None or abs(by) < _SET_SECONDS:
        return []
    way = "forward" if by > 0 else "back"
    return [
        fact(
            "HOST-CLOCK",
            "clock",
            expected="boot time plus uptime",
            observed=f"{_span(by)} {'ahead' if by > 0 else 'behind'}",
            identity=f"set {way}",
            way=way,
            span=_span(by),
            now=text.moment(host.at),
        )
    ]


def _stamps(host: Host) -> list[Fact]:
    if not host.stamps:
        return []
    return [
        fact(
            "HOST-CLOCK",
            "timers",
            expected="times that have passed",
            observed=f"{len(host.stamps)} time{'s' if len(host.stamps) > 1 else ''} to come",
            identity="stamps",
            evidence={
                "timers": ", ".join(sorted(host.stamps)),
                "latest": text.moment(max(host.stamps.values())),
            },
            summary="{timers} last fired at {latest}, when the clock was ahead: missed runs are not"
            " caught up on, and the next may not start before then",
            next_step="when they fire next: systemctl list-timers 'stripewright-*'; as root:"
            " systemctl start stripewright-clock.service",
        )
    ]


def _runs_ahead(host: Host, ahead: tuple[int, float] | None) -> list[Fact]:
    if ahead is None or not ahead[0]:
        return []
    count, latest = ahead[0], text.moment(ahead[1])
    runs = f"{count} run{'s' if count > 1 else ''}"
    return [
        fact(
            "HOST-CLOCK",
            "history",
            expected="dates that have passed",
            observed=f"{runs} dated later than {text.moment(host.at)}",
            identity=f"up to {latest}",
            severity=DriftSeverity.NOTICE,
            evidence={"runs": count, "latest": latest},
            summary=f"{runs} in the history {'are' if count > 1 else 'is'} dated in the future, up"
            " to {latest}: the clock was ahead. Runs keep the order in which they were measured",
            next_step="nothing to be done: acknowledge it. The runs: stripewright results",
        )
    ]


def _span(seconds: float) -> str:
    days = abs(seconds) / 86_400
    if days >= 730:
        return f"{days / 365.25:.0f} years"
    return f"{days:.0f} days" if days >= 3 else text.duration(abs(seconds))


# ----------------------------------------------------------------------------- the last boot


def _crash(host: Host) -> list[Fact]:
    ended = host.ended
    if ended is None:
        return []
    began = f", begun {text.moment(ended.began_at)}," if ended.began_at else ""
    if ended.panic or ended.trouble:
        after = (
            f" after {text.duration(ended.uptime_seconds)}"
            if ended.uptime_seconds is not None
            else ""
        )
        first = f" (first: {ended.trouble})" if ended.panic and ended.trouble else ""
        how = f"kernel panic{after}: {ended.panic or ended.trouble}{first}"
    elif ended.record:
        how = "the kernel kept a record, but it names no cause"
    else:
        how = (
            "cause unknown, no record was kept (a power cut, a reset, a forced reboot, or a panic"
            " that could not be recorded)"
        )
    last = f"what led to it: journalctl -e -b {ended.boot_id or '-1'}"
    messages = f"its last messages, as root: find {ended.record} -name dmesg.txt"
    return [
        fact(
            "HOST-CRASHED",
            "boot",
            expected="a shutdown",
            observed=how,
            identity=f"boot {ended.boot_id or ended.record or text.moment(ended.began_at)}",
            evidence={
                "boot": ended.boot_id,
                "record": ended.record or f"none in {paths.CRASH_RECORDS}",
            },
            began=began,
            look=f"{last}; {messages}" if ended.record else last,
        )
    ]
