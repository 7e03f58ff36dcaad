"""Starts in turns, minutes at idle, and an hour: what is counted, and how."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.bench.screens.candidates import Candidate
from tests.bench.screens.loopback import Counter, Server
from tests.bench.screens.watched import Watched

WAYS = ("native", "ssh")
# Until a program has drawn what it draws once, such as the answer of a first query.
_SETTLING_SECONDS = 6.0
_HOUR_SECONDS = 3600.0
_PARTS_OF_HOUR = 6
_HOME = b"\x1b[1;1H"


@contextmanager
def started(
    candidate: Candidate, server: Server | None, counter: Counter | None = None
) -> Iterator[Watched]:
    """``candidate`` on a terminal of its own, natively or behind SSH."""
    mark = candidate.name
    environment = {**candidate.environment, "SCREENS_BENCH": mark}
    argv = candidate.argv
    if server is not None:
        port = None if counter is None else counter.port
        argv = server.client(argv, environment, port=port)
        environment = dict(candidate.environment)
    with Watched(argv, environment, mark) as watched:
        yield watched


def starts(
    candidates: Sequence[Candidate], server: Server, rounds: int
) -> dict[str, dict[str, Any]]:
    """Seconds from starting the program (or the SSH client) to the first paint and the first live
    figure, and bytes until then; each of ``candidates`` each way in turns, after one that fills
    the caches.
    """
    names = [f"{one.name}, {way}" for one in candidates for way in WAYS]
    found: dict[str, dict[str, list[float]]] = {
        name: {"paint_seconds": [], "number_seconds": [], "start_bytes": []} for name in names
    }
    for number in range(rounds + 1):
        turns = [(one, way) for one in candidates for way in WAYS]
        for one, way in turns if number % 2 else reversed(turns):
            with started(one, server if way == "ssh" else None) as watched:
                taken = {"paint_seconds": watched.wait_for("")}
                if one.number:
                    taken["number_seconds"] = watched.wait_for(one.number)
                taken["start_bytes"] = float(len(watched.written))
            if number:
                for what, value in taken.items():
                    found[f"{one.name}, {way}"][what].append(value)
    return {
        name: {
            what: {"median": statistics.median(values), "all": values}
            for what, values in kinds.items()
            if values
        }
        for name, kinds in found.items()
    }


def minutes(candidate: Candidate, server: Server, seconds: float) -> dict[str, dict[str, float]]:
    """For each screen, over ``seconds`` behind SSH: share of a core, bytes on the terminal and on
    the wire a second, and memory at the end.
    """
    found = {}
    counter = Counter(server.port)
    with started(candidate, server, counter) as watched:
        watched.wait_for("")
        for name, key in candidate.screens:
            watched.press(key)
            watched.rest(_SETTLING_SECONDS)
            process = watched.process
            cpu, written, wire = (
                process.cpu_seconds(), len(watched.written), counter.received_bytes,
            )  # fmt: skip
            watched.rest(seconds)
            found[name] = {
                "core_share": (process.cpu_seconds() - cpu) / seconds,
                "terminal_bytes_per_s": (len(watched.written) - written) / seconds,
                "wire_bytes_per_s": (counter.received_bytes - wire) / seconds,
                "rss_bytes": float(process.rss_bytes()),
            }
    counter.close()
    return found


def hour(candidate: Candidate, speed: float) -> dict[str, Any]:
    """Memory after the start and after each sixth of an hour.

    The clocks of ``candidate`` run ``speed`` times as fast, and so do its repaints: they are
    counted by where each ends, with the cursor at home, as a machine may be too slow for them.
    """
    with started(candidate, None) as watched:
        watched.wait_for(candidate.number)
        watched.rest(_SETTLING_SECONDS / speed)
        process = watched.process
        rss_bytes = [process.rss_bytes()]
        watched.written.clear()
        repaints = 0
        for _ in range(_PARTS_OF_HOUR):
            watched.rest(_HOUR_SECONDS / _PARTS_OF_HOUR / speed)
            repaints += watched.written.count(_HOME)
            watched.written.clear()
            rss_bytes.append(process.rss_bytes())
    return {"speed": speed, "repaints": repaints, "rss_bytes": rss_bytes}
