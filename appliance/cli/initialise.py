"""``initialise VOLUME``: have a volume read through, and show how far it is."""

from __future__ import annotations

import json
import os
import sys
import time

from appliance import paths, text
from appliance.errors import EXIT_FAILED, EXIT_OK, OperatorError, UsageError
from appliance.state.live_state import ReadProgress, read_progress
from appliance.system import services

_POLL_SECONDS = 1.0
_GRACE_SECONDS = 20.0
_INTERRUPTED = 130


def initialise(volume: str, *, stop: bool, as_json: bool) -> int:
    """Start the reading (or stop it) and follow it to its end."""
    from appliance.storage.policy.layout import load_layout

    names = load_layout(paths.LAYOUT_FILE).volume_names
    if volume not in names:
        raise UsageError(
            f"no volume '{volume}' is declared", f"there is: {', '.join(names) or 'none'}"
        )
    unit = services.INITIALISE_UNIT.format(volume=volume)
    if not services.systemd_is_running():
        if os.geteuid() != 0:
            raise OperatorError("only root can read the disks", "on the appliance a unit does it")
        from appliance.cli import unit_entrypoints

        return unit_entrypoints.read_through(volume)
    if stop:
        services.stop_unit(unit)
        print(f"stopped; to go on: stripewright initialise {volume}")
        return EXIT_OK
    asked_at = time.time()
    services.start_unit(unit)
    try:
        found = _follow(volume, unit, asked_at)
    except KeyboardInterrupt:
        print(f"\nnot waiting any longer; {unit} goes on", file=sys.stderr)
        raise SystemExit(_INTERRUPTED) from None
    print(json.dumps(found.document(), indent=2) if as_json else progress_line(found))
    return EXIT_FAILED if found.error_count else EXIT_OK


def _follow(volume: str, unit: str, asked_at: float) -> ReadProgress:
    terminal = sys.stderr.isatty()
    while True:
        found = read_progress(paths.initialise_file(volume))
        fresh = found is not None and found.at >= asked_at
        if found and fresh and found.state != "running":
            return found
        if found and fresh and terminal:
            line = progress_line(found)
            print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)
        late = time.time() - asked_at > _GRACE_SECONDS
        if (
            late
            and not services.unit_state(unit).busy
            and found == read_progress(paths.initialise_file(volume))
        ):
            raise OperatorError(f"{unit} is not running", f"look at: journalctl -b -u {unit}")
        time.sleep(_POLL_SECONDS)


def progress_line(found: ReadProgress) -> str:
    """How far the reading of a volume is, in one line."""
    done, total = found.done_bytes, found.total_bytes
    share = f" ({found.percent} %)" if total else ""
    line = f"read {text.size(done)} of {text.size(total)}{share}"
    if found.state == "running" and found.rate_bytes > 0:
        left = text.duration((total - done) / found.rate_bytes)
        line += f", {text.bandwidth(found.rate_bytes)}, {left} left"
    else:
        line += f", {found.state}"
    if found.error_count:
        first = found.errors[0] if found.errors else {}
        where = f"{first.get('path', '')} at {first.get('offset_bytes', '')}"
        line += f"; {found.error_count} read errors, the first on {text.printable(where)}"
    return line
