"""Where the build's ingredients come from: mkosi, Debian packages, Python wheels.

The host's own package sources are used, with the suite changed to the image's, so that
the build works wherever the host can install packages, behind a mirror too.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.rig.architecture import Architecture
from tests.rig.errors import RigError

SUITE = "trixie"
# From 6.17 on User Mode Linux catches system calls by seccomp, which takes it a third of the time
# that tracing takes (docs/decisions/0044).
UML_SUITE = "forky"
MINIMUM_MKOSI = 25
IMAGE_PYTHON = "3.13"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


@dataclass(frozen=True, slots=True)
class Mkosi:
    """How to start mkosi; ``python_path`` is set for one that was only unpacked."""

    argv: tuple[str, ...]
    python_path: Path | None = None

    def environment(self) -> dict[str, str]:
        """The caller's environment, with the unpacked mkosi importable."""
        environment = dict(os.environ)
        if self.python_path is not None:
            environment["PYTHONPATH"] = str(self.python_path)
        return environment


@dataclass(frozen=True, slots=True)
class Source:
    """One package source: address, suites and components."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]


def host_sources(
    etc_apt: Path = Path("/etc/apt"), codename: str | None = None, suite: str = SUITE
) -> list[Source]:
    """The Debian archives this host is configured with, moved to ``suite``, the image's.

    Empty on a host that is not Debian. Sources of others that happen to name the same
    suite are told apart by their own signing keys.
    """
    codename = codename or _debian_codename()
    if codename is None:
        return []
    moved: dict[str, Source] = {}
    for source in _read_sources(etc_apt):
        suites = tuple(
            suite + one.removeprefix(codename)
            for one in source.suites
            if one in (codename, f"{codename}-updates", f"{codename}-security")
        )
        if suites and "main" in source.components:
            known = moved.get(source.uri)
            merged = tuple(dict.fromkeys((*(known.suites if known else ()), *suites)))
            moved[source.uri] = Source(source.uri, merged, ("main",))
    return list(moved.values())


def _debian_codename() -> str | None:
    fields = dict(
        line.split("=", 1)
        for line in Path("/etc/os-release").read_text().splitlines()
        if "=" in line
    )
    if fields.get("ID", "").strip('"') != "debian":
        return None
    return fields.get("VERSION_CODENAME", "").strip('"') or None


def _read_sources(etc_apt: Path) -> Iterator[Source]:
    lists = [etc_apt / "sources.list", *sorted((etc_apt / "sources.list.d").glob("*.list"))]
    for path in lists:
        if not path.exists():
            continue
        for line in path.read_text().splitlines():
            match = re.match(r"deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+(.*)", line.strip())
            if match and _is_debian_key(match[1] or ""):
                yield Source(match[2], (match[3],), tuple(match[4].split()))
    for path in sorted((etc_apt / "sources.list.d").glob("*.sources")):
        for stanza in re.split(r"\n\s*\n", path.read_text()):
            fields = _stanza(stanza)
            if "deb" not in fields.get("types", "").split():
                continue
            if fields.get("enabled", "yes") == "no" or not _is_debian_key(
                "signed-by=" + fields["signed-by"] if "signed-by" in fields else ""
            ):
                continue
            for uri in fields.get("uris", "").split():
                suites = tuple(fields.get("suites", "").split())
                yield Source(uri, suites, tuple(fields.get("components", "").split()))


def _stanza(text: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if line[:1].isspace():
            fields[name] = fields.get(name, "") + " " + line.strip()
        elif ":" in line:
            name, value = line.split(":", 1)
            name = name.lower()
            fields[name] = value.strip()
    return fields


def _is_debian_key(options: str) -> bool:
    return "signed-by" not in options.lower() or "debian-archive" in options


def _sources_text(sources: list[Source]) -> str:
    return "\n".join(
        f"Types: deb\nURIs: {source.uri}\nSuites: {' '.join(source.suites)}\n"
        f"Components: {' '.join(source.components)}\nSigned-By: {KEYRING}\n"
        for source in sources
    )


def sandbox_tree(cache: Path) -> Path | None:
    """Files that replace mkosi's own list of archives by the host's, or ``None``.

    mkosi's list has a third archive (debug symbols) that many mirrors do not carry.
    """
    sources = host_sources()
    if not sources:
        return None
    tree = cache / "sandbox"
    shutil.rmtree(tree, ignore_errors=True)
    target = tree / "etc" / "apt" / "sources.list.d" / "mkosi.sources"
    target.parent.mkdir(parents=True)
    target.write_text(_sources_text(sources))
    settings = tree / "etc" / "apt" / "apt.conf.d" / "50host"
    settings.parent.mkdir(parents=True)
    settings.write_text(_host_acquire_settings())
    return tree


def _host_acquire_settings() -> str:
    # A host that works through a proxy, or with archives frozen at a date, says so here.
    dump = subprocess.run(
        ["apt-config", "dump"], capture_output=True, text=True, check=True
    ).stdout  # fmt: skip
    wanted = re.compile(r"Acquire::(Check-Valid-Until|Check-Date|https?::Proxy)\b.*")
    return "".join(line + "\n" for line in dump.splitlines() if wanted.match(line))


def find_mkosi(cache: Path) -> Mkosi:
    """The mkosi on PATH if it is new enough, else Debian's package, unpacked in the cache."""
    installed = shutil.which("mkosi")
    if installed and _version([installed], os.environ) >= MINIMUM_MKOSI:
        return Mkosi((installed,))
    unpacked = cache / "mkosi"
    library = unpacked / "usr" / "lib" / "python3" / "dist-packages"
    mkosi = Mkosi((sys.executable, "-m", "mkosi"), library)
    if not library.exists():
        _download(cache, "mkosi", SUITE, unpacked)
    if _version(mkosi.argv, mkosi.environment()) < MINIMUM_MKOSI:
        raise RigError(
            f"mkosi from version {MINIMUM_MKOSI} on is needed",
            f"remove {unpacked} and try again, or install a newer mkosi",
        )
    return mkosi


