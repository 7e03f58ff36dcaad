"""Guest program: histories drawn at random, against the one promise.

A history is a scenario of the catalogue: disks, a layout, and deeds of the appliance, of its
programs when they fail, and of somebody who writes to disks, copies, blanks and pulls them out.
Whatever somebody wrote is known block by block, and has to be there after each deed of ours,
unless a confirmed plan named its disk. A file that was stored in the volume has to be there
whenever the volume is. And a machine on whose disks nothing strange is has to come up.

A history that fails is made shorter for as long as it fails, and told as a scenario.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab import catalogue, rack
from tests.lab.catalogue import Expected
from tests.lab.guest import DISKS, RESULTS, load_all, must_be_guest
from tests.lab.play import STATE, Player
from tests.lab.rack import MIB
from tests.lab.shapes import SHAPES

Deed = dict[str, Any]

_BLOCK = 4096
_FRONT = MIB
_MOUNT = Path("/mnt/data")
_FILE = _MOUNT / "mine"
_HAND = Path("/mnt/hand")
# A file was stored in the volume while it was mounted by hand.
_STORED = Path("/run/stored")
_NODES = {"md-raid0": "/dev/md/data", "md-raid10": "/dev/md/data",
          "lvm-stripe": "/dev/stripewright-data/data"}  # fmt: skip
_TOOLS = {"single": (), "md-raid0": ("mdadm",), "md-raid10": ("mdadm",),
          "lvm-stripe": ("vgcreate", "lvcreate")}  # fmt: skip
# Who uses DISK, and ends.
_USERS = (
    ("modprobe -q loop; losetup -f -o 33554432 DISK",
     "losetup -d $(losetup -n -O NAME -j DISK); sleep 0.2"),
    ('modprobe -q dm_mod; dmsetup create user --table "0 2048 linear DISK 4096"',
     "dmsetup remove --retry user"),
    ("mkswap DISK && swapon DISK", "swapoff DISK"),
)  # fmt: skip
_PLACES = (0, 510, 512, 4096, 65600, 512 * 1024, _FRONT - 1, _FRONT, _FRONT + 4097, -1, -MIB)
_TRIES = 60


def draw(seed: int) -> dict[str, Any]:
    """A history: layout, disks and deeds, all from ``seed``."""
    chance = random.Random(seed)  # noqa: S311 - to be repeated
    form = chance.choice(("single", "md-raid0", "md-raid0", "md-raid10", "lvm-stripe"))
    fs = chance.choice(("ext4", "ext4", "xfs", "none" if form != "single" else "ext4"))
    count = 1 if form == "single" else chance.choice((2, 2, 3))
    mib = 64 if fs != "xfs" else 700 // (1 if form != "md-raid0" else count)
    disks = [f"d{number}" for number in range(1, count + 1)]
    layout = [
        "[[volume]]", 'name = "data"', f'stripe = "{form}"', f'filesystem = "{fs}"', 'wait = "1s"',
        *(['mount = "/mnt/data"'] if fs != "none" else []),
        *(['on_loss = "recreate"'] if chance.random() < 0.2 else []),
        *(['on_short = "accept"'] if chance.random() < 0.2 else []),
        # All of it is read, so that what is missed is a fault and not chance.
        "", "[scan]", 'time = "10s"',
    ]  # fmt: skip
    deeds: list[Deed] = []
    for _ in range(chance.randint(2, 6)):
        deeds += _some(chance, _Setup(form, fs, disks, mib))
    return {
        "seed": seed,
        "layout": "\n".join(layout) + "\n",
        "disks": dict.fromkeys(disks, f"{mib}MiB"),
        "deeds": [*deeds, {"boot": True}],
    }


# What is done, and how often.
_DEEDS = {
    "boot": 4, "reboot": 4, "fails": 7, "killed": 5, "look": 1, "put": 3, "shape": 2, "archive": 1,
    "inside": 4, "copy": 1, "zap": 1, "blank": 1, "pull": 1, "in use": 1, "by hand": 2, "file": 2,
    "other machine": 0.5, "erase": 2,
}  # fmt: skip
# What somebody does to disks that are half made, or that a plan was just made for.
_MEDDLING = {"put": 2, "shape": 2, "archive": 1, "inside": 6, "copy": 1, "zap": 1, "by hand": 1}


@dataclass(frozen=True, slots=True)
class _Setup:
    """What a history is about: a ``form`` of stripe with filesystem ``fs`` on ``disks``."""

    form: str
    fs: str
    disks: Sequence[str]
    mib: int


def _some(chance: random.Random, setup: _Setup, among: Mapping[str, float] = _DEEDS) -> list[Deed]:
    form, fs, disks, mib = setup.form, setup.fs, setup.disks, setup.mib
    disk = chance.choice(disks)
    node = _NODES.get(form, f"{{{disks[0]}}}")

    def meddling() -> list[Deed]:
        return _some(chance, setup, _MEDDLING) if chance.random() < 0.5 else []

    match chance.choices(list(among), list(among.values()))[0]:
        case "boot":
            return [{"boot": True}]
        case "reboot":
            return [{"release": True}, {"boot": True}]
        case "fails":
            mkfs = () if fs == "none" else (f"mkfs.{fs}", "mount")
            tool = chance.choice((*_TOOLS[form], *mkfs, *mkfs))
            folder = "/usr/bin" if tool == "mount" else "/usr/sbin"
            code = "exit 1" if chance.random() < 0.5 else f'{folder}/{tool} "$@"; exit 1'
            fake = f"/usr/local/sbin/{tool}"
            write = f"printf '#!/bin/sh\\n{code}\\n' > {fake}; chmod 755 {fake}"
            after = [{"release": True}] if chance.random() < 0.3 else []
            return [_run(write), {"boot": True}, _run(f"rm {fake}"), *meddling(), *after]
        case "killed":
            after = [{"release": True}] if chance.random() < 0.5 else []
            killed = {"boot_killed": round(chance.uniform(0.05, 3), 2)}
            return [killed, *meddling(), *after]
        case "look":
            return [{"plan": {}}]
        case "in use":
            user = chance.choice(_USERS)
            return [_run(user[0].replace("DISK", f"{{{disk}}}")), {"boot": True},
                    _run(user[1].replace("DISK", f"{{{disk}}}"))]  # fmt: skip
        case "put":
            at = chance.choice((*_PLACES, chance.randrange(mib * MIB)))
            return [{"put": {disk: at}}]
        case "shape":
            # An empty physical volume is what a vgcreate that was killed leaves, too.
            ours = {"lvm-pv"} if form == "lvm-stripe" else set()
            return [{"shape": {disk: chance.choice(sorted(SHAPES.keys() - ours))}}]
        case "archive":
            return [_run(f"tar cf {{{disk}}} -C /etc passwd group fstab 2>/dev/null; sync")]
        case "inside":
            at = chance.choice((*_PLACES[:-2], chance.randrange(mib * MIB // 2)))
            text = chance.choice(("x", "LUKS\\272\\276", "SWAPSPACE2", "%65536s"))
            into = f"dd of={node} bs=1 seek={at} conv=notrunc status=none"
            if chance.random() < 0.2:
                return [_run(f"test -b {node} && mkfs.ext4 -q -F {node}; sync")]
            return [_run(f'test -b {node} && printf "{text}" | {into}; sync')]
        case "copy":
            other = chance.choice(disks)
            return [_run(f"dd if={{{other}}} of={{{disk}}} bs=1M status=none; sync")]
        case "zap":
            size = chance.choice((1, 128, 256, 1280))
            return [_run(f"dd if=/dev/zero of={{{disk}}} bs=4096 count={size} status=none; sync")]
        case "blank":
            return [{"release": True}, {"blank": [disk]}]
        case "pull":
            back = [{"boot": True}] if chance.random() < 0.7 else []
            return [{"release": True}, {"unplug": [disk]}, *back, {"plug": [disk]}]
        case "by hand":
            return [
                _run(
                    f"mkdir -p {_HAND}; test -b {node} && mount {node} {_HAND} 2>/dev/null"
                    f" && echo mine > {_HAND}/mine && umount {_HAND} && touch {_STORED}"
                )
            ]
        case "file":
            return [_run(f"mountpoint -q {_MOUNT} && echo mine > {_FILE} && sync; true")]
        case "other machine":
            return [{"machine_id": f"{chance.getrandbits(128):032x}"}]
        case _:
            plan = {"plan": {"erase": [f"{{{disk}.serial}}"]}}
            return [plan, *meddling(), {"apply": True}]


def _run(script: str) -> Deed:
    return {"run": ["sh", "-c", f"{script}; true"]}


# A block that was written whole by what is written "inside".
_WHOLE = hashlib.blake2b(b" " * _BLOCK, digest_size=8).digest()


class Adversary(Player):
    """A player that knows what is somebody's, and judges by that alone."""

    def __init__(self, scenario: catalogue.Scenario, disks: rack.Rack) -> None:
        super().__init__(scenario, disks)
        # What somebody wrote: by disk, the digest of each block that is not zero.
        self.theirs: dict[str, dict[int, bytes]] = {}
        # Disks of a volume that was up: what is done to them is damage to it.
        self.made: set[str] = set()
        self.damaged = False
        self.stored = False
        # Disks that a plan names, each with what was on it then.
        self._given_up: dict[str, dict[int, bytes]] = {}
        self._plan_gives_up: dict[str, dict[int, bytes]] = {}
        self._booting = False
        self._exit = 0

    def _do(self, deed: catalogue.Deed) -> None:
        self._booting = deed.verb == "boot"
        if deed.verb in {"boot", "boot_killed", "plan", "apply", "release"}:
            super()._do(deed)
            if (self._exit or deed.verb == "boot_killed") and _MOUNT.is_mount():
                # It came up, whatever was said, and the filesystem writes to it.
                self.made |= self._rack.disks.keys()
                self.theirs.clear()
            return
        before = self._blocks()
        super()._do(deed)
        after = self._blocks()
        if any(str(one) in str(deed.argument) for one in (_HAND, _FILE)):
            # What a mounted filesystem writes is known by its file; in somebody's own it is his.
            for name, theirs in self.theirs.items():
                now = after.get(name, {})
                self.theirs[name] = {at: now[at] for at in theirs if at in now}
        else:
            byte = deed.verb == "put" or " bs=1 " in str(deed.argument)
            self._follow(before, after, byte=byte)
        used = any(word in str(deed.argument) for word in ("losetup", "dmsetup", "swapon"))
        if used or deed.verb in {"unplug", "machine_id", "blank"}:
            self.damaged = True
        if deed.verb == "blank":
            for name in deed.argument:
                self.theirs.pop(name, None)
                self.made.discard(name)
            self.stored = False
        if _is_stored(else_=False) or _STORED.exists():
            self.stored = True
            _STORED.unlink(missing_ok=True)

    def _follow(
        self,
        before: Mapping[str, Mapping[int, bytes]],
        after: Mapping[str, Mapping[int, bytes]],
        *,
        byte: bool,
    ) -> None:
        """Note what changed: it is somebody's, unless a volume of ours was up there. A ``byte``, or
        some, in a block of ours is damage to that.
        """
        for name, blocks in after.items():
            old = before.get(name, {})
            changed = {at: one for at, one in blocks.items() if old.get(at) != one}
            gone = set(old) - set(blocks)
            if name in self.made:
                self.damaged |= bool(changed or gone)
                continue
            theirs = self.theirs.setdefault(name, {})
            if byte:
                changed = {
                    at: one
                    for at, one in changed.items()
                    if at not in old or at in theirs or one == _WHOLE
                }
                self.damaged = True
            # md and LVM write their first MiB in their own time, too.
            disk = self._rack.disks[name]
            front = disk.plugged and _is_held(disk.path)
            theirs.update({at: one for at, one in changed.items() if at >= _FRONT or not front})
            for at in gone:
                theirs.pop(at, None)
            self.damaged |= bool(changed or gone)

    def _blocks(self) -> dict[str, dict[int, bytes]]:
        found = {}
        for name, disk in self._rack.disks.items():
            disk.flush()
            found[name] = dict(_nonzero(disk.file, disk.size_bytes))
        return found

    @contextlib.contextmanager
    def _untouched(self, expected: Expected) -> Iterator[None]:
        yield
        now = self._blocks()
        for name, theirs in self.theirs.items():
            named = self._given_up.get(name, {})
            lost = [
                at
                for at, one in theirs.items()
                if now[name].get(at) != one and named.get(at) != one
            ]
            assert not lost, f"{name}: somebody's block at {min(lost):#x} is gone"

    def _apply(self, argument: bool, expected: Expected) -> None:
        if self._planned is None:
            return
        self._given_up, self._plan_gives_up = self._plan_gives_up, {}
        super()._apply(argument, expected)
        # Refused, it has given nothing up.
        if self._exit in {0, 1}:
            for name in self._given_up:
                self.theirs.pop(name, None)
                self.made.discard(name)
            self.stored = self.stored and not self._given_up
        self._given_up = {}

    def _judge(
        self,
        volumes: Sequence[Mapping[str, Any]],
        code: int,
        said: str,
        expected: Expected,
        commands: str = "",
    ) -> None:
        self._exit = code
        assert code in {0, 1, 3, 4}, f"exit {code}: {said}"
        assert "Traceback" not in said, said
        faked = any(Path("/usr/local/sbin").iterdir())
        reasons = "; ".join(str(one["reason"]) for one in volumes)
        assert code != 1 or faked or self.damaged, f"exit 1: {said} {reasons}"
        for one in volumes:
            assert one["decision"] != "refuse" or one["hint"], f"no way on: {one}"
        if not self.damaged and not faked and volumes:
            assert code == 0, f"exit {code} of a machine with nothing strange: {said} {reasons}"
        if code == 0 and STATE.exists():
            self._came_up({one["name"]: one["decision"] for one in volumes})
        if self.stored and _MOUNT.is_mount():
            stored = _is_stored(else_=self.damaged)
            assert stored, "the volume is up, and the file that was stored in it is gone"

    def _came_up(self, decisions: Mapping[str, str]) -> None:
        for volume in json.loads(STATE.read_text())["volumes"]:
            serials = {one["serial"] for one in volume["members"] if _MOUNT.is_mount()}
            members = {name for name, disk in self._rack.disks.items() if disk.serial in serials}
            for name in members - self._given_up.keys():
                theirs = self.theirs.get(name) if self._booting else None
                anew = decisions.get(volume["name"]) in {"create", "recreate"}
                assert not (anew and theirs), f"{name}: made anew over what somebody stored"
            self.made |= members
        for name in self.made:
            self.theirs.pop(name, None)

    def _plan(self, orders: Mapping[str, Any], expected: Expected) -> None:
        self._planned = None
        super()._plan(orders, expected)
        if self._planned is None:
            return
        serials = set(map(self._named, orders.get("erase", ())))
        self._plan_gives_up = {
            name: dict(self.theirs.get(name, {}))
            for name, disk in self._rack.disks.items()
            if disk.serial in serials
        }


