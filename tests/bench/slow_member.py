"""``python3 -m tests.bench.slow_member FOLDER``: one member of a stripe under load is delayed in a
guest; what the screens and btop show of it, and after how many seconds. The last screens of both
are written to FOLDER.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench.screens.watched import text_of
from tests.lab import guests
from tests.lab.slow_member import COLUMNS, LINES
from tests.rig.build import build


def drawn(written: bytes, folder: Path) -> str:
    """What a terminal shows after ``written``."""
    (folder / "written").write_bytes(written)
    tmux = ["tmux", "-u", "-f", "/dev/null", "-S", str(folder / "tmux")]
    size = ("-x", str(COLUMNS), "-y", str(LINES))
    show = f"cat {folder / 'written'}; sleep 60"
    subprocess.run([*tmux, "new-session", "-d", *size, show], check=True)
    try:
        subprocess.run(["sleep", "2"], check=True)
        pane = [*tmux, "capture-pane", "-p"]
        return subprocess.run(pane, check=True, capture_output=True, text=True).stdout
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)


def seconds_until(wanted: Sequence[str], came: Sequence[tuple[float, bytes]]) -> float | None:
    """When all of ``wanted`` had been written, by the clock of ``came``."""
    so_far = b""
    for at, part in came:
        so_far += part
        text = text_of(so_far)
        if all(word in text for word in wanted):
            return at
    return None


def main(kept: Path) -> int:
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="stripewright-slow-") as name:
        folder = Path(name)
        (folder / "btop").mkdir()
        (folder / "btop/btop.conf").write_text("update_ms = 1000\nuse_fstab = False\n")
        run = guests.run_guest(build().disk, folder, ["tests.lab.slow_member", str(folder)])
        if not run.results:
            print(run.console[-2000:])
            return 1
        changed_at, member = run.results["changed_at"], run.results["member"]
        for program in ("stripewright", "btop"):
            came = [
                (at - changed_at, bytes.fromhex(part))
                for who, at, part in run.results["written"]
                if who == program
            ]
            # What names the member with how far it is off.
            said = seconds_until((member, "▲"), [one for one in came if one[0] > 0])
            print(f"{program} named {member}:", "never" if said is None else f"after {said:.1f} s")
            screen = drawn(b"".join(part for _, part in came), folder)
            (kept / f"slow-member-{program}.txt").write_text(screen)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
