"""``python3 -m tests.bench.screens --harlequin PROGRAM [--quick] [--json FILE]``."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.bench import history
from tests.bench.screens import candidates
from tests.bench.screens.loopback import Server
from tests.bench.screens.machine import MadeUp
from tests.bench.screens.measuring import hour, minutes, starts
from tests.bench.screens.places import Places
from tests.rig.errors import RigError

ROUNDS, SECONDS, SPEED = 7, 60.0, 20.0
# On the others nothing but the clock does.
_MOVE_IN_A_RUN = {"Overview", "Suites"}
_QUICK_ROUNDS, _QUICK_SECONDS = 2, 10.0


def measure(
    harlequin: Path, *, db: Path | None = None, rounds: int = ROUNDS, seconds: float = SECONDS
) -> dict[str, Any]:
    """All figures; ``db`` is a history of ten years, made anew if there is none."""
    with tempfile.TemporaryDirectory(prefix="stripewright-screens-") as name:
        places = Places(Path(name))
        machine = MadeUp(places)
        machine.make()
        if db is None:
            history.fill(places.history)
        else:
            shutil.copyfile(db, places.history)
        ours = candidates.ours(places)
        peers = [candidates.btop(places), candidates.harlequin(places, harlequin)]
        keys = places.folder / "ssh"
        keys.mkdir(mode=0o700)
        with Server(keys) as server:
            found: dict[str, Any] = {}
            idle = {"stripewright": minutes(ours, server, seconds)}
            for peer in peers:
                idle[peer.name] = minutes(peer, server, seconds)
            with machine.at_work():
                found["starts"] = starts([ours, *peers], server, rounds)
                moving = tuple(one for one in ours.screens if one[0] in _MOVE_IN_A_RUN)
                found["in a run"] = minutes(replace(ours, screens=moving), server, seconds)
            with machine.at_work(speed=SPEED, moves_per_s=SPEED):
                found["hour"] = hour(candidates.ours(places, speed=SPEED), SPEED)
        return {**found, "idle": idle, "seconds": seconds, "rounds": rounds}


def table(found: dict[str, Any]) -> str:
    """The figures as tables of Markdown."""
    lines = [
        f"| start, median of {found['rounds']} | first paint | first live figure | written |",
        "|---|---|---|---|",
    ]
    for name, one in found["starts"].items():
        number = one.get("number_seconds")
        lines.append(
            f"| {name} | {one['paint_seconds']['median']:.2f} s"
            f" | {'-' if number is None else format(number['median'], '.2f') + ' s'}"
            f" | {one['start_bytes']['median'] / 1000:.1f} KB |"
        )
    lines += [
        "",
        f"| {found['seconds']:.0f} s behind SSH | of a core | terminal | wire | RSS |",
        "|---|---|---|---|---|",
    ]
    kinds = {**found["idle"], "stripewright in a run": found["in a run"]}
    for kind, screens in kinds.items():
        for screen, one in screens.items():
            lines.append(
                f"| {f'{kind} {screen}'.strip()} | {one['core_share'] * 100:.2f} %"
                f" | {one['terminal_bytes_per_s']:.0f} B/s | {one['wire_bytes_per_s']:.0f} B/s"
                f" | {one['rss_bytes'] / 2**20:.1f} MiB |"
            )
    kept = ", ".join(f"{each / 2**20:.1f}" for each in found["hour"]["rss_bytes"])
    lines += ["", f"RSS in MiB over {found['hour']['repaints']} repaints, each sixth: {kept}"]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--harlequin", type=Path, required=True)
    parser.add_argument("--history", type=Path, help="a history of ten years, made before")
    parser.add_argument("--quick", action="store_true", help="few rounds, short minutes")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    try:
        found = measure(
            arguments.harlequin,
            db=arguments.history,
            rounds=_QUICK_ROUNDS if arguments.quick else ROUNDS,
            seconds=_QUICK_SECONDS if arguments.quick else SECONDS,
        )
    except RigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(table(found))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
