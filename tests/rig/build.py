"""Build the appliance image, or find it built: ``python3 -m tests.rig.build [ARCH]``.

Everything that is made lies in a cache outside the tree
(``${XDG_CACHE_HOME:-~/.cache}/stripewright``). The image is kept under a hash of all
that goes into it, so that an unchanged tree is a look-up; a change to the code alone
reuses mkosi's cached operating system.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.rig import packages
from tests.rig.architecture import AMD64, ARCHITECTURES, ARM64, Architecture
from tests.rig.errors import RigError

TREE = Path(__file__).resolve().parents[2]
# What goes into the image; the hash of these names the build.
INPUTS = ("mkosi.conf", "mkosi.*", "units", "appliance", "tui", "requirements/image.txt")
KEEP_IMAGES = 3
# The root partition, to the kernel: drives are numbered as they answer.
ROOT = "PARTLABEL=stripewright-root"
# What the image is built and run with here, and what more for another processor than this one's.
_TOOLS = {
    AMD64: TREE / "tests" / "rig" / "tools" / "mkosi.conf",
    ARM64: TREE / "tests" / "rig" / "tools_arm64" / "mkosi.conf",
}
# linux/Documentation/admin-guide/binfmt-misc.rst
_BINFMT = Path("/proc/sys/fs/binfmt_misc")
# The header of a program for arm64 (elf(5)), and what of it counts.
_ARM64_MAGIC = r"\x7fELF\x02\x01\x01" + r"\x00" * 9 + r"\x02\x00\xb7\x00"
_ARM64_MASK = r"\xff" * 7 + r"\x00" + r"\xff" * 8 + r"\xfe\xff\xff\xff"
# A guest of another checkout may still read an image that is not among the newest.
_IN_USE_SECONDS = 6 * 3600


@dataclass(frozen=True, slots=True)
class Image:
    """A built image: the disk, and its kernel for the boot without firmware and initrd."""

    disk: Path
    kernel: Path
    key: str
    reused: bool
    architecture: Architecture = AMD64

    @property
    def disk_bytes(self) -> int:
        """Bytes that the image takes on this machine's disk (holes are not counted)."""
        return self.disk.stat().st_blocks * 512


def say(message: str) -> None:
    """Tell what is being done; everything that takes longer than a second says so."""
    print(f"[rig] {message}", file=sys.stderr, flush=True)


def cache_root() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "stripewright"


def input_files(tree: Path = TREE) -> list[Path]:
    """All files that go into the image, in a stable order."""
    found: set[Path] = set()
    for pattern in INPUTS:
        for top in tree.glob(pattern):
            below = top.rglob("*") if top.is_dir() else [top]
            found.update(p for p in below if p.is_symlink() or p.is_file())
    return sorted(p for p in found if "__pycache__" not in p.parts)


def content_key(tree: Path = TREE, architecture: Architecture = AMD64) -> str:
    """The hash over names, modes and contents of everything that goes into the image."""
    digest = hashlib.sha256(architecture.name.encode())
    for path in input_files(tree):
        content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        executable = os.access(path, os.X_OK) and not path.is_symlink()
        digest.update(f"{path.relative_to(tree)}\0{executable}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path``; waits for another process that holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another process is at work on {path.stem}; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def tools_tree(architecture: Architecture = AMD64) -> Path:
    """Programs of the image's own distribution: what mkosi builds with, and QEMU; for arm64 what
    that needs beside it. Made once.
    """
    cache = cache_root()
    definition = _TOOLS[architecture]
    final = cache / "tools" / hashlib.sha256(definition.read_bytes()).hexdigest()[:16]
    if final.exists():
        return final
    with locked(cache / "tools.lock"):
        if not final.exists():
            partial = final.with_suffix(".partial")
            say("making the tree of tools")
            arguments = [
                f"--directory={definition.parent}",
                f"--output-directory={partial.parent}",
                f"--output={partial.name}",
                *_shared_arguments(cache, partial.parent),
            ]
            _run_mkosi(arguments, cache / "mkosi-tools.log", packages.find_mkosi(cache))
            partial.rename(final)
    return final


def _run_foreign_programs() -> None:
    """Have this kernel run programs for arm64 in QEMU, in mkosi's sandbox too: by F it keeps the
    interpreter open. Until the next boot.
    """
    if not (_BINFMT / "register").exists():
        subprocess.run(["mount", "-t", "binfmt_misc", "binfmt_misc", str(_BINFMT)], check=False)
    known = (one.read_text(errors="replace") for one in _BINFMT.glob("qemu-aarch64*"))
    if any(re.match(r"enabled\n(.*\n)*flags: \w*F", text) for text in known):
        return
    qemu = tools_tree(ARM64) / "usr" / "bin" / "qemu-aarch64"
    try:
        (_BINFMT / "register").write_text(
            f":qemu-aarch64-rig:M::{_ARM64_MAGIC}:{_ARM64_MASK}:{qemu}:F\n"
        )
    except OSError as error:
        raise RigError(
            f"programs for arm64 cannot be run here: {error.strerror}",
            "as root, or with Debian's qemu-user-binfmt installed",
        ) from error


def _mkosi_arguments(
    cache: Path, output: Path, wheels: Path, architecture: Architecture
) -> list[str]:
    tools = tools_tree()
    build_folder = cache / "builddir"
    build_folder.mkdir(exist_ok=True)
    return [
        f"--directory={TREE}",
        f"--architecture={architecture.mkosi}",
        f"--output-directory={output}",
        f"--cache-directory={cache / 'mkosi-cache'}",
        f"--build-directory={build_folder}",
        f"--tools-tree={tools}",
        # Only what the build script reads, so that nothing else of the tree can get in.
        f"--build-sources={TREE / 'appliance'}:appliance",
        f"--build-sources={TREE / 'tui'}:tui",
        f"--build-sources={wheels}:wheels",
        # mkosi takes GRUB's modules from the image, which leaves them out (mkosi.repart).
        f"--extra-tree={tools / 'usr/lib/grub'}:/usr/lib/grub",
        *_shared_arguments(cache, output, cache / "mkosi-cache"),
    ]


def _shared_arguments(cache: Path, *needed: Path) -> list[str]:
    folders = {name: cache / name for name in ("packages", "workspace")}
    for folder in (*folders.values(), *needed):
        folder.mkdir(parents=True, exist_ok=True)
    sandbox = packages.sandbox_tree(cache)
    return [
        f"--package-cache-dir={folders['packages']}",
        f"--workspace-directory={folders['workspace']}",
        *([] if sandbox is None else [f"--sandbox-tree={sandbox}"]),
    ]


def _run_mkosi(arguments: Sequence[str], log: Path, mkosi: packages.Mkosi) -> None:
    argv = [*mkosi.argv, *arguments, "--force", "build"]
    with log.open("wb") as sink:
        process = subprocess.Popen(
            argv, cwd=TREE, env=mkosi.environment(), stdin=subprocess.DEVNULL,
            stdout=sink, stderr=subprocess.STDOUT,
        )  # fmt: skip
        began = shown = time.monotonic()
        while process.poll() is None:
            time.sleep(0.5)
            if time.monotonic() - shown >= 30:
                shown = time.monotonic()
                say(f"mkosi is at work ({shown - began:.0f} s): {_last_line(log)}")
    if process.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-25:])
        raise RigError(f"mkosi failed:\n{tail}", f"the whole log is {log}")


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n")
    return next((line.strip()[:100] for line in reversed(lines) if line.strip()), "")


