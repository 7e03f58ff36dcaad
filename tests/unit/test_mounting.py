"""A mount by systemd: allowed when it was proved, of what was proved, and only then."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from appliance import paths
from appliance.errors import CommandFailed, Refused
from appliance.model.plans import Volume
from appliance.storage.execute import mounting
from appliance.storage.formats import filesystem, mount_unit
from appliance.system import process, services
from appliance.system.kernel import Kernel

DATA = Volume("data", "/mnt/data")
DEVICE = "/dev/null"
ARGV = filesystem.mount_argv(DATA, DEVICE)
UNIT = "mnt-data.mount"


class Systemd:
    """What was asked of systemd, and whether the mount was allowed at that moment."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.ran: list[str] = []
        self.units = tmp_path / "units"
        self.units.mkdir()
        self.what, self.kind, self.fails = DEVICE, "xfs", False
        self.needs_reload = False
        self.allowed: list[bool] = []
        self._may = tmp_path / "may-mount"
        monkeypatch.setattr(paths, "MAY_MOUNT_DIR", self._may)
        monkeypatch.setattr(paths, "DEVICE_DIR", tmp_path / "links")
        monkeypatch.setattr(services, "systemd_is_running", lambda: True)
        monkeypatch.setattr(process, "run", self._run)

    @property
    def open(self) -> list[str]:
        return [one.name for one in self._may.iterdir()] if self._may.exists() else []

    def mount(self) -> None:
        mounting.mount(ARGV, DATA, Kernel(), self.units, timeout_seconds=1)

    def _run(self, argv: Sequence[str], **_: object) -> process.Completed:
        words = [word for word in argv if not word.startswith("--")]
        self.ran.append(" ".join(words))
        said = ""
        if words[0] == "journalctl":
            assert "--identifier=mount" in argv
            said = "mount: /mnt/data: wrong fs type\n"
        elif words[1] == "show":
            said = f"What={self.what}\nType={self.kind}\n"
            said += f"NeedDaemonReload={'yes' if self.needs_reload else 'no'}\n"
        elif words[1] in {"start", "stop"}:
            self.allowed.append(self.open == [UNIT])
            assert "--job-mode=ignore-dependencies" in argv
            if self.fails:
                raise CommandFailed(argv, 1, "Job for mnt-data.mount failed.")
        return process.Completed(tuple(argv), 0, said, "")


@pytest.fixture
def systemd(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Systemd:
    return Systemd(monkeypatch, tmp_path)


def test_the_unit_is_written_first_and_mounts_only_while_it_is_allowed(systemd: Systemd) -> None:
    systemd.mount()
    assert systemd.ran == [
        "systemctl daemon-reload", f"systemctl show {UNIT}", f"systemctl start {UNIT}",
    ]  # fmt: skip
    assert f"What={DEVICE}\n" in (systemd.units / UNIT).read_text()
    assert (systemd.allowed, systemd.open) == ([True], [])
    systemd.ran.clear()
    systemd.mount()
    # Nothing changed: systemd has nothing to read.
    assert "systemctl daemon-reload" not in systemd.ran
    systemd.needs_reload = True  # the one before has failed
    systemd.mount()
    assert "systemctl daemon-reload" in systemd.ran


def test_a_mount_that_fails_is_told_in_the_words_of_mount(systemd: Systemd) -> None:
    systemd.fails = True
    with pytest.raises(CommandFailed, match="wrong fs type") as failed:
        systemd.mount()
    assert failed.value.hint == f"see 'journalctl -u {UNIT}'"
    assert systemd.open == []


@pytest.mark.parametrize(("what", "kind"), [("/dev/zero", "xfs"), ("", "xfs"), (DEVICE, "ext4")])
def test_what_somebody_elses_unit_says_is_not_mounted(
    systemd: Systemd, what: str, kind: str
) -> None:
    """An administrator's file for the path stays; so does a drop-in to ours."""
    systemd.what, systemd.kind = what, kind
    (systemd.units / UNIT).write_text("[Mount]\n")
    with pytest.raises(Refused, match="would mount"):
        systemd.mount()
    assert not any("start" in one for one in systemd.ran)
    assert (systemd.units / UNIT).read_text() == "[Mount]\n"


def test_our_link_is_named_only_where_it_leads_to_what_was_proved(systemd: Systemd) -> None:
    paths.DEVICE_DIR.mkdir()
    link = paths.DEVICE_DIR / "data"
    link.symlink_to("/dev/zero")
    systemd.mount()
    assert f"What={DEVICE}\n" in (systemd.units / UNIT).read_text()
    link.unlink()
    link.symlink_to(DEVICE)
    systemd.mount()
    assert f"What={link}\n" in (systemd.units / UNIT).read_text()


def test_what_uses_the_mount_is_not_stopped_with_it(systemd: Systemd) -> None:
    mounting.unmount(("umount", "/mnt/data"), timeout_seconds=1)
    assert systemd.ran == [f"systemctl stop {UNIT}"]


def test_what_a_killed_executor_allowed_is_taken_back(systemd: Systemd) -> None:
    paths.MAY_MOUNT_DIR.mkdir()
    (paths.MAY_MOUNT_DIR / UNIT).touch()
    mounting.forbid()
    assert systemd.open == []
    mounting.forbid()


def test_without_systemd_the_step_is_run_as_it_is(
    systemd: Systemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Sequence[str]] = []
    monkeypatch.setattr(services, "systemd_is_running", lambda: False)
    monkeypatch.setattr(process, "run", lambda argv, **_: ran.append(argv))
    systemd.mount()
    mounting.unmount(("umount", "/mnt/data"), timeout_seconds=1)
    assert ran == [ARGV, ("umount", "/mnt/data")]
    assert list(systemd.units.iterdir()) == []
    assert mount_unit.unit_name(DATA.mount) == UNIT
