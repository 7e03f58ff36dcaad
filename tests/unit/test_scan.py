"""Where a device is read to find it blank, and what that shows."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.model.disks import Scan
from appliance.storage.formats import scan
from appliance.storage.formats.scan import GIB, KIB, MIB

TB = 10**12


def chance(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - chance, not secrecy


def covered(size: int, at: int) -> bool:
    return any(start <= at < start + length for start, length in scan.places(size))


@given(st.integers(0, 2**45))
def test_places_are_in_order_apart_and_inside(size: int) -> None:
    found = scan.places(size)
    assert all(0 < length <= scan.READ_BYTES and at + length <= size for at, length in found)
    ends = [at + length for at, length in found]
    assert all(end <= start for end, (start, _) in zip(ends, found[1:], strict=False))


@pytest.mark.parametrize(
    ("what", "size", "at"),
    [
        ("first byte", 2 * TB, 0),
        ("LUKS2's second header", 2 * TB, 4 * MIB),
        ("last byte", 2 * TB, 2 * TB - 1),
        ("Promise RAID", 2 * TB, 2 * TB - 3087 * 512),
        ("md 0.90", 2 * TB, (2 * TB & ~(64 * KIB - 1)) - 64 * KIB),
        ("ZFS label 2", 2 * TB, (2 * TB // (256 * KIB) - 2) * 256 * KIB),
        ("btrfs, second", 2 * TB, 64 * MIB + 0x40),
        ("btrfs, third", 2 * TB, 256 * GIB + 0x40),
        ("Ceph at 1 GiB", 2 * TB, GIB),
        ("Ceph at 1000 GiB", 2 * TB, 1000 * GIB),
        ("ASM with units of 1 MiB", 2 * TB, 2 * MIB - 8192),
        ("ASM with units of 64 MiB", 2 * TB, 128 * MIB - 8192),
        ("ext4 of 1 KiB, group 1", 2 * TB, 8193 * KIB),
        ("ext4 of 4 KiB, group 1", 2 * TB, 32768 * 4 * KIB),
        ("ext4 of 4 KiB, group 7", 2 * TB, 7 * 32768 * 4 * KIB),
        ("ext4 of 4 KiB, group 6561", 2 * TB, 6561 * 32768 * 4 * KIB),
        ("XFS of 4 groups, the second", 2 * TB, -(-2 * TB // 4096 // 4) * 4096),
        ("XFS of 32 groups, the last", 2 * TB, -(-2 * TB // 4096 // 32) * 4096 * 31),
        ("XFS beyond 4 TiB", 8 * TB, 5 << 40),
        ("a partition at 512 MiB", 2 * TB, 512 * MIB),
        ("the middle", 2 * TB, TB),
    ],
)
def test_second_copies_are_read(what: str, size: int, at: int) -> None:
    assert covered(size, at), what


@given(st.integers(1, 2**43), st.integers(0, 2**32))
def test_a_round_has_one_sample_in_each_stratum(size: int, seed: int) -> None:
    found = list(scan.stratified(size, chance(seed)))
    slots = -(-size // scan.SAMPLE_BYTES)
    assert len(found) == min(scan.STRATA, slots)
    assert all(at + length <= size and length > 0 for at, length in found)
    assert {at // scan.SAMPLE_BYTES * len(found) // slots for at, _ in found} == set(
        range(len(found))
    ) or slots % len(found)
    assert len({at for at, _ in found}) == len(found)


def test_each_sample_of_a_stratum_is_drawn() -> None:
    """Not only its ends: what lies anywhere in it can be met."""
    size = 8 * scan.STRATA * scan.SAMPLE_BYTES
    drawn = {at for seed in range(200) for at, _ in scan.stratified(size, chance(seed))}
    first = {at for at in drawn if at < 8 * scan.SAMPLE_BYTES}
    assert first == {number * scan.SAMPLE_BYTES for number in range(8)}


@given(st.integers(0, 2**43), st.text(max_size=8))
def test_pinned_samples_follow_from_the_seed(size: int, seed: str) -> None:
    found = scan.pinned(size, seed)
    assert found == scan.pinned(size, seed)
    assert all(at + length <= size for at, length in found)
    if size <= scan.STRATA * scan.SAMPLE_BYTES:
        assert sum(length for _, length in found) == size
    elif size >= 2 * scan.STRATA * scan.SAMPLE_BYTES:  # a choice of two in each stratum
        assert found != scan.pinned(size, seed + "x")


def test_the_words_say_what_could_have_been_missed() -> None:
    size = 2700 * 10**9
    found = scan.sampled(size, 57 * 10**9, 131072)
    assert found.unseen_bytes == pytest.approx(190e6, rel=0.01)
    assert found.words(size).startswith("2.1 % read, 131,072 samples: anything larger than 18")
    assert Scan(size, 0, 0).words(size) == "all of it read"
    assert Scan(size // 4, 0, size * 3 // 4).words(size) == "only the first 25.0 % read"


@pytest.mark.parametrize("pieces", [1, 7, 4096])
def test_the_figure_is_what_chance_gives(pieces: int) -> None:
    """Data of as many bytes as the words name, in one piece or in many, is met by a round as often
    as they say; with a probability of 1/2 in place of 1/10,000, which few trials can show.
    """
    size = 64 * GIB
    slots = size // scan.SAMPLE_BYTES
    share = math.log(2) / scan.STRATA
    random = chance(5)
    missed = 0
    trials = 200
    for _ in range(trials):
        filled: set[int] = set()
        each = max(1, round(slots * share / pieces))
        for _ in range(min(pieces, round(slots * share))):
            start = random.randrange(slots - each)
            filled |= set(range(start, start + each))
        drawn = {at // scan.SAMPLE_BYTES for at, _ in scan.stratified(size, random)}
        missed += not drawn & filled
    assert missed / trials < 0.62
