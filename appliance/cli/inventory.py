"""``inventory``: every disk, and why it is used or not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from appliance import paths, text
from appliance.cli.command import Command
from appliance.cli.output import print_json
from appliance.errors import EXIT_OK

if TYPE_CHECKING:
    from appliance.model.disks import Disk


def inventory(*, as_json: bool) -> int:
    from dataclasses import asdict

    from appliance.storage.policy.layout import load_layout
    from appliance.storage.probe.devices import probe

    found = probe(layout=load_layout(paths.LAYOUT_FILE))
    if as_json:
        print_json(asdict(found))
        return EXIT_OK
    print(disk_table(found.disks) if found.disks else "no disks found")
    if found.disks and not found.privileged:
        print("\nseen without root: signatures come from udev, contents were not read")
    if doubt := found.machine.type_doubt:
        print(f"\n{doubt}")
    return EXIT_OK


def disk_table(disks: Iterable[Disk]) -> str:
    rows = [
        (
            disk.path,
            disk.model,
            disk.serial,
            text.size(disk.size_bytes),
            disk.kind,
            "yes" if disk.claimable else "no",
            disk.reason,
        )
        for disk in disks
    ]
    return text.table([("DISK", "MODEL", "SERIAL", "SIZE", "KIND", "USE", "WHY"), *rows])


COMMANDS = (
    Command("inventory", inventory, "list every disk, and why it is used or not",
        "inventory --json"),
)  # fmt: skip
