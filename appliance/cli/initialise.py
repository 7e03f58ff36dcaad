"""``initialise VOLUME``: have a volume read in full, and show how far it is."""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING

from appliance import paths, text
from appliance.cli.command import Command, name_argument, volume_name
from appliance.cli.output import StatusLine, print_json, wait_for
from appliance.errors import EXIT_FAILED, EXIT_OK, OperatorError, UsageError

if TYPE_CHECKING:
    from appliance.model.plans import Volume
    from appliance.state.live_state import ReadProgress

_GRACE_SECONDS = 20.0


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("volume", type=volume_name, metavar="VOLUME", help="a declared volume")
    parser.add_argument(
        "--stop", action="store_true", help="stop; the next start resumes where it was"
    )


def initialise(*, volume: str, stop: bool, as_json: bool) -> int:
    """Start the reading (or stop it) and follow it to its end."""
    from appliance.system import services

    declared(volume)
    unit = services.INITIALISE_UNIT.format(volume=volume)
    if not services.systemd_is_running():
        if os.geteuid() != 0:
            raise OperatorError("only root can read the disks", "on the appliance a unit does it")
        return read_through(name=volume)
    if stop:
        services.stop_unit(unit)
        print(f"stopped; to go on: stripewright initialise {volume}")
        return EXIT_OK
    asked_at = time.time()
    services.start_unit(unit)
    found = _follow(volume, unit, asked_at)
    if as_json:
        print_json(found.document())
    else:
        print(progress_line(found))
    return EXIT_FAILED if found.error_count else EXIT_OK


def _follow(volume: str, unit: str, asked_at: float) -> ReadProgress:
    from appliance.state.live_state import read_progress
    from appliance.system import services

    line, file = StatusLine(), paths.initialise_file(volume)

    def poll() -> ReadProgress | None:
        found = read_progress(file)
        if found and found.at >= asked_at:
            if found.state != "running":
                return found
            line.show("running", progress_line(found))
        late = time.time() - asked_at > _GRACE_SECONDS
        if late and not services.unit_state(unit).busy and found == read_progress(file):
            raise OperatorError(f"{unit} is not running", f"look at: journalctl -b -u {unit}")
        return None

    found = wait_for(poll, unit, then="Follow it with: stripewright status")
    line.finish()
    return found


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


def declared(name: str) -> Volume:
    """The volume of the layout; :class:`UsageError` if there is none of that name."""
    from appliance.storage.policy.layout import load_layout

    layout = load_layout(paths.LAYOUT_FILE)
    for volume in layout.volumes:
        if volume.name == name:
            return volume
    names = ", ".join(layout.volume_names) or "none"
    raise UsageError(f"no volume '{name}' is declared", f"declared volumes: {names}")


def read_through(*, name: str) -> int:
    """What the unit runs: read every block of a volume."""
    from appliance.storage.execute import read_through as reading

    rate_bytes = declared(name).initialise_rate_bytes
    folder = Path(os.environ.get("STATE_DIRECTORY", paths.INITIALISE_DIR))
    return reading.run(name, rate_bytes=rate_bytes, folder=folder)


COMMANDS = (
    Command("initialise", initialise, "read every block of a volume restored from a snapshot",
        "initialise data", _arguments, more="Such a volume is slow until then."),
    Command("read-through", read_through, arguments=name_argument),
)  # fmt: skip