def _is_stored(*, else_: bool) -> bool:
    """``else_`` is for a directory that cannot be read: it was damaged while it was mounted."""
    try:
        return _MOUNT.is_mount() and _FILE.is_file()
    except OSError:
        return else_


def _is_held(node: str) -> bool:
    return any(Path(f"/sys/block/{node.rpartition('/')[2]}/holders").iterdir())


def _nonzero(file: Path, size_bytes: int) -> Iterator[tuple[int, bytes]]:
    zero = bytes(_BLOCK)
    with file.open("rb", buffering=0) as opened:
        end = 0
        while end < size_bytes:
            try:
                start = os.lseek(opened.fileno(), end, os.SEEK_DATA) // _BLOCK * _BLOCK
            except OSError:
                return
            end = os.lseek(opened.fileno(), start, os.SEEK_HOLE)
            for at in range(start, end, _BLOCK):
                block = os.pread(opened.fileno(), _BLOCK, at)
                if block != zero[: len(block)]:
                    yield at, hashlib.blake2b(block, digest_size=8).digest()


# ------------------------------------------------------------------------------ playing


def play(history: Mapping[str, Any]) -> str:
    """What was wrong, or an empty string."""
    folder = Path("/tmp/history")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "layout.toml").write_text(history["layout"])
    (folder / "scenario.toml").write_text(scenario(history))
    player = None
    try:
        player = Adversary(catalogue.load(folder), rack.Rack(DISKS))
        player.play()
    except Exception as error:  # whatever it was, it is what was looked for
        return f"{type(error).__name__}: {error}"
    finally:
        if player is not None:
            player.clean_up()
    return ""


