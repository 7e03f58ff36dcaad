"""SSH into the guest, with keys that are made for one run and thrown away with it."""

from __future__ import annotations

import shlex
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.rig.errors import RigError


@dataclass(frozen=True, slots=True)
class Keys:
    """A key pair of one machine; ``private`` is the file, ``public`` the line."""

    private: Path
    public: str

    @classmethod
    def generate(cls, folder: Path) -> Keys:
        folder.mkdir(parents=True, exist_ok=True)
        private = folder / "key"
        if not private.exists():
            argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "rig", "-f", str(private)]
            subprocess.run(argv, check=True)
        return cls(private, private.with_suffix(".pub").read_text())


class Shell:
    """Programs run in the guest as one user.

    ``shared`` keeps one connection open: a handshake costs an emulated machine seconds.
    """

    def __init__(
        self, user: str, port: int, keys: Keys, folder: Path, *, shared: bool = False
    ) -> None:
        self.user = user
        self._port = port
        # A path of a socket is short by law; the folder's may not be.
        self._control = folder / f"c{port}" if shared else None
        self._options = [
            "-p", str(port), "-i", str(keys.private), "-o", "IdentitiesOnly=yes",
            # The host key is new in every machine, and the machine is on this host.
            "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
            "-o", "LogLevel=ERROR", "-o", "ConnectTimeout=60", "-o", "BatchMode=yes",
            "-o", "ServerAliveInterval=30",
        ]  # fmt: skip
        if self._control is not None:
            self._options += [
                "-o", f"ControlPath={self._control}", "-o", "ControlMaster=auto",
                "-o", "ControlPersist=600",
            ]  # fmt: skip

    def argv(self, command: Sequence[str], *, terminal: bool = False) -> list[str]:
        """The host's command line that runs ``command`` in the guest."""
        tty = ["-tt"] if terminal else []
        line = [shlex.join(command)] if command else []
        return ["ssh", *tty, *self._options, f"{self.user}@127.0.0.1", *line]

    def run(
        self, command: Sequence[str], *, check: bool = True, timeout_seconds: float = 300
    ) -> subprocess.CompletedProcess[str]:
        """Run ``command`` to its end. With ``check``, a status that is not 0 is an error."""
        try:
            done = subprocess.run(
                self.argv(command), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                errors="replace", timeout=timeout_seconds, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise RigError(
                f"{command[0]} in the guest did not end in {timeout_seconds:.0f} s",
                f"it was: {shlex.join(command)}",
            ) from error
        if check and done.returncode != 0:
            said = (done.stderr or done.stdout).strip()[-1500:]
            # pytest shows the message of an error and not its hint.
            raise RigError(
                f"{shlex.join(command)} in the guest: exit status {done.returncode}: {said}",
                f"it was: {shlex.join(command)}",
            )
        return done

    def sh(self, script: str, *, check: bool = True, timeout_seconds: float = 300) -> str:
        """Run a shell line and return what it prints."""
        return self.run(["sh", "-c", script], check=check, timeout_seconds=timeout_seconds).stdout

    def close(self) -> None:
        if self._control is not None and self._control.exists():
            subprocess.run(
                [*self.argv([])[:-1], "-O", "exit", f"{self.user}@127.0.0.1"],
                capture_output=True, check=False, timeout=30,
            )  # fmt: skip


def banner(port: int) -> bool:
    """Whether an SSH server answers on the forwarded port (QEMU always takes the call)."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.settimeout(5)
            return connection.recv(8).startswith(b"SSH-")
    except OSError:
        return False
