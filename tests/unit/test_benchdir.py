"""The benchmark directory is made by descriptor; nothing that others put there is given away."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from types import SimpleNamespace

import pytest

from appliance.errors import OperatorError
from appliance.storage.execute import bench_dir
from appliance.system import services

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
_NOBODY = 65534
_NAME = ".stripewright-bench"


@pytest.fixture(autouse=True)
def _service_user(monkeypatch: pytest.MonkeyPatch) -> None:
    user = SimpleNamespace(pw_uid=_NOBODY, pw_gid=_NOBODY)
    monkeypatch.setattr(pwd, "getpwnam", lambda _: user)


def _ensure(folder: Path) -> None:
    device = folder.stat().st_dev
    bench_dir.ensure(str(folder), f"{os.major(device)}:{os.minor(device)}")


def test_it_is_made_and_then_left_alone(tmp_path: Path) -> None:
    for _ in range(2):
        _ensure(tmp_path)
        status = (tmp_path / _NAME).lstat()
        assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (_NOBODY, _NOBODY, 0o750)
        (tmp_path / _NAME / "file").touch()


def test_one_that_was_left_half_made_is_finished(tmp_path: Path) -> None:
    (tmp_path / _NAME).mkdir(0o700)
    _ensure(tmp_path)
    assert (tmp_path / _NAME).stat().st_uid == _NOBODY


def test_a_link_a_file_and_a_directory_of_others_are_not_given_away(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir(0o755)
    (theirs / "kept").touch()
    place = tmp_path / _NAME
    place.symlink_to(theirs)
    with pytest.raises(OperatorError, match="not a directory that can be used"):
        _ensure(tmp_path)
    place.unlink()
    place.touch()
    with pytest.raises(OperatorError, match="not a directory that can be used"):
        _ensure(tmp_path)
    place.unlink()
    theirs.rename(place)
    with pytest.raises(OperatorError, match="belongs to user 0 with mode 0755"):
        _ensure(tmp_path)
    status = place.stat()
    assert (status.st_uid, status.st_mode & 0o7777) == (0, 0o755)


def test_only_on_the_volume_itself(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    with pytest.raises(OperatorError, match="not a directory"):
        _ensure(link)
    with pytest.raises(OperatorError, match=r"not on the volume \(device 259:77\)"):
        bench_dir.ensure(str(tmp_path), "259:77")
    assert not (tmp_path / _NAME).exists()


class Unit:
    """systemd, with the unit that makes the directory."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.started: list[str] = []
        self.fails = False
        self._folder = folder
        monkeypatch.setattr(services, "systemd_is_running", lambda: True)
        monkeypatch.setattr(services, "start_and_wait", self._start)

    def _start(self, name: str) -> None:
        self.started.append(name)
        if self.fails:
            raise OperatorError("could not start it", "")
        _ensure(self._folder)

    def have(self) -> None:
        device = self._folder.stat().st_dev
        bench_dir.have("data", str(self._folder), f"{os.major(device)}:{os.minor(device)}")


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Unit:
    return Unit(monkeypatch, tmp_path)


def test_a_unit_of_its_own_makes_it_where_it_is_missing(made: Unit) -> None:
    for _ in range(2):
        made.have()
    assert made.started == ["stripewright-benchdir@data.service"]


def test_what_the_unit_could_not_make_is_told_as_it_is_found(made: Unit, tmp_path: Path) -> None:
    made.fails = True
    with pytest.raises(OperatorError, match="not a directory that can be used: No such file"):
        made.have()
    place = tmp_path / _NAME
    place.symlink_to("/etc")
    with pytest.raises(OperatorError, match="not a directory that can be used: Not a directory"):
        made.have()
    place.unlink()
    place.mkdir(0o755)
    with pytest.raises(OperatorError, match="belongs to user 0 with mode 0755"):
        made.have()
    with pytest.raises(OperatorError, match=r"not on the volume \(device 259:77\)"):
        bench_dir.have("data", str(tmp_path), "259:77")
    assert len(made.started) == 4
