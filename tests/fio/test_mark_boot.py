"""The mark of a machine that runs: there at the next boot only if nothing shut this one down."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from appliance.drift.looks import hostlook

SCRIPT = Path(__file__).parents[2] / "mkosi.extra/usr/lib/stripewright/mark-boot"
BOOTS = [f"00000000-0000-4000-8000-{number:012d}" for number in range(9)]
Mark = Callable[..., None]


@pytest.fixture
def mark(tmp_path: Path) -> Mark:
    """The script, in a boot of that number."""
    (tmp_path / "state").mkdir()
    (tmp_path / "pstore").mkdir()
    script = SCRIPT.read_text()
    for real, here in (
        ("/var/lib/stripewright-running", "state"),
        ("/var/lib/systemd/pstore", "pstore"),
        ("/proc/sys/kernel/random/boot_id", "boot_id"),
    ):
        assert real in script
        script = script.replace(real, str(tmp_path / here))

    def run(boot: int, what: str) -> None:
        (tmp_path / "boot_id").write_text(BOOTS[boot] + "\n")
        done = subprocess.run(
            ["sh", "-c", script, "mark-boot", what], capture_output=True, text=True, check=True
        )
        assert done.stderr == ""

    return run


def found(tmp_path: Path, boot: int) -> tuple[str, tuple[str, ...]] | None:
    read = hostlook.read_mark(tmp_path / "state/ended", BOOTS[boot])
    return None if read is None else (read[0].boot_id, read[1])


def test_a_boot_that_was_shut_down_leaves_nothing(mark: Mark, tmp_path: Path) -> None:
    mark(1, "start")
    assert found(tmp_path, 1) is None
    mark(1, "stop")
    mark(2, "start")
    assert found(tmp_path, 2) is None


def test_a_boot_that_was_not_is_said_at_the_next_one_alone(mark: Mark, tmp_path: Path) -> None:
    mark(1, "start")
    mark(2, "start")
    assert found(tmp_path, 2) == (BOOTS[1], ())
    read = hostlook.read_mark(tmp_path / "state/ended", BOOTS[2])
    assert read is not None
    assert read[0].began_at > 1e9
    mark(2, "stop")
    mark(2, "start")
    assert found(tmp_path, 2) == (BOOTS[1], ()), "started again in the same boot"
    mark(2, "stop")
    mark(3, "start")
    assert found(tmp_path, 3) is None


def test_records_that_came_since_are_named_once(mark: Mark, tmp_path: Path) -> None:
    (tmp_path / "pstore/old record").touch()
    mark(1, "start")
    (tmp_path / "pstore/7639").mkdir()
    mark(2, "start")
    assert found(tmp_path, 2) == (BOOTS[1], ("7639",))
    mark(3, "start")
    assert found(tmp_path, 3) == (BOOTS[2], ())
    mark(3, "stop")
    (tmp_path / "pstore/7640").mkdir()
    mark(4, "start")
    assert found(tmp_path, 4) == ("", ("7640",)), "a panic before the mark was made"


def test_a_mark_that_never_came_to_the_disk_is_a_mark(mark: Mark, tmp_path: Path) -> None:
    mark(1, "start")
    (tmp_path / "state/running").write_bytes(b"")
    mark(2, "start")
    assert found(tmp_path, 2) == ("", ())
    (tmp_path / "state/ended").write_bytes(b"")
    mark(3, "start")
    assert found(tmp_path, 3) == (BOOTS[2], ())


def test_a_list_that_a_full_disk_cut_off_makes_no_old_record_new(
    mark: Mark, tmp_path: Path
) -> None:
    (tmp_path / "pstore/7639").mkdir()
    mark(1, "start")
    mark(1, "stop")
    (tmp_path / "state/listed").symlink_to("/dev/full")
    mark(2, "start")
    mark(2, "stop")
    (tmp_path / "state/listed").unlink()
    mark(3, "start")
    assert found(tmp_path, 3) is None
