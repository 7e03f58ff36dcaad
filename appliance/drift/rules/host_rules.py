"""What keeps the appliance itself from its work: its disk, /run, the clock, the last boot. Pure.

Nothing here is about the volumes. Most of it keeps findings out of the history as well, so that
``status`` and ``doctor`` say it without one.
"""

from __future__ import annotations

from collections.abc import Iterator

from appliance import paths, text
from appliance.drift.codes import fact
from appliance.drift.looks.hostlook import RUN, Host, Room
from appliance.model.findings import DriftSeverity, Fact

# Less than this is soon nothing: a run writes its samples and reports, SQLite a journal.
_LOW_BYTES = 64 * 1024 * 1024
_LOW_RUN_BYTES = 4 * 1024 * 1024
_LOW_INODES = 1024
# With less, a file of a few pages can no longer be replaced.
_NO_BYTES = 256 * 1024
_NO_INODES = 8
# A time server moves a clock by less, once it is right.
_SET_SECONDS = 3600.0


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


def _room(room: Room) -> Iterator[Fact]:
    if room.read_only:
        if room.path != RUN:
            yield fact("HOST-READ-ONLY", "rw", "ro", subject=room.path)
            return
        yield fact(
            "HOST-RUN",
            "rw",
            "ro",
            subject=RUN,
            summary="{subject} is read-only: the state of runs and plans cannot be written",
            next_step="its mount options: findmnt -o TARGET,SOURCE,OPTIONS {subject}; a reboot"
            " makes it writable again",
        )
        return
    if room.free_bytes < (_LOW_RUN_BYTES if room.path == RUN else _LOW_BYTES):
        yield _short(room, "bytes", text.size(room.free_bytes), room.free_bytes < _NO_BYTES)
    inodes = room.free_inodes
    if inodes is not None and inodes < _LOW_INODES:
        yield _short(room, "inodes", f"{inodes} inodes", inodes < _NO_INODES)


def _short(room: Room, what: str, left: str, is_full: bool) -> Fact:
    df, du = ("-i", "-x --inodes") if what == "inodes" else ("-h", "-x")
    kept = "are not kept" if is_full else "cannot be kept"
    return fact(
        "HOST-RUN" if room.path == RUN else "HOST-DISK-FULL",
        "room to write",
        f"{left} left",
        subject=room.path,
        identity=f"no {what}",
        severity=None if is_full else DriftSeverity.WARNING,
        effect=f"{'' if is_full else 'soon '}results and findings {kept}",
        df=df,
        du=du,
    )


def _clock(host: Host) -> Iterator[Fact]:
    by = host.set_seconds
    if by is not None and abs(by) >= _SET_SECONDS:
        way, where = ("forward", "ahead") if by > 0 else ("back", "behind")
        yield fact(
            "HOST-CLOCK",
            "boot time plus uptime",
            f"{_span(by)} {where}",
            subject="clock",
            identity=f"set {way}",
            way=way,
            span=_span(by),
            now=text.moment(host.at),
        )


def _stamps(host: Host) -> Iterator[Fact]:
    if host.stamps:
        yield fact(
            "HOST-CLOCK",
            "times that have passed",
            f"{len(host.stamps)} time{'s' if len(host.stamps) > 1 else ''} to come",
            subject="timers",
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


def _runs_ahead(host: Host, ahead: tuple[int, float] | None) -> Iterator[Fact]:
    if ahead is not None and ahead[0]:
        count, latest = ahead[0], text.moment(ahead[1])
        runs = f"{count} run{'s' if count > 1 else ''}"
        yield fact(
            "HOST-CLOCK",
            "dates that have passed",
            f"{runs} dated later than {text.moment(host.at)}",
            subject="history",
            identity=f"up to {latest}",
            severity=DriftSeverity.NOTICE,
            evidence={"runs": count, "latest": latest},
            summary=f"{runs} in the history {'are' if count > 1 else 'is'} dated in the future, up"
            " to {latest}: the clock was ahead. Runs keep the order in which they were measured",
            next_step="nothing to be done: acknowledge it. The runs: stripewright results",
        )


def _span(seconds: float) -> str:
    days = abs(seconds) / 86_400
    if days >= 730:
        return f"{days / 365.25:.0f} years"
    return f"{days:.0f} days" if days >= 3 else text.duration(abs(seconds))


def _crash(host: Host) -> Iterator[Fact]:
    ended = host.ended
    if ended is None:
        return
    boot, began, last = ended.boot_id, text.moment(ended.began_at), ended.last
    if last.panic or last.trouble:
        after = last.uptime_seconds
        how = "kernel panic" + ("" if after is None else f" after {text.duration(after)}")
        how += f": {last.panic or last.trouble}"
        how += f" (first: {last.trouble})" if last.panic and last.trouble else ""
    elif last.record:
        how = "the kernel kept a record, but it names no cause"
    else:
        how = (
            "cause unknown, no record was kept (a power cut, a reset, a forced reboot, or a panic"
            " that could not be recorded)"
        )
    look = f"what led to it: journalctl -e -b {boot or '-1'}"
    if last.record:
        look += f"; its last messages, as root: find {last.record} -name dmesg.txt"
    yield fact(
        "HOST-CRASHED",
        "a shutdown",
        how,
        subject="boot",
        identity=f"boot {boot or last.record or began}",
        evidence={"boot": boot, "record": last.record or f"none in {paths.CRASH_RECORDS}"},
        began=f", begun {began}," if ended.began_at else "",
        look=look,
    )
