"""When a running fio is asked for its figures, and what is made of the answers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.bench.fio import FioReport
from appliance.bench.fio_process import LEAST_SECONDS, QUIET_SECONDS, Interim

REPORT = (Path(__file__).parent / "data/fio-3.33-rand-read-4k.txt").read_text()


class Fio:
    """A fio that answers when it is told to, and a clock."""

    def __init__(self, runtime_seconds: float, output: int) -> None:
        self.now = 1000.0
        self.asked_at: list[float] = []
        self.told: list[FioReport] = []
        self.ready = True
        self.output = output
        self.interim = Interim(runtime_seconds, self.told.append, clock=lambda: self.now)

    def ask(self) -> bool:
        if self.ready:
            self.asked_at.append(self.now - 1000.0)
        return self.ready

    def tick(self) -> None:
        self.interim.tick(self.output, self.ask)

    def to(self, seconds: float, *, answers: bool = True) -> None:
        """Tick five times a second until ``seconds`` after the start."""
        while self.now < 1000.0 + seconds:
            before = len(self.asked_at)
            self.tick()
            if answers and len(self.asked_at) > before:
                os.write(self.output, REPORT.encode())
            self.now += 0.2


@pytest.fixture
def output() -> Iterator[int]:
    with tempfile.TemporaryFile() as file:
        yield file.fileno()


def test_a_job_is_asked_every_three_seconds_and_left_alone_at_its_end(output: int) -> None:
    fio = Fio(30.0, output)
    fio.to(30.0)
    gaps = [b - a for a, b in zip([0.0, *fio.asked_at], fio.asked_at, strict=False)]
    assert all(LEAST_SECONDS <= gap < LEAST_SECONDS + 0.4 for gap in gaps)
    assert len(fio.asked_at) == len(fio.told) == 8
    assert fio.asked_at[-1] <= 30.0 - QUIET_SECONDS
    assert fio.told[0].directions["read"].percentiles_ns["99.000000"] > 0


@pytest.mark.parametrize("seconds", [1.0, 2.0, LEAST_SECONDS + QUIET_SECONDS - 0.1])
def test_a_short_job_is_never_asked(output: int, seconds: float) -> None:
    fio = Fio(seconds, output)
    fio.to(seconds * 3)
    assert fio.asked_at == []


def test_a_job_of_hours_is_asked_rarely(output: int) -> None:
    fio = Fio(7200.0, output)
    fio.to(7200.0)
    assert 50 <= len(fio.asked_at) <= 60


def test_who_does_not_answer_is_not_asked_again(output: int) -> None:
    fio = Fio(60.0, output)
    fio.to(20.0, answers=False)
    assert len(fio.asked_at) == 1
    os.write(output, REPORT.encode())
    fio.to(24.0, answers=False)
    assert len(fio.asked_at) == 2
    assert len(fio.told) == 1


def test_one_that_cannot_be_asked_yet_is_asked_as_soon_as_it_can(output: int) -> None:
    fio = Fio(30.0, output)
    fio.ready = False
    fio.to(4.0)
    assert fio.asked_at == []
    fio.ready = True
    fio.to(5.0)
    assert len(fio.asked_at) == 1


def test_an_answer_in_pieces_is_one_answer(output: int) -> None:
    fio = Fio(60.0, output)
    for piece in (REPORT[:1], REPORT[1:900], REPORT[900:-3], REPORT[-3:] + REPORT[:50]):
        assert fio.told == []
        os.write(output, piece.encode())
        fio.tick()
    assert len(fio.told) == 1
    os.write(output, REPORT[50:].encode())
    fio.tick()
    assert len(fio.told) == 2


def test_the_position_of_the_output_is_fios(output: int) -> None:
    """fio has the same open file: a position that moved would tear its report."""
    fio = Fio(60.0, output)
    os.write(output, REPORT.encode())
    os.lseek(output, 5, os.SEEK_SET)
    fio.tick()
    assert len(fio.told) == 1
    assert os.lseek(output, 0, os.SEEK_CUR) == 5


def test_a_report_of_another_form_ends_the_asking_and_not_the_run(output: int) -> None:
    fio = Fio(60.0, output)
    os.write(output, b'{"jobs": [{}, {}]}\n')
    fio.to(60.0)
    assert fio.told == []
    assert fio.asked_at == []
