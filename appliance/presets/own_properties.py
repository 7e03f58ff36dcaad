"""io_properties.yaml of what was measured here. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from appliance import text
from appliance.errors import Refused
from appliance.model import advice
from appliance.paths import BENCH_DIR_NAME
from appliance.presets.audit import Own, best
from appliance.presets.preset import Quantity

# Plain in YAML, whatever reads it.
_PLAIN = re.compile(r"/[A-Za-z0-9_./-]*", re.ASCII)


def pieces(measured: Sequence[Own]) -> Iterator[str]:
    """The text of the file; :class:`Refused` where one of a volume's figures is not known."""
    volumes = sorted({one.target for one in measured if not one.member and _mountpoint(one.target)})
    if not volumes:
        raise Refused(
            "no volume has a valid result in its current epoch: nothing is written",
            f"measure first: {advice.run_suite()}",
        )
    found = {target: _figures(measured, target) for target in volumes}
    yield "# io_properties of Seastar, as measured by stripewright.\n"
    yield "disks:\n"
    for target, figures in found.items():
        yield f"  - mountpoint: {_mountpoint(target)}\n"
        for quantity, own in figures.items():
            yield f"    # {_where_from(own)}\n    {quantity}: {int(own.value)}\n"


def _mountpoint(target: str) -> str:
    """Of the directory on a filesystem where a run measured; empty for a device."""
    before, name, after = target.rpartition(f"/{BENCH_DIR_NAME}")
    return (before or "/") if name and not after else ""


def _figures(measured: Sequence[Own], target: str) -> dict[Quantity, Own]:
    mountpoint = _mountpoint(target)
    if not _PLAIN.fullmatch(mountpoint):
        raise Refused(
            f"{text.bounded(mountpoint, 80)!r} is no plain path: nothing is written",
            "a mountpoint of letters, digits and _ . - can be exported",
        )
    found = {}
    for quantity in Quantity:
        own = best(
            one
            for one in measured
            if one.target == target and not one.member and one.quantity is quantity
        )
        if own is None:
            raise Refused(
                f"{mountpoint} has no valid result for {quantity} in its current epoch: nothing is"
                " written",
                f"measure it: {advice.run_suite()}; 'stripewright results' says what was not valid",
            )
        found[quantity] = own
    return found


def _where_from(own: Own) -> str:
    of = f"of {own.runs} run{'s' if own.runs > 1 else ''}"
    level = f"normal {of}" if own.is_normal else f"median {of}, too few for what is normal"
    codes = " ".join(("valid", *own.codes))
    said = f"run {own.run_id}, {text.moment(own.ended_at)}, {own.suite} {own.job}, {codes}: {level}"
    return text.printable(said)
