"""Real boots of the built image: in seconds with User Mode Linux, in minutes with QEMU, which is
for what needs firmware, NVMe drives, the packet filter or the image's own kernel.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.rig import secure_boot
from tests.rig.build import TREE, Image, build, cache_root, locked
from tests.rig.drives import Drive, blank_drives
from tests.rig.machine import Guest, Machine
from tests.rig.ssh import Shell
from tests.rig.terminal import Terminal
from tests.rig.uml_machine import striped

NewMachine = Callable[..., Any]
# They take longest, each on one processor: what is begun last is waited for.
FIRST = ("test_cloud_machine", "test_tui", "test_life")
# Of a machine that is striped and has a volume that takes part only once it is named.
NETWORK_SERIAL = "vol0f1e2d3c4b5a69788"
NETWORK_BYTES = 768 << 20
SCREENS = TREE / "docs" / "screens"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        return FIRST.index(item.path.stem) if item.path.stem in FIRST else len(FIRST)

    items.sort(key=place)


@pytest.fixture(scope="session")
def image() -> Image:
    return build()


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys for Secure Boot."""
    keys = tmp_path_factory.mktemp("secure") / "keys"
    secure_boot.make_keys(keys)
    return keys


@pytest.fixture(scope="module")
def new_machine(image: Image, request: pytest.FixtureRequest) -> Iterator[NewMachine]:
    """Makes machines of a class of :class:`Machine`, drives and what else it takes; their disks
    and logs are kept when a test of the module failed.
    """
    folder = cache_root() / "tests" / request.path.stem
    failed_before = request.session.testsfailed

    def make(of: Callable[..., Machine], drives: tuple[Drive, ...], **options: Any) -> Machine:
        return of(image, folder, drives, **options)

    # Of another checkout the same tests have the same folder.
    with locked(folder.with_suffix(".lock")):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        yield make
        if request.session.testsfailed == failed_before:
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def striped_machine(new_machine: NewMachine) -> Iterator[Guest]:
    """A machine at rest: four drives striped, and a network volume without a role."""
    network = Drive(NETWORK_SERIAL, NETWORK_BYTES, kind="network")
    with new_machine(striped, (*blank_drives(), network)).up() as guest:
        guest.wait_until_idle()
        yield guest


@pytest.fixture(scope="module")
def operator(guest: Guest) -> Iterator[Shell]:
    """The operator's shell in the ``guest`` of the module."""
    with guest.operator_connected() as shell:
        yield shell


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