def scenario(history: Mapping[str, Any]) -> str:
    """The history as a scenario of the catalogue, without what must come of it."""
    lines = [f'what = "Found by chance, seed {history["seed"]}."', "", "[disks]"]
    lines += [f'{name} = {{ size = "{size}" }}' for name, size in history["disks"].items()]
    for deed in history["deeds"]:
        ((verb, argument),) = deed.items()
        lines += ["", "[[do]]", f"{verb} = {_toml(argument)}"]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def shorter(history: dict[str, Any], problem: str) -> dict[str, Any]:
    """The same with as few deeds as still fail in the same way."""
    kind = problem.split(":", maxsplit=1)[0]
    tries = 0
    again = True
    while again:
        again = False
        for at in reversed(range(len(history["deeds"]))):
            if tries >= _TRIES:
                return history
            tries += 1
            deeds = [one for number, one in enumerate(history["deeds"]) if number != at]
            tried = {**history, "deeds": deeds}
            if deeds and play(tried).split(":")[0] == kind:
                history, again = tried, True
    return history


def main(first: int, step: int, count: int) -> None:
    must_be_guest()
    rack.load()
    load_all()
    done: dict[str, Any] = {"tried": 0, "failures": {}, "deeds": {}}
    began = time.monotonic()
    for seed in range(first, first + step * count, step):
        history = draw(seed)
        for deed in history["deeds"]:
            verb = next(iter(deed))
            done["deeds"][verb] = done["deeds"].get(verb, 0) + 1
        problem = play(history)
        done["tried"] += 1
        if problem:
            print(f"seed {seed}: {problem}", flush=True)
            short = shorter(history, problem)
            done["failures"][seed] = {
                "problem": problem,
                "scenario": scenario(short),
                "layout": short["layout"],
            }
        done["seconds"] = round(time.monotonic() - began, 1)
        RESULTS.write_text(json.dumps(done, indent=1))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
