"""Where a volume may be mounted: nothing is hidden, and nobody else can change what is there."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.model.plans import Volume
from appliance.storage.execute import verify
from appliance.system.kernel import Kernel

SCRATCH = Volume("scratch", "/mnt/scratch")


def _kernel(root: Path, mountinfo: str = "") -> Kernel:
    (root / "self").mkdir()
    (root / "self/mountinfo").write_text(mountinfo)
    return Kernel(proc_root=root)


@pytest.fixture
def _all_roots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary directories are below one that everybody may write."""
    monkeypatch.setattr(verify, "_not_only_roots", lambda _: "")


@pytest.mark.usefixtures("_all_roots")
def test_a_mount_point_may_be_missing_or_empty(tmp_path: Path) -> None:
    kernel = _kernel(tmp_path)
    folder = tmp_path / "mnt"
    volume = replace(SCRATCH, mount=str(folder))
    assert verify.mountpoint_problem(volume, kernel) == ""
    folder.mkdir()
    assert verify.mountpoint_problem(volume, kernel) == ""


@pytest.mark.usefixtures("_all_roots")
def test_a_mount_point_that_would_hide_something(tmp_path: Path) -> None:
    kernel = _kernel(tmp_path)
    full, file, link = tmp_path / "full", tmp_path / "file", tmp_path / "link"
    full.mkdir()
    (full / "kept").touch()
    file.touch()
    link.symlink_to(full)
    for path, what in ((full, "not empty"), (file, "not a directory"), (link, "symbolic link"),
                       (link / "below", "symbolic link")):  # fmt: skip
        assert what in verify.mountpoint_problem(replace(SCRATCH, mount=str(path)), kernel)


def test_a_mount_point_that_others_could_exchange(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = _kernel(tmp_path)
    owners = {"/mnt": (0, 0o40755), "/mnt/db": (0, 0o40755)}

    def lstat(path: Path) -> os.stat_result:
        if str(path) not in {"/", *owners}:
            raise FileNotFoundError
        uid, mode = owners.get(str(path), (0, 0o40755))
        return os.stat_result((mode, 0, 0, 2, uid, 0, 0, 0, 0, 0))

    monkeypatch.setattr(Path, "lstat", lstat)
    monkeypatch.setattr(Path, "exists", lambda path: str(path) in owners)
    monkeypatch.setattr(os.path, "realpath", str)
    volume = replace(SCRATCH, mount="/mnt/db/data")
    assert verify.mountpoint_problem(volume, kernel) == ""
    owners["/mnt/db"] = (70, 0o40755)
    assert "/mnt/db belongs to user 70" in verify.mountpoint_problem(volume, kernel)
    owners["/mnt/db"] = (0, 0o41777)
    assert "/mnt/db can be written by others" in verify.mountpoint_problem(volume, kernel)
    owners["/mnt/db"], owners["/mnt"] = (0, 0o40755), (0, 0o40775)
    assert "/mnt can be written by others" in verify.mountpoint_problem(volume, kernel)


def test_a_mount_point_that_is_taken(tmp_path: Path) -> None:
    kernel = _kernel(tmp_path, "9 1 8:1 / /mnt/scratch rw - ext4 /dev/sda1 rw\n")
    assert verify.mountpoint_problem(SCRATCH, kernel) == (
        "/mnt/scratch is already a mount of /dev/sda1"
    )


@pytest.mark.usefixtures("_all_roots")
def test_a_mount_point_that_will_be_left_is_no_problem_yet(tmp_path: Path) -> None:
    folder = tmp_path / "mnt"
    folder.mkdir()
    kernel = _kernel(tmp_path, f"9 1 8:1 / {folder} rw - ext4 /dev/sda1 rw\n")
    volume = replace(SCRATCH, mount=str(folder))
    assert "already a mount" in verify.mountpoint_problem(volume, kernel)
    assert verify.mountpoint_problem(volume, kernel, leaving={str(folder)}) == ""
