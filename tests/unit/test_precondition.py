"""The private directory, the byte budget and the proof of written extents."""

import os
import struct
from pathlib import Path

import pytest

from appliance.bench import directory
from appliance.bench import directory as pre
from appliance.bench.directory import Extent
from appliance.errors import OperatorError, Refused, UsageError

GIB = 1024**3
PHYSICAL = 1 << 30


def size(free: float, total: float, files: int = 8, asked: float = 0) -> int:
    return pre.file_size_bytes(
        free_bytes=int(free * GIB),
        total_bytes=int(total * GIB),
        file_count=files,
        asked_bytes=int(asked * GIB),
    )


def test_five_percent_of_the_free_space_in_whole_mebibytes():
    assert size(100, 100) * 8 == pytest.approx(5 * GIB, rel=0.01)
    assert size(100, 100) % (1024 * 1024) == 0


def test_never_more_than_16_gib_and_never_less_than_64_mib():
    assert size(4000, 4000) * 8 == 16 * GIB
    assert size(0.5, 0.5) * 8 == 64 * 1024 * 1024


@pytest.mark.parametrize(
    ("free", "total", "files", "asked", "gets"),
    [
        (1700, 1700, 16, 1, 1),  # all that was asked for, beyond the 16 GiB of other suites
        (1700, 1700, 32, 1, 1),
        (1700, 1700, 1, 0.25, 0.25),  # and no more than that
        (4000, 4000, 16, 10, 4),  # 64 GiB together
        (20, 20, 1, 10, 5),  # a quarter of what is free
    ],
)
def test_files_as_large_as_a_suite_asks_within_bounds(free, total, files, asked, gets):
    assert size(free, total, files, asked) == gets * GIB


def test_an_asked_size_shrinks_before_a_run_is_refused():
    assert size(25, 100, 1, 10) == 5 * GIB
    assert size(24, 100, 1, 10) == 4 * GIB


@pytest.mark.parametrize(("free", "total"), [(0, 1), (0.05, 0.06), (19, 100), (20.5, 100)])
def test_twenty_percent_must_stay_free(free, total):
    with pytest.raises(Refused) as caught:
        size(free, total)
    assert caught.value.exit_code == 3
    assert "\n" not in caught.value.message
    assert "--target" in caught.value.hint


def test_the_directory_is_made_held_and_removed_with_its_files(tmp_path):
    with pre.private_directory(tmp_path) as private:
        assert private.path == tmp_path / ".stripewright-bench"
        assert private.path.stat().st_mode & 0o777 == 0o700
        (private.path / "data.0").write_text("x")
        with pytest.raises(Refused, match="another run"), pre.private_directory(tmp_path):
            pass
        assert (private.path / "data.0").exists()
    assert list(tmp_path.iterdir()) == []


def test_a_run_waits_for_its_turn_and_not_for_ever(tmp_path, monkeypatch):
    given = tmp_path / ".stripewright-bench"
    given.mkdir(mode=0o700)
    at = [0.0]
    other = pre.private_directory(tmp_path)
    other.__enter__()

    def sleep(seconds):
        at[0] += seconds
        if at[0] >= 42:
            other.__exit__(None, None, None)

    monkeypatch.setattr(pre.time, "sleep", sleep)
    monkeypatch.setattr(pre.time, "monotonic", lambda: at[0])
    with (
        pytest.raises(Refused, match=r"another run is measuring .* after 1 min"),
        # Forty seconds: less than the other takes.
        pre.private_directory(tmp_path, wait_seconds=40.0),
    ):
        pass
    assert at[0] == 40.0
    with pre.private_directory(tmp_path, wait_seconds=60.0):
        assert at[0] == 42.0


def test_a_directory_that_was_there_stays_and_only_our_files_go(tmp_path):
    given = tmp_path / ".stripewright-bench"
    given.mkdir(mode=0o750)
    for name in ("data.0", "data.12", "probe", "keep.txt", "data.old"):
        (given / name).write_text("x")
    with pre.private_directory(given) as private:
        assert private.path == given
    assert sorted(entry.name for entry in given.iterdir()) == ["data.old", "keep.txt"]


def test_a_link_instead_of_a_data_file_is_removed_and_not_followed(tmp_path):
    given = tmp_path / ".stripewright-bench"
    given.mkdir(mode=0o700)
    victim = tmp_path / "victim"
    victim.write_text("keep")
    (given / "data.0").symlink_to(victim)
    with pre.private_directory(given):
        assert not (given / "data.0").is_symlink()
    assert victim.read_text() == "keep"