def build(architecture: Architecture = AMD64) -> Image:
    """Return the image of the tree as it is now; build it if there is none yet."""
    cache = cache_root()
    key = content_key(architecture=architecture)
    images = cache / "images"
    final = images / key
    if (found := _built(final, key, architecture)) is not None:
        return found
    with locked(cache / "build.lock"):
        if (found := _built(final, key, architecture)) is not None:
            return found
        say(f"building the image (inputs {key}); the first build takes some minutes")
        began = time.monotonic()
        mkosi = packages.find_mkosi(cache)
        lock = TREE / "requirements" / "image.txt"
        wheels = packages.download_wheels(cache, lock, architecture)
        if architecture != AMD64:
            _run_foreign_programs()
        output = cache / "output"
        arguments = _mkosi_arguments(cache, output, wheels, architecture)
        _run_mkosi(arguments, cache / "mkosi.log", mkosi)
        _keep(output, final)
        image = _image(final, key, architecture, reused=False)
        forget_old(images, KEEP_IMAGES, unused_seconds=_IN_USE_SECONDS)
        say(f"built in {time.monotonic() - began:.0f} s")
        return image


def _built(final: Path, key: str, architecture: Architecture) -> Image | None:
    """The image, if an earlier build or another process's made it."""
    if not (final / "stripewright.raw").exists():
        return None
    os.utime(final)
    return _image(final, key, architecture, reused=True)


def _keep(output: Path, final: Path) -> None:
    """Move what was built to its place; free blocks of the disk become holes."""
    partial = final.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    disk = output / "stripewright.raw"
    subprocess.run(["cp", "--sparse=always", str(disk), str(partial / disk.name)], check=True)
    disk.unlink()
    shutil.copy(output / "stripewright.vmlinuz", partial)
    partial.rename(final)


def _image(folder: Path, key: str, architecture: Architecture, *, reused: bool) -> Image:
    disk, kernel = folder / "stripewright.raw", folder / "stripewright.vmlinuz"
    return Image(disk, kernel, key, reused, architecture)


def forget_old(folder: Path, keep: int, *, unused_seconds: float = 0) -> None:
    """Remove all folders in ``folder`` but the newest, and those used within ``unused_seconds``."""
    folders = [one for one in folder.iterdir() if one.is_dir()]
    for one in sorted(folders, key=lambda each: each.stat().st_mtime, reverse=True)[keep:]:
        if time.time() - one.stat().st_mtime >= unused_seconds:
            shutil.rmtree(one)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("architecture", choices=ARCHITECTURES, nargs="?", default=AMD64.name)
    try:
        image = build(ARCHITECTURES[options.parse_args().architecture])
    except RigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"image:  {image.disk}{' (unchanged)' if image.reused else ''}")
    print(f"kernel: {image.kernel}")
    print(f"size:   {image.disk_bytes / 1e6:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
