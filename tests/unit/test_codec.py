"""The one decoder: what it takes, what it refuses, and that it names the field."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.state.codec import Bounds, DecodeError, bounded, decode, decoder, parse


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Whole:
    at: float
    parts: tuple[Part, ...] = bounded(default=(), max_items=2, max_chars=4)
    pair: tuple[str, int] = ("", 0)
    told: Mapping[str, float] = bounded(default=dict, max_items=2, keys=r"[a-z]+", least=0)
    colour: Colour = Colour.RED
    kind: str = bounded(default="xfs", choices=("xfs", "ext4"))
    name: str = bounded(default="", pattern=r"[a-z]*", max_chars=3)
    share: int = bounded(default=0, least=0, most=100)
    grave: bool = False
    more: Any = None


FULL = Whole(
    at=1.5,
    parts=(Part("a", 1), Part("b")),
    pair=("x", 3),
    told={"one": 2.0},
    colour=Colour.BLUE,
    kind="ext4",
    name="abc",
    share=100,
    grave=True,
    more={"any": [1]},
)


def test_there_and_back() -> None:
    assert parse(Whole, json.dumps(asdict(FULL))) == FULL
    assert decode(Whole, {"at": 3, "unknown": 1}) == Whole(at=3.0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"at": None}, "at: None is not a number"),
        ({"at": True}, "at: True is not a number"),
        ({"at": float("nan")}, "at: nan is not between"),
        ({"at": float("inf")}, "at: inf is not between"),
        ({"at": 10**400}, "at: 1000"),
        ({"parts": {}}, "parts: not a list"),
        ({"parts": [{"name": "a"}] * 3}, "parts: 3 items, at most 2 are allowed"),
        ({"parts": [{}]}, "parts[0].name: missing"),
        ({"parts": [7]}, "parts[0]: not an object"),
        ({"parts": [{"name": "abcde"}]}, "parts[0].name: 5 characters, at most 4 are allowed"),
        ({"parts": [{"name": "a", "size_bytes": 1.0}]}, "parts[0].size_bytes: 1.0 is not a whole"),
        ({"parts": [{"name": "a", "size_bytes": 2**128}]}, "size_bytes: 3402823669209384634633"),
        ({"pair": ["x"]}, "pair: 1 items, not 2"),
        ({"pair": ["x", "y"]}, "pair[1]: 'y' is not a whole number"),
        ({"told": []}, "told: not an object"),
        ({"told": {"a": 1, "b": 2, "c": 3}}, "told: 3 keys, at most 2 are allowed"),
        ({"told": {"A": 1}}, "told: key 'A' is not allowed"),
        ({"told": {"a": -1}}, "told.a: -1 is not between 0 and"),
        ({"colour": "green"}, "colour: 'green' is not one of: red, blue"),
        ({"colour": ["red"]}, "colour: ['red'] is not one of: red, blue"),
        ({"kind": "btrfs"}, "kind: 'btrfs' is not one of: xfs, ext4"),
        ({"name": "a\n"}, "name: 'a\\n' is not allowed"),
        ({"name": "abcd"}, "name: 4 characters, at most 3 are allowed"),
        ({"share": 101}, "share: 101 is not between 0 and 100"),
        ({"share": True}, "share: True is not a whole number"),
        ({"grave": 1}, "grave: 1 is not true or false"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, object], said: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(Whole, {"at": 1.0, **change})
    assert str(caught.value).startswith(said) or said in str(caught.value)


def test_a_huge_value_is_cut_in_the_message() -> None:
    with pytest.raises(DecodeError) as caught:
        decode(Whole, {"at": "x" * 100_000})
    assert len(str(caught.value)) < 120


@pytest.mark.parametrize("raw", ["", "{", "[" * 100_000, b"\xff", "[]", "3", "{}", "null"])
def test_text_that_is_no_such_document(raw: str | bytes) -> None:
    with pytest.raises(DecodeError):
        parse(Whole, raw)


def test_bounds_of_the_caller_hold_where_a_field_has_none() -> None:
    with pytest.raises(DecodeError, match="name: 2 characters, at most 1 are allowed"):
        decode(Part, {"name": "ab"}, bounds=Bounds(max_chars=1))
    with pytest.raises(DecodeError, match=r"it\.name: missing"):
        decode(Part, {}, "it")


def test_one_of_several_types() -> None:
    read = decoder(Mapping[str, str | int])
    assert read({"a": "x", "b": 1}) == {"a": "x", "b": 1}
    with pytest.raises(DecodeError, match=r"b: 1\.5 is not text or a whole number"):
        read({"b": 1.5})


def test_what_is_no_number_is_kept_only_where_every_number_is() -> None:
    anything = Bounds(least=-math.inf, most=math.inf)
    assert math.isnan(decode(Whole, {"at": math.nan}, bounds=anything).at)
    # As it was written, too large for a float or whole.
    for number in (10**400, 875000000):
        assert type(decode(Whole, {"at": number}, bounds=anything).at) is int
    for bounds in (Bounds(), Bounds(least=-math.inf), Bounds(most=1e300)):
        with pytest.raises(DecodeError, match="nan is not between"):
            decode(Whole, {"at": math.nan}, bounds=bounds)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*asdict(FULL), "name", "x"]), inner, max_size=6)
    ),
    max_leaves=12,
)


@given(_json)
def test_any_json_is_a_value_or_a_named_error(document: object) -> None:
    try:
        found = decode(Whole, document)
    except DecodeError as error:
        assert error.problem
    else:
        assert isinstance(found, Whole)
