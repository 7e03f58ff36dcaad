"""An SSH server of one's own on loopback, and the client's command line for it.

As the user who measures, with a host key, a key and a configuration that live in a temporary
folder; nobody else's configuration is read and nobody else's key lets anybody in.
"""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.rig.errors import RigError
from tests.rig.ssh import Keys

_ADDRESS = "127.0.0.1"
# sshd wants this one when it runs as root (Debian's unit makes it).
_PRIVILEGE_SEPARATION = Path("/run/sshd")


class Server:
    """sshd while it is used as a context."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._keys = Keys.generate(folder / "client")
        host = Keys.generate(folder / "host")
        (folder / "authorized").write_text(self._keys.public)
        self.port = _free_port()
        self._config = folder / "sshd_config"
        self._config.write_text(
            f"ListenAddress {_ADDRESS}\nPort {self.port}\nHostKey {host.private}\n"
            f"AuthorizedKeysFile {folder / 'authorized'}\nStrictModes no\nPidFile none\n"
            "UsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n"
            "PrintMotd no\nPrintLastLog no\nUseDNS no\n"
        )
        self._made_folder = False
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
        if program is None:
            raise RigError("there is no sshd", "install openssh-server (make bench does)")
        if os.geteuid() == 0 and not _PRIVILEGE_SEPARATION.exists():
            _PRIVILEGE_SEPARATION.mkdir(mode=0o755)
            self._made_folder = True
        with (self._folder / "sshd.log").open("wb") as log:
            self._process = subprocess.Popen(
                [program, "-D", "-e", "-f", str(self._config)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        until = time.monotonic() + 10
        while not _listens(self.port):
            if time.monotonic() > until or self._process.poll() is not None:
                self.__exit__()
                raise RigError("sshd does not answer", (self._folder / "sshd.log").read_text())
            time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
        if self._made_folder:
            _PRIVILEGE_SEPARATION.rmdir()

    def client(
        self, argv: Sequence[str], environment: Mapping[str, str], *, port: int | None = None
    ) -> tuple[str, ...]:
        """The argument list that runs ``argv`` on a terminal behind SSH."""
        setting = [f"{name}={value}" for name, value in environment.items()]
        return (
            "ssh", "-F", "none", "-tt", "-p", str(port or self.port),
            "-i", str(self._keys.private), "-o", "IdentitiesOnly=yes",
            "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
            "-o", "LogLevel=ERROR", "-o", "BatchMode=yes",
            f"{getpass.getuser()}@{_ADDRESS}",
            "exec " + shlex.join(["env", *setting, *argv]),
        )  # fmt: skip


class Counter:
    """Stands between client and server, and counts the bytes that the server sends."""

    def __init__(self, port: int) -> None:
        self._to = port
        self.received_bytes = 0
        self._listener = socket.create_server((_ADDRESS, 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:
            return  # closed before anybody came
        server = socket.create_connection((_ADDRESS, self._to))
        threading.Thread(target=self._carry, args=(client, server), daemon=True).start()
        self._carry(server, client, counts=True)

    def _carry(self, here: socket.socket, there: socket.socket, *, counts: bool = False) -> None:
        try:
            while came := here.recv(1 << 16):
                if counts:
                    self.received_bytes += len(came)
                there.sendall(came)
            there.shutdown(socket.SHUT_WR)
        except OSError:
            there.close()


def _free_port() -> int:
    with socket.create_server((_ADDRESS, 0)) as taken:
        return int(taken.getsockname()[1])


def _listens(port: int) -> bool:
    try:
        socket.create_connection((_ADDRESS, port), timeout=1).close()
    except OSError:
        return False
    return True
