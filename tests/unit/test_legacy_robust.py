"""Whatever the bytes are: no exception, no invented figures, no time that grows as a square."""

from __future__ import annotations

import json
import math
import os
import random
import time
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.history.json_documents import report_to_json
from tests.unit.legacies import DIARIES, FIO, imported

CORPUS = [path.read_bytes() for path in sorted([*DIARIES.iterdir(), *FIO.iterdir()])]
EXAMPLES = 300 if os.environ.get("HYPOTHESIS_PROFILE", "default") == "default" else 20_000
ODD = [
    b"1e400",
    b"inf",
    b"nan",
    b"-5",
    b"9" * 5000,
    "٣٤".encode(),
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"{" * 50,
    b"[" * 2000,
    b'{"fio version"',
    b'"',
    b"\n",
    b"\r",
    b"\x1b[31m",
    b"(groupid=0, jobs=1): err= 0",
    b"x: (g=0): rw=",
    b" ios=",
    b"th=[",
    b"  read: IOPS=",
    b"  WRITE: bw=",
    b"$ fio --name='",
    b"[global]\n",
    b"999999999999999999999999",
    b"0",
]


def check(data: bytes) -> None:
    for one in imported(data):
        document = json.dumps(report_to_json(one), allow_nan=False)
        assert json.loads(document)["line"] >= 1
        # All of it can be written to a file or database.
        repr(one).encode("utf-8")
        # fio prints what an engine returned, which may be below zero.
        measured = {**asdict(one), "errors": 0}
        numbers = [v for v in measured.values() if isinstance(v, int | float)]
        assert all(math.isfinite(value) and value >= 0 for value in numbers)


@settings(max_examples=EXAMPLES)
@given(st.binary(max_size=2000))
def test_random_bytes(data: bytes) -> None:
    check(data)


@settings(max_examples=EXAMPLES)
@given(st.randoms(use_true_random=False), st.integers(1, 12))
def test_mutated_reports(rnd: random.Random, changes: int) -> None:
    data = bytearray(rnd.choice(CORPUS))
    start = rnd.randrange(max(1, len(data) - 2500))
    data = data[start : start + 2500]
    for _ in range(changes):
        at, kind = rnd.randrange(len(data) + 1), rnd.randrange(6)
        if kind == 0:
            data[at:at] = rnd.choice(ODD)
        elif kind == 1:
            del data[at : at + rnd.randint(1, 300)]
        elif kind == 2:
            other = rnd.choice(CORPUS)
            begin = rnd.randrange(len(other))
            data[at:at] = other[begin : begin + 2000]
        elif kind == 3 and data:
            data[at % len(data)] = rnd.randrange(256)
        else:
            lines = bytes(data).split(b"\n")
            if kind == 4:
                rnd.shuffle(lines)
            else:
                spot = rnd.randrange(len(lines))
                digits = b"".join(bytes([c]) for c in lines[spot] if 48 <= c <= 57)
                lines[spot] = lines[spot].replace(digits[:2] or b"=", rnd.choice(ODD))
            data = bytearray(b"\n".join(lines))
    check(bytes(data))


@settings(max_examples=EXAMPLES)
@given(st.text(alphabet='{}[]":,\\ \n1ea', max_size=300))
def test_nearly_json(text: str) -> None:
    check(
        b'{"fio version" : "fio-3.1", "jobs" : [{"jobname":"x","read":{"iops":1}}' + text.encode()
    )


HOSTILE = {
    "braces": b"{\n",
    "documents": b'{"fio version":',
    "strings": b'{"fio version" : "',
    "nested": b'{"fio version":1,"jobs":[',
    "escapes": b"\x1b]",
    "sections": b"x: (groupid=0, jobs=1): err= 0: pid=1: \n",
    "one long line": b"x: (groupid=0, jobs=1): err= 0 ",
    "figures": b"read : io=1 bw=1 ",
    "continued": b"fio --name=x --rw=read \\\n",
    "broken": b"  nvme0n1: ios=0/122499, merge=0/82, ticks=0/3601572, in_queue=3544152, \n",
    "quotation": b'fio --x="',
    "mounts": b"/dev/nvme0n1 1T 1T 1T 1% /mnt\n",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_time_grows_with_length_and_not_with_its_square(piece: bytes) -> None:
    def seconds(size: int) -> float:
        data = piece * (size // len(piece))
        begin = time.process_time()
        imported(data)
        return time.process_time() - begin

    small = min(seconds(20_000) for _ in range(3))
    # Sixteen times as much: a square would take 256 times as long.
    assert seconds(320_000) < 64 * small + 0.5


def test_escaped_quotation_marks_without_an_end() -> None:
    begin = time.process_time()
    imported(b'{"fio version":1,"a":"' + b'\\"' * 200_000)
    assert time.process_time() - begin < 5
