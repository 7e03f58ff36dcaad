"""What becomes of a guest kernel that patches its own text: ``python -m tests.rig.text_patching``.

Shows why emulated machines of the rig have one processor (:func:`tests.rig.qemu.acceleration`):
with more, and a thread for each, QEMU runs text that is half patched, and the guest panics.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import tempfile
import time
from pathlib import Path

from tests.rig import tools
from tests.rig.build import build

SOURCE = Path(__file__).with_suffix(".c")
WAYS = ((2, "multi"), (2, "single"), (1, "single"))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--qemu", help="another QEMU than that of the rig")
    options.add_argument("--toggles", type=int, default=5000)
    options.add_argument("--rounds", type=int, default=5)
    given = options.parse_args()
    kernel = build().kernel
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(["gcc", "-O2", "-static", "-o", folder / "init", SOURCE], check=True)
        (folder / "initrd").write_bytes(_initrd((folder / "init").read_bytes()))
        for _ in range(given.rounds):
            for processors, thread in WAYS:
                began = time.monotonic()
                said = _boot(
                    [given.qemu] if given.qemu else tools.qemu(), kernel, folder,
                    processors=processors, thread=thread, toggles=given.toggles,
                )  # fmt: skip
                took = time.monotonic() - began
                print(f"{processors} processors, thread={thread}: {said}, {took:.0f} s", flush=True)


def _boot(
    qemu: list[str], kernel: Path, folder: Path, *, processors: int, thread: str, toggles: int
) -> str:
    argv = [
        *qemu, "-machine", "q35", "-accel", f"tcg,thread={thread}", "-cpu", "Nehalem",
        "-smp", str(processors), "-m", "512", "-display", "none", "-nodefaults", "-no-reboot",
        "-serial", "stdio", "-kernel", kernel, "-initrd", folder / "initrd",
        "-append", f"console=ttyS0 quiet panic=-1 toggles={toggles}",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            argv,
            env=tools.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=900,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "not done after 900 s"
    console = done.stdout.decode(errors="replace")
    if "DONE" in console:
        return "done"
    oops = [line.strip() for line in console.splitlines() if "Oops" in line or "RIP" in line]
    return f"panic: {' '.join(oops[:2])}" if "Kernel panic" in console else "ended early"


def _initrd(program: bytes) -> bytes:
    """A cpio archive (newc) with /init, and places to mount /proc and /dev on."""
    archive = b""
    entries = (("proc", 0o040755, b""), ("dev", 0o040755, b""), ("init", 0o100755, program))
    for inode, (name, mode, content) in enumerate((*entries, ("TRAILER!!!", 0, b"")), 1):
        spelled = name.encode() + b"\0"
        fields = (inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(spelled), 0)
        archive += b"070701" + b"".join(b"%08X" % field for field in fields)
        for part in (spelled, content):
            archive += part
            archive += bytes(-len(archive) % 4)
    return gzip.compress(archive)


if __name__ == "__main__":
    main()