def test_a_directory_where_a_test_file_goes_is_named(tmp_path):
    given = tmp_path / ".stripewright-bench"
    (given / "data.3").mkdir(parents=True)
    given.chmod(0o700)
    with (
        pytest.raises(OperatorError, match=r"cannot remove .*data\.3") as caught,
        pre.private_directory(tmp_path),
    ):
        pass
    assert caught.value.hint


def test_a_target_is_kept_as_an_absolute_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert pre.absolute_target("a/b") == tmp_path / "a" / "b"
    assert pre.absolute_target(Path()) == tmp_path
    assert pre.absolute_target(tmp_path) == tmp_path


@pytest.mark.parametrize(("text", "says"), [("", "empty"), (os.fsdecode(b"/tmp/\xff"), "UTF-8")])
def test_a_target_that_cannot_be_kept(text, says):
    with pytest.raises(UsageError, match=says) as caught:
        pre.absolute_target(text)
    caught.value.message.encode()


def test_a_working_directory_that_is_gone(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(UsageError, match="was removed"):
        pre.absolute_target("here")
    monkeypatch.chdir(tmp_path)


def test_links_are_not_followed(tmp_path):
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    with pytest.raises(UsageError, match="symbolic link"), pre.private_directory(tmp_path / "link"):
        pass
    (real / ".stripewright-bench").symlink_to(tmp_path)
    with pytest.raises(UsageError, match="symbolic link"), pre.private_directory(real):
        pass


def test_a_target_that_is_no_directory(tmp_path):
    with pytest.raises(UsageError, match="does not exist"), pre.private_directory(tmp_path / "no"):
        pass
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(UsageError, match="not a directory"),
        pre.private_directory(tmp_path / "file"),
    ):
        pass


def test_a_directory_that_others_may_write_is_refused(tmp_path):
    given = tmp_path / ".stripewright-bench"
    given.mkdir()
    given.chmod(0o777)
    with pytest.raises(Refused, match="others may write"), pre.private_directory(tmp_path):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's directory")
def test_another_users_directory_is_refused(tmp_path):
    given = tmp_path / ".stripewright-bench"
    given.mkdir(mode=0o750)
    os.chown(given, 12345, 12345)
    with pytest.raises(Refused, match="another user"), pre.private_directory(tmp_path):
        pass


def test_a_file_with_a_hole_is_told_from_one_written_in_full(tmp_path):
    with pre.private_directory(tmp_path) as private:
        (private.path / "data.0").write_bytes(os.urandom(256 * 1024))
        with (private.path / "data.1").open("wb") as sparse:
            sparse.truncate(256 * 1024)
        full, holes = private.unwritten("data.0"), private.unwritten("data.1")
    # On a filesystem without FIEMAP both say so; nowhere does the sparse file pass.
    assert full == "" or "does not tell" in full
    assert holes != ""


def extent(logical: int, length: int, flags: int = 0) -> bytes:
    return struct.pack("=QQQ16xI12x", logical, PHYSICAL, length, flags)


def answer(*extents: bytes) -> bytes:
    return struct.pack("=QQIIII", 0, 0, 0, len(extents), len(extents), 0) + b"".join(extents)


def test_a_fiemap_answer():
    data = answer(extent(0, 4096), extent(4096, 8192, 0x1))
    assert directory.decode_extents(data) == (
        Extent(0, PHYSICAL, 4096),
        Extent(4096, PHYSICAL, 8192, 0x1),
    )


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        (((0, 4096, 0), (4096, 4096, 1)), ""),
        (((0, 8192 + 4096, 1),), ""),
        (((0, 4096, 0), (4096, 4096, 0x801)), "offset 4096 is unwritten"),
        (((0, 8192, 0x2001),), "shared"),
        (((0, 8192, 0x6),), "unknown"),
        (((0, 8192, 0x204),), "delayed-allocation"),
        (((4096, 4096, 1),), "hole of 4096 bytes at offset 0"),
        (((0, 4096, 1),), "hole of 4096 bytes at offset 4096"),
        ((), "hole of 8192 bytes"),
        (None, "does not tell"),
    ],
)
def test_what_extents_prove(parts, says):
    found = parts and tuple(Extent(at, PHYSICAL, length, flags) for at, length, flags in parts)
    problem = directory.extents_problem(found, 8192)
    assert says in problem
    assert bool(problem) == bool(says)


def test_direct_io_is_asked_for_once_and_a_refusal_is_clear(tmp_path, monkeypatch):
    real_open = os.open

    def no_direct(path, flags, *args, **kwargs):
        if flags & os.O_DIRECT:
            raise OSError(22, "Invalid argument")
        return real_open(path, flags, *args, **kwargs)

    with pre.private_directory(tmp_path) as private:
        monkeypatch.setattr(os, "open", no_direct)
        with pytest.raises(OperatorError, match="direct I/O"):
            private.require_direct_io()
