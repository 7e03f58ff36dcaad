"""Each disk of a stripe alone: what the stripe's own figure is set beside.

Only reads, and only where the test files lie (see :mod:`appliance.figures.stripe_delivery`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from appliance.bench import raw_device
from appliance.bench.block_devices import Devices
from appliance.bench.target import Files, Place, Raw
from appliance.errors import Refused
from appliance.figures import stripe_delivery
from appliance.figures.stripe_delivery import Stripe
from appliance.model.runs import Suite
from appliance.system.kernel import read_md, read_text

_SECTOR_BYTES = 512


def require_stripe(place: Place) -> tuple[Files, Stripe]:
    """The test files and the stripe under ``place``; :class:`Refused` where there is none, or
    where it cannot be told which parts of its members hold written data.
    """
    if len(place.devices.members) < 2 or not isinstance(place, Files):
        raise Refused(
            "there are no members to measure one by one: this is not a stripe with test files",
            "take --members away, or name a directory on a stripe with --target",
        )
    stripe = read_stripe(place.devices)
    if stripe is None:
        raise Refused(
            f"{place.devices.device} is not an md RAID0 of equal members, and of others it is "
            "not known where on a disk the test files lie",
            "take --members away",
        )
    return place, stripe


@contextlib.contextmanager
def opened(place: Place, suite: Suite) -> Iterator[dict[str, Raw]]:
    """A place to read from for each member of the stripe under ``place``, by kernel name.

    The test files must have been written. Raises what :func:`require_stripe` and
    :func:`appliance.bench.raw_device.open_to_read` raise.
    """
    files, stripe = require_stripe(place)
    extents = [
        (extent.physical, extent.length)
        for name in files.names
        for extent in files.private.extents(name) or ()
    ]
    align = max(job.block_size_bytes for job in suite.jobs)
    with contextlib.ExitStack() as stack:
        places = {}
        for member in stripe.members:
            parts = stripe_delivery.on_member(extents, stripe, member, align_bytes=align)
            if not parts:
                raise Refused(
                    f"no part of the test files on {member} is as large as a block of this suite",
                    "take a suite with larger files or smaller blocks",
                )
            device = stack.enter_context(raw_device.open_to_read(Path("/dev") / member))
            places[member] = Raw.of(device, parts)
        yield places


def read_stripe(devices: Devices, *, sys_block: Path = Path("/sys/class/block")) -> Stripe | None:
    """The md RAID0 that ``devices`` are, ``None`` for everything else."""
    md = sys_block / devices.device / "md"
    array = read_md(md)
    if not devices.device or array.level != "raid0":
        return None
    slots = {
        member: tuple(_number(md / f"dev-{member}" / name) for name in ("slot", "offset", "size"))
        for member in devices.members
    }
    # Members of different sizes make several zones, with fewer disks in each.
    sizes = {size for _, _, size in slots.values()}
    known = all(None not in values for values in slots.values())
    if not array.chunk_bytes or not known or len(sizes) != 1 or array.raid_disks != len(slots):
        return None
    ordered = sorted(slots, key=lambda member: slots[member][0] or 0)
    return Stripe(
        members=tuple(ordered),
        chunk_bytes=array.chunk_bytes,
        data_offsets=tuple((slots[member][1] or 0) * _SECTOR_BYTES for member in ordered),
    )


def _number(path: Path) -> int | None:
    text = read_text(path)
    return int(text) if text.isdecimal() else None