def _version(argv: tuple[str, ...] | list[str], environment: Mapping[str, str]) -> int:
    done = subprocess.run(
        [*argv, "--version"], env=environment, capture_output=True, text=True, check=False
    )  # fmt: skip
    match = re.search(r"(\d+)", done.stdout)
    return int(match[1]) if match and done.returncode == 0 else 0


def user_mode_linux(cache: Path) -> Path:
    """The tree of Debian's package of User Mode Linux, unpacked in the cache."""
    unpacked = cache / "uml"
    if not unpacked.exists():
        _download(cache, "user-mode-linux", UML_SUITE, unpacked)
    return unpacked


def _download(cache: Path, package: str, suite: str, unpacked: Path) -> None:
    """Unpack ``package`` of Debian's ``suite``, from the host's own archives."""
    sources = host_sources(suite=suite)
    if not sources:
        raise RigError(
            f"{package} comes from Debian {suite}, and this host has no Debian archives",
            "install it (mkosi: from your distribution, or its source repository with pipx)",
        )
    private = cache / "apt" / suite
    for folder in ("lists/partial", "archives/partial"):
        (private / folder).mkdir(parents=True, exist_ok=True)
    (private / "status").touch()
    (private / "debian.sources").write_text(_sources_text(sources))
    options = [
        f"-oDir::Etc::sourcelist={private}/debian.sources",
        "-oDir::Etc::sourceparts=/dev/null",
        f"-oDir::State::lists={private}/lists",
        f"-oDir::State::status={private}/status",
        f"-oDir::Cache={private}",
        "-oAPT::Sandbox::User=root",
        "-qq",
    ]
    print(f"[rig] downloading {package}", file=sys.stderr, flush=True)
    for command in (["update"], ["download", package]):
        _checked(["apt-get", *options, *command], private)
    archive = max(private.glob(f"{package}_*.deb"), key=lambda path: path.stat().st_mtime)
    partial = unpacked.with_name(f"{unpacked.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    _checked(["dpkg-deb", "-x", str(archive), str(partial)], private)
    partial.rename(unpacked)


def download_wheels(cache: Path, lock: Path, architecture: Architecture) -> Path:
    """The locked wheels for the image's Python, checked by hash; a folder in the cache.

    systemd-python is published as source only and comes as such.
    """
    key = hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
    folder = cache / "wheels" / f"{key}-{architecture.name}"
    if folder.exists():
        return folder
    print("[rig] downloading the locked Python packages", file=sys.stderr, flush=True)
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    argv = [
        sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes",
        "--only-binary", ":all:", "--no-binary", "systemd-python",
        "--implementation", "cp", "--python-version", IMAGE_PYTHON,
        "--requirement", str(lock), "--dest", str(partial),
    ]  # fmt: skip
    for abi in ("cp313", "abi3", "none"):
        argv += ["--abi", abi]
    for platform in ("manylinux2014", "manylinux_2_17", "manylinux_2_28"):
        argv += ["--platform", f"{platform}_{architecture.kernel}"]
    argv += ["--platform", "any"]
    _checked(argv, partial)
    partial.rename(folder)
    return folder


def _checked(argv: list[str], where: Path) -> None:
    done = subprocess.run(
        argv, cwd=where, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )  # fmt: skip
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-5:])
        raise RigError(f"{argv[0]} failed: {last}", f"it was run as: {' '.join(argv)}")
