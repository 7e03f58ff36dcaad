from __future__ import annotations

from pathlib import Path

import pytest

from appliance.model.plans import Tuning
from appliance.storage.execute import tuning
from appliance.storage.execute.tuning import Setting
from appliance.system import journal
from appliance.system.kernel import chosen

ALL = Tuning(scheduler="none", io_timeout_seconds=90, rebuild_min_bytes=100 * 2**20)


class Tree:
    """A sysfs and a proc with two disks, and where the record is."""

    def __init__(self, root: Path) -> None:
        self.root, self.record = root, root / "run/tuning.json"
        for name in ("nvme1n1", "nvme2n1"):
            queue = root / f"sys/block/{name}/queue"
            queue.mkdir(parents=True)
            (queue / "scheduler").write_text("none [mq-deadline] kyber\n")
            (queue / "io_timeout").write_text("30000\n")
        self.minimum = root / "proc/sys/dev/raid/speed_limit_min"
        self.minimum.parent.mkdir(parents=True)
        self.minimum.write_text("1000\n")

    def declare(self, wanted: Tuning, *members: str) -> list[str]:
        found = tuning.declared(
            wanted, members, sys_root=self.root / "sys", proc_root=self.root / "proc"
        )
        return tuning.bring_about(found, self.record)

    def get(self, name: str, attribute: str) -> str:
        return chosen((self.root / f"sys/block/{name}/queue/{attribute}").read_text())


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    monkeypatch.setattr(journal, "event", lambda *_, **__: None)
    return Tree(tmp_path)


def test_what_is_declared_is_set_on_our_members_and_recorded(tree: Tree) -> None:
    assert tree.declare(ALL, "nvme1n1") == []
    assert (tree.get("nvme1n1", "scheduler"), tree.get("nvme1n1", "io_timeout")) == (
        "none",
        "90000",
    )
    assert tree.minimum.read_text() == "102400"
    assert tree.get("nvme2n1", "scheduler") == "mq-deadline", "no disk of ours"
    assert {(one.value, one.before) for one in tuning.load(tree.record)} == {
        ("none", "mq-deadline"), ("90000", "30000"), ("102400", "1000"),
    }  # fmt: skip


def test_what_is_no_longer_declared_is_as_before(tree: Tree) -> None:
    tree.declare(ALL, "nvme1n1", "nvme2n1")
    tree.declare(Tuning(scheduler="none"), "nvme1n1")
    assert tree.get("nvme2n1", "scheduler") == "mq-deadline"
    assert tree.get("nvme1n1", "io_timeout") == "30000"
    assert tree.minimum.read_text() == "1000"
    tuning.bring_about({}, tree.record)
    assert tree.get("nvme1n1", "scheduler") == "mq-deadline"
    assert not tree.record.exists()
    assert tuning.load(tree.record) == ()


def test_what_was_before_survives_another_value(tree: Tree) -> None:
    tree.declare(Tuning(io_timeout_seconds=90), "nvme1n1")
    tree.declare(Tuning(io_timeout_seconds=120), "nvme1n1")
    assert tree.get("nvme1n1", "io_timeout") == "120000"
    tuning.bring_about({}, tree.record)
    assert tree.get("nvme1n1", "io_timeout") == "30000"


def test_what_somebody_else_has_set_since_is_theirs(tree: Tree) -> None:
    tree.declare(Tuning(io_timeout_seconds=90), "nvme1n1")
    (tree.root / "sys/block/nvme1n1/queue/io_timeout").write_text("5000\n")
    assert "other means" in tuning.bring_about({}, tree.record)[0]
    assert tree.get("nvme1n1", "io_timeout") == "5000"


def test_a_setting_that_does_not_exist_is_left_out(tree: Tree) -> None:
    (tree.root / "sys/block/nvme1n1/queue/io_timeout").unlink()
    assert tree.declare(Tuning(io_timeout_seconds=90), "nvme1n1", "gone") == []
    assert tuning.load(tree.record) == ()


def test_the_record_is_there_before_the_first_write(tree: Tree) -> None:
    """Killed at the first write, it is still known what was before."""
    written: list[tuple[Setting, ...]] = []
    real = Path.write_text

    def write(path: Path, *arguments: object, **options: object) -> int:
        if path.name == "scheduler":
            written.append(tuning.load(tree.record))
        return real(path, *arguments, **options)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "write_text", write)
        tree.declare(Tuning(scheduler="none"), "nvme1n1")
    assert [one.before for one in written[0]] == ["mq-deadline"]


def test_without_volumes_nothing_is_set(tree: Tree) -> None:
    assert tree.declare(ALL) == []
    assert tree.minimum.read_text() == "1000\n"


def test_the_cpu_latency_is_announced_while_it_is_declared(tmp_path: Path) -> None:
    file = tmp_path / "cpu-latency"
    tuning.announce_cpu_latency(Tuning(cpu_latency_us=10), file)
    assert file.read_text() == "10\n"
    tuning.announce_cpu_latency(Tuning(), file)
    assert not file.exists()
