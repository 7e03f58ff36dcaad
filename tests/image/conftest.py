"""Real boots of the built image. A boot takes a minute, so that one machine lives on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.rig.build import TREE, Image, build, cache_root
from tests.rig.drives import Carrier, Drive
from tests.rig.qemu import Guest, Machine
from tests.rig.snapshot import booted
from tests.rig.ssh import Shell
from tests.rig.terminal import Terminal

NewMachine = Callable[..., Machine]
SCREENS = TREE / "docs" / "screens"


@pytest.fixture(scope="session")
def image() -> Image:
    return build()


@pytest.fixture(scope="module")
def new_machine(image: Image, request: pytest.FixtureRequest) -> Iterator[NewMachine]:
    """Makes machines of drives and what else :class:`Machine` takes; their disks and logs are
    kept when a test of the module failed.
    """
    folder = _emptied(request)
    failed_before = request.session.testsfailed

    def make(drives: tuple[Drive, ...], **options: Any) -> Machine:
        return Machine(image, folder, Carrier(folder / "carrier.raw", drives), **options)

    yield make
    if request.session.testsfailed == failed_before:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def booted_machine(image: Image, request: pytest.FixtureRequest) -> Iterator[Guest]:
    """A machine that was booted before: four drives striped, and an EBS volume without a role."""
    folder = _emptied(request)
    failed_before = request.session.testsfailed
    with booted(image, folder) as guest:
        yield guest
    if request.session.testsfailed == failed_before:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def operator(guest: Guest) -> Iterator[Shell]:
    """The operator's shell in the ``guest`` of the module."""
    with guest.operator_connected() as shell:
        yield shell


def _emptied(request: pytest.FixtureRequest) -> Path:
    folder = cache_root() / "tests" / request.path.stem
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def keep_screen() -> Callable[[str, Terminal], None]:
    """Writes docs/screens/<name>.txt when STRIPEWRIGHT_KEEP_SCREENS is set."""

    def keep(name: str, terminal: Terminal) -> None:
        if os.environ.get("STRIPEWRIGHT_KEEP_SCREENS"):
            _write(SCREENS / f"{name}.txt", terminal.text())

    return keep


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
