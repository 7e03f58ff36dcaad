"""A hostile spool: whatever lies there, root reads few bytes of one file, or nothing."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

import pytest

from appliance.errors import OperatorError, StalePlan, UsageError
from appliance.storage.execute import request_spool
from appliance.storage.execute.request_spool import MAX_REQUEST_BYTES, Request, Store

ASKED = Request('[[volume]]\nname = "data"\nmount = "/mnt/data"\n# é\n', ("logs",), ("AWS1",))


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    folder = tmp_path / "spool"
    folder.mkdir()
    return folder


def put(spool: Path, raw: bytes) -> str:
    name = hashlib.sha256(raw).hexdigest()
    (spool / f"{name}.json").write_bytes(raw)
    return name


@pytest.mark.parametrize("request_", [ASKED, Request(), Request("", (), ("ü",))])
def test_a_request_comes_back_and_is_gone_from_the_spool(spool: Path, request_: Request) -> None:
    name = request_spool.leave(spool, request_)
    assert name == hashlib.sha256(request_spool.encode(request_)).hexdigest()
    assert request_spool.take(spool, name) == request_
    assert list(spool.iterdir()) == []


def test_leaving_it_twice_is_no_error(spool: Path) -> None:
    assert request_spool.leave(spool, ASKED) == request_spool.leave(spool, ASKED)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"erase":[],"layout":null,"remove":[]} ',
        b'{"layout":null,"erase":[],"remove":[]}',
        b'{"erase":[],"layout":null,"remove":[],"remove":[]}',
        b'{"argv":["sh"],"erase":[],"layout":null,"remove":[]}',
        b'{"erase":[],"layout":7,"remove":[]}',
        b'{"erase":[],"layout":"\\ud800","remove":[]}',
        b'{"erase":[],"layout":"\\u0000","remove":[]}',
        b'{"erase":[],"layout":null,"remove":["../x"]}',
        b'{"erase":[],"layout":null,"remove":["a\\n"]}',
        b'{"erase":[],"layout":null,"remove":["a","a"]}',
        b'{"erase":[1],"layout":null,"remove":[]}',
        b'{"erase":[""],"layout":null,"remove":[]}',
        b'{"erase":"AWS1","layout":null,"remove":[]}',
        json.dumps({"erase": ["x" * 257], "layout": None, "remove": []}).encode(),
        json.dumps(
            {"erase": [str(n) for n in range(65)], "layout": None, "remove": []},
            separators=(",", ":"),
        ).encode(),
    ],
)
def test_content_that_is_no_request(spool: Path, raw: bytes) -> None:
    name = put(spool, raw)
    with pytest.raises(UsageError, match="the request cannot be used"):
        request_spool.take(spool, name)
    assert list(spool.iterdir()) == []


def test_a_name_that_is_not_the_hash_of_the_content(spool: Path) -> None:
    (spool / f"{'0' * 64}.json").write_bytes(request_spool.encode(ASKED))
    with pytest.raises(UsageError, match="another hash"):
        request_spool.take(spool, "0" * 64)


@pytest.mark.parametrize(
    "name", ["", "x", "0" * 63, "0" * 65, "A" * 64, "../" + "0" * 61, "0" * 64 + "\n"]
)
def test_a_name_that_is_no_hash(spool: Path, name: str) -> None:
    with pytest.raises(UsageError, match="not a hash"):
        request_spool.take(spool, name)


def test_what_is_no_plain_file_is_not_read(spool: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(request_spool.encode(ASKED))
    name = hashlib.sha256(request_spool.encode(ASKED)).hexdigest()
    place = spool / f"{name}.json"

    place.symlink_to(secret)
    with pytest.raises(UsageError, match="cannot be opened"):
        request_spool.take(spool, name)
    place.hardlink_to(secret)
    with pytest.raises(UsageError, match="several names"):
        request_spool.take(spool, name)
    os.mkfifo(place)
    began = time.monotonic()
    with pytest.raises(UsageError, match="not a regular file"):
        request_spool.take(spool, name)
    assert time.monotonic() - began < 5, "a FIFO must not hold root up"
    place.mkdir()
    with pytest.raises(UsageError, match=r"cannot be|not a regular file"):
        request_spool.take(spool, name)
    assert not place.exists()
    assert secret.read_bytes() == request_spool.encode(ASKED)


def test_a_directory_in_its_place_does_not_block_a_request(spool: Path) -> None:
    """However deep it is and whatever is in it: anybody knows the hash of the plain request."""
    name = hashlib.sha256(request_spool.encode(ASKED)).hexdigest()
    (spool / f"{name}.json" / "deep" / "deeper").mkdir(parents=True)
    assert request_spool.leave(spool, ASKED) == name
    with pytest.raises(UsageError, match="not a regular file"):
        request_spool.take(spool, name)
    assert request_spool.leave(spool, ASKED) == name
    assert request_spool.take(spool, name) == ASKED
    (aside,) = spool.iterdir()
    assert (aside / "deep/deeper").is_dir()
    # It stays where it is, for systemd-tmpfiles; an empty one goes.
    folder = os.open(spool, os.O_RDONLY)
    late = time.time() + request_spool.MAX_AGE_SECONDS + 60
    request_spool.sweep(folder, now=late)
    assert list(spool.iterdir()) == [aside]
    (aside / "deep/deeper").rmdir()
    (aside / "deep").rmdir()
    request_spool.sweep(folder, now=late)
    os.close(folder)
    assert list(spool.iterdir()) == []


def test_a_huge_file_is_not_read(spool: Path) -> None:
    name = "1" * 64
    with (spool / f"{name}.json").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UsageError, match="too long"):
        request_spool.take(spool, name)


def test_a_spool_that_is_a_link_is_not_followed(spool: Path, tmp_path: Path) -> None:
    name = request_spool.leave(spool, ASKED)
    link = tmp_path / "link"
    link.symlink_to(spool)
    with pytest.raises(OperatorError):
        request_spool.take(link, name)


def test_a_full_spool_neither_blocks_nor_fills_up(
    spool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10_000):
        (spool / f"{number}").touch()
    name = request_spool.leave(spool, ASKED)
    assert request_spool.take(spool, name) == ASKED
    assert len(list(spool.iterdir())) == 10_000, "what is young may be somebody's request"
    folder = os.open(spool, os.O_RDONLY)
    request_spool.sweep(folder, now=time.time() + request_spool.MAX_AGE_SECONDS + 60)
    os.close(folder)
    assert list(spool.iterdir()) == []


def test_a_layout_that_is_too_long_is_told_before_it_is_left(spool: Path) -> None:
    with pytest.raises(UsageError, match="larger"):
        request_spool.leave(spool, Request("#" * MAX_REQUEST_BYTES))


def test_every_layout_that_can_be_loaded_can_be_asked_for(spool: Path) -> None:
    longest = Request("é" * (32 * 1024), ("data",) * 1, ("AWS1",))
    assert request_spool.take(spool, request_spool.leave(spool, longest)) == longest


def test_what_was_written_while_the_clock_was_ahead_goes_first(tmp_path: Path) -> None:
    store = Store(tmp_path / "plans", tmp_path / "digests")
    digests = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(40)]
    for digest in digests[:-1]:
        store.keep_request(digest, ASKED)
        os.utime(store.digests / f"{digest}.json", times=(2e10, 2e10))
    store.keep_request(digests[-1], ASKED)
    assert store.request(digests[-1]) == ASKED


def test_a_digest_leads_to_its_request_and_only_so_many_are_kept(tmp_path: Path) -> None:
    store = Store(tmp_path / "plans", tmp_path / "digests")
    digests = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(60)]
    for at, digest in enumerate(digests):
        store.keep_request(digest, ASKED)
        os.utime(store.digests / f"{digest}.json", ns=(at, at))
    assert store.request(digests[-1]) == ASKED
    assert len(list(store.digests.iterdir())) == 2 * request_spool.KEPT
    with pytest.raises(StalePlan, match="no plan with the digest"):
        store.request(digests[0])
    for wrong in ("", "../../etc/passwd", "0" * 63):
        with pytest.raises(UsageError, match="not the digest"):
            store.request(wrong)
    # What others prune at the same moment is gone; a link to nothing stands for that.
    for number in range(3):
        (store.digests / f"gone{number}.json").symlink_to("nowhere")
    store.keep_request(digests[-1], ASKED)
    assert store.request(digests[-1]) == ASKED
    assert len(list(store.digests.iterdir())) == 2 * request_spool.KEPT
    assert oct((store.digests / f"{digests[-1]}.json").stat().st_mode & 0o777) == "0o644"
