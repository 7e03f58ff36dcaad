"""``assemble``: what the boot unit runs. It imports what a boot needs, and no more."""

from __future__ import annotations

from argparse import ArgumentParser

from appliance import paths
from appliance.cli.command import Command

# As long as an executor can be at work: a confirmed plan grows filesystems.
_PATIENCE_SECONDS = 3600.0


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--again", action="store_true", help="look again, once others have finished"
    )


def assemble(*, again: bool) -> int:
    from appliance.storage.execute import executor

    return executor.boot(paths.LAYOUT_FILE, patience_seconds=_PATIENCE_SECONDS if again else 0.0)


COMMANDS = (
    Command("assemble", assemble, "create or assemble the volumes and mount them",
        "assemble --again", _arguments, json=False,
        more="It is what the boot unit runs, as root, and writes to disks."),
)  # fmt: skip
