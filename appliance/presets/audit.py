"""Whether a preset can be true: beside what is published of the machine type, and was measured.

The rule of IMPOSSIBLE (docs/measurement-method.md) with its tolerance. What cannot be compared is
not judged, and the reason is given. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from appliance.bench.validity.impossible import MAX_OF_PUBLISHED
from appliance.clouds import capability
from appliance.clouds.provider import disk_count, is_type
from appliance.data import instance_types
from appliance.model.disks import DiskKind
from appliance.model.measurement import Capability
from appliance.presets.io_properties import FAMILY
from appliance.presets.preset import Figure, Preset, Quantity, Scope

# Of all disks together is at least so much of what is published for them: aggregates of eight
# disks were measured at 0.6 of it.
_LEAST_OF_AGGREGATE = 0.5


class Verdict(StrEnum):
    PLAUSIBLE = "plausible"
    IMPOSSIBLE = "impossible"
    HIGH = "high"
    LOW = "low"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Own:
    """What was measured here of so many disks of this type: what is normal over ``runs`` valid
    runs, or while that is not known (``is_normal``) their median. ``run_id`` is the last of them,
    ``ended_at`` its end in seconds since the epoch, ``codes`` its findings. ``depth`` is how many
    I/Os were asked for. ``member`` is the one disk that was measured alone, or empty.
    """

    quantity: Quantity
    value: float
    machine_type: str
    disk_count: int
    target: str
    member: str
    depth: int
    runs: int
    is_normal: bool
    run_id: int
    suite: str
    job: str
    ended_at: float | None
    codes: tuple[str, ...]
    # Where its published limit is from: a network volume's is not that of local disks.
    published_source: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """``value`` is what would be set: times the number of disks where the program that reads the
    file does that. ``times`` is ``value`` over what it is judged by; ``multiplied``: about as much
    as if the figure of all disks were that of one.
    """

    preset: Preset
    figure: Figure
    machine_type: str
    disk_count: int | None
    value: int
    verdict: Verdict
    why: str = ""
    published: float | None = None
    published_basis: str = ""
    published_source: str = ""
    is_limit: bool = False
    own: Own | None = None
    times: float | None = None
    multiplied: bool = False


def chosen(presets: Sequence[Preset], machine_type: str) -> tuple[Preset, ...]:
    """Those that a machine of this type would take: of a table its row, or its family's; empty if
    it has neither. What names no type is taken for this one.
    """
    wanted = machine_type.casefold()
    family = f"{wanted.partition('.')[0]}{FAMILY}".casefold()
    typed = [one for one in presets if one.machine_type]
    for name in (wanted, family):
        if found := [one for one in typed if one.machine_type.casefold() == name]:
            break
    untyped = [one for one in presets if not one.machine_type]
    return (*untyped, *found)


def judge(
    presets: Sequence[Preset], machine_type: str = "", measured: Sequence[Own] = ()
) -> Iterator[Judgement]:
    """Each figure of ``presets``; of a family's row, on each of its types that has no row of its
    own. ``machine_type`` is for those that name none, and narrows a table (:func:`chosen`).
    """
    named = {one.machine_type for one in presets}
    for preset in chosen(presets, machine_type) if machine_type else presets:
        for name in [machine_type] if machine_type else _types(preset, named):
            for figure in preset.figures:
                yield _judge(preset, figure, name, measured)


def _types(preset: Preset, named: Iterable[str]) -> list[str]:
    if not preset.machine_type.endswith(FAMILY):
        return [preset.machine_type]
    family = preset.machine_type.removesuffix(FAMILY)
    found = [one for one in instance_types() if one.startswith(f"{family}.") and one not in named]
    return found or [preset.machine_type]


def _judge(preset: Preset, figure: Figure, machine_type: str, measured: Sequence[Own]) -> Judgement:
    of_type = preset.disk_count or disk_count(machine_type)
    each = preset.scope is Scope.EACH
    value = figure.value * (of_type or 1) if each and figure.quantity else figure.value

    def judged(verdict: Verdict, why: str = "") -> Judgement:
        return Judgement(preset, figure, machine_type, of_type, value, verdict, why)

    quantity = figure.quantity
    if quantity is None:
        return judged(Verdict.UNKNOWN, figure.why)
    if not machine_type:
        return judged(Verdict.UNKNOWN, "it is not said for which machine type: --machine TYPE")
    if not is_type(machine_type):
        return judged(Verdict.UNKNOWN, "nothing is known of the machine type")
    count = 1 if preset.scope is Scope.DISK else of_type
    if count is None:
        return judged(Verdict.UNKNOWN, "how many disks a machine of the type has is not known")
    found = capability.published(
        machine_type,
        kind=DiskKind.INSTANCE_STORE,
        member_count=count,
        direction=quantity.direction,
        block_size_bytes=capability.PUBLISHED_BLOCK_BYTES if quantity.is_iops else None,
    )
    own = best(
        one
        for one in measured
        if one.quantity is quantity
        and one.machine_type.casefold() == machine_type.casefold()
        and one.disk_count == count
        and (not found or not found.source or one.published_source == found.source)
    )
    return _beside(judged(Verdict.UNKNOWN), quantity, found, own)


def best(measured: Iterable[Own]) -> Own | None:
    """The one with the most I/Os in flight, of those the latest: nearest to what disks can do."""
    return max(measured, key=lambda one: (one.depth, one.run_id), default=None)


def _beside(
    so_far: Judgement, quantity: Quantity, found: Capability | None, own: Own | None
) -> Judgement:
    published = None
    if found is not None:
        published = found.iops if quantity.is_iops else found.bytes_per_s
    if published and found is not None:
        so_far = replace(
            so_far,
            published=published,
            published_basis=found.basis,
            published_source=found.source,
            is_limit=found.is_limit,
        )
    so_far = replace(so_far, own=own)
    value, disks = so_far.value, so_far.disk_count or 1
    if published and value > published * MAX_OF_PUBLISHED and so_far.is_limit:
        times = value / published
        return replace(
            so_far,
            verdict=Verdict.IMPOSSIBLE,
            times=times,
            multiplied=disks > 1 and _LEAST_OF_AGGREGATE <= times / disks <= MAX_OF_PUBLISHED,
        )
    if own:
        times = value / own.value
        if times <= MAX_OF_PUBLISHED:
            low = times * MAX_OF_PUBLISHED < 1
            return replace(so_far, verdict=Verdict.LOW if low else Verdict.PLAUSIBLE, times=times)
        # More than was measured is no proof, unless it is just what that mistake makes.
        multiplied = disks > 1 and 1 / MAX_OF_PUBLISHED <= times / disks <= MAX_OF_PUBLISHED
        verdict = Verdict.IMPOSSIBLE if multiplied and not published else Verdict.HIGH
        return replace(so_far, verdict=verdict, times=times, multiplied=multiplied)
    if not published:
        return replace(so_far, why="it is not published, and was not measured")
    times = value / published
    if times > MAX_OF_PUBLISHED:
        why = "it is above what is published as typical, and no limit is published"
        return replace(so_far, times=times, why=why)
    low = times * MAX_OF_PUBLISHED < 1
    return replace(so_far, verdict=Verdict.LOW if low else Verdict.PLAUSIBLE, times=times)
