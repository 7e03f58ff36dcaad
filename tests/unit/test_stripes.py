"""Where a stripe keeps its chunks. The lab compares it with what md and LVM do."""

from __future__ import annotations

from collections import Counter

import pytest

from appliance.storage.formats.md import Area, Stripe

K = 1024


def stripe(*chunks: int, layout: str = "") -> Stripe:
    return Stripe(tuple(Area(K * K, chunks * 4 * K + 100) for chunks in chunks), 4 * K, layout)


def places(made: Stripe, chunk: int) -> list[tuple[int, int]]:
    return [(slot, (at - K * K) // (4 * K)) for slot, at, _ in made.pieces(chunk * 4 * K, 4 * K)]


def test_raid0_goes_round_and_on_where_the_small_ones_end() -> None:
    made = stripe(2, 4, 3)
    assert made.size_bytes == 9 * 4 * K
    assert [places(made, chunk)[0] for chunk in range(9)] == [
        *[(0, 0), (1, 0), (2, 0)],
        *[(0, 1), (1, 1), (2, 1)],
        *[(1, 2), (2, 2)],
        (1, 3),
    ]
    assert list(made.pieces(9 * 4 * K, 4 * K)) == []


@pytest.mark.parametrize(
    ("layout", "members", "first"),
    [
        ("near=2", 3, [[(0, 0), (1, 0)], [(2, 0), (0, 1)], [(1, 1), (2, 1)]]),
        ("near=2", 4, [[(0, 0), (1, 0)], [(2, 0), (3, 0)], [(0, 1), (1, 1)]]),
        ("far=2", 3, [[(0, 0), (1, 4)], [(1, 0), (2, 4)], [(2, 0), (0, 4)], [(0, 1), (1, 5)]]),
        ("offset=2", 3, [[(0, 0), (1, 1)], [(1, 0), (2, 1)], [(2, 0), (0, 1)], [(0, 2), (1, 3)]]),
    ],
)
def test_raid10_has_two_of_each(
    layout: str, members: int, first: list[list[tuple[int, int]]]
) -> None:
    made = stripe(*[8] * members, layout=layout)
    assert made.size_bytes == 8 * members // 2 * 4 * K
    assert [places(made, chunk) for chunk in range(len(first))] == first
    used = Counter(place for chunk in range(8 * members // 2) for place in places(made, chunk))
    assert used == {(slot, row): 1 for slot in range(members) for row in range(8)}


def test_a_range_across_chunks() -> None:
    made = stripe(4, 4)
    assert list(made.pieces(3 * K, 6 * K)) == [
        (0, K * K + 3 * K, K),
        (1, K * K, 4 * K),
        (0, K * K + 4 * K, K),
    ]


def test_other_layouts_are_not_ours() -> None:
    with pytest.raises(ValueError, match="near=3"):
        list(stripe(4, 4, 4, layout="near=3").pieces(0, 1))
