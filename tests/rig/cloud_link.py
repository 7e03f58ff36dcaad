"""The network of one machine in a cloud: a link on which a stand-in gives it its address, answers
for names and serves the metadata at the addresses that the cloud has. Nothing leaves it; only SSH
comes in, from this host.

:class:`CloudLink` is the host's side. The other is this module as a program, in a network namespace
of its own, in which QEMU has its tap device. Both need root.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.rig.build import TREE
from tests.rig.errors import RigError
from tests.rig.metadata import GUEST, MAC, METADATA, WIRE_SERVER, Answer, Asked, Instance, answer

_TAP = "cloud0"
_GATEWAY = "10.0.0.1"
# What is asked is kept in this file.
ASKED = "metadata.log"
# cloud-init gives a request 10 s, and an emulated machine beside others takes some of them itself.
_SLOW_SECONDS = 5.0
_GARBAGE_BYTES = 1 << 20


class CloudLink:
    """``ports`` are those of 127.0.0.1 by which the guest's are reached."""

    def __init__(self, instance: Instance, folder: Path, ports: Mapping[int, int]) -> None:
        if os.geteuid() != 0:
            raise RigError("a cloud's network needs root", "run this as root")
        listening = {
            socket.create_server(("127.0.0.1", port)): inside for port, inside in ports.items()
        }
        given = {
            "instance": asdict(instance),
            "folder": str(folder),
            "ports": {str(one.fileno()): inside for one, inside in listening.items()},
        }
        # What is in its process namespace ends with it.
        argv = ["unshare", "--net", "--pid", "--fork", "--kill-child", sys.executable]
        with (folder / "cloud-link.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*argv, "-m", "tests.rig.cloud_link", json.dumps(given)],
                cwd=TREE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                pass_fds=[one.fileno() for one in listening],
            )  # fmt: skip
        for one in listening:
            one.close()
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"ready\n":
            self.close()
            raise RigError("the cloud's network did not come up", f"see {folder}/cloud-link.log")

    def inside(self) -> list[str]:
        """What a command line begins with that runs in this network."""
        return ["nsenter", f"--net=/proc/{self._process.pid}/ns/net", "--"]

    def device(self) -> str:
        """QEMU's -netdev."""
        return f"tap,id=net,ifname={_TAP},script=no,downscript=no"

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


# ------------------------------------------------------------------------------- the inside


def main() -> None:
    given = json.loads(sys.argv[1])
    instance = Instance(**given["instance"])
    folder = Path(given["folder"])
    for words in (
        "link set lo up",
        f"tuntap add {_TAP} mode tap",
        f"address add {_GATEWAY}/24 dev {_TAP}",
        *(f"address add {one}/32 dev {_TAP}" for one in {METADATA, WIRE_SERVER, "169.254.169.253"}),
        f"link set {_TAP} up",
    ):
        subprocess.run(["ip", *words.split()], check=True)
    names = subprocess.Popen(_name_server(instance), stdin=subprocess.DEVNULL)
    if instance.mood != "absent":
        for address in (METADATA, WIRE_SERVER):
            _serve(instance, address, folder / ASKED)
    # What it refuses ends it at once.
    with suppress(subprocess.TimeoutExpired):
        raise SystemExit(names.wait(0.5))
    asyncio.run(_relay({int(fd): port for fd, port in given["ports"].items()}))


def _name_server(instance: Instance) -> list[str]:
    """dnsmasq, for addresses, too. Azure names its wire server by an option of its own; the
    metadata's routes are told as the clouds tell them.
    """
    routes = "".join(f",{one}/32,{_GATEWAY}" for one in (METADATA, WIRE_SERVER))
    return [
        "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
        "--user=root", "--pid-file=", "--dhcp-leasefile=/dev/null", f"--interface={_TAP}",
        "--bind-interfaces", f"--dhcp-range={GUEST},static,1h", "--dhcp-authoritative",
        # By the hardware address: cloud-init and networkd call themselves by different ids.
        f"--dhcp-host={MAC},id:*,{GUEST}",
        f"--dhcp-option=option:router,{_GATEWAY}",
        f"--dhcp-option=option:dns-server,{instance.name_server()}",
        f"--dhcp-option=121,0.0.0.0/0,{_GATEWAY}{routes}",
        *([f"--dhcp-option-force=245,{WIRE_SERVER}"] if instance.cloud == "azure" else []),
        f"--address=/metadata.google.internal/{METADATA if instance.cloud == 'gcp' else ''}",
    ]  # fmt: skip


def _serve(instance: Instance, address: str, log: Path) -> None:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.rfile.read(int(headers.get("content-length", 0)))
            asked = Asked(self.command, address, self.path, headers)
            given = answer(instance, asked)
            with log.open("a") as file:
                file.write(f"{given.status} {self.command} {address}{self.path}\n")
            if instance.mood == "slow":
                time.sleep(_SLOW_SECONDS)
            if instance.mood == "endless" and given.status == 200 and self.command == "GET":
                self._send_endless()
            elif instance.mood == "garbled" and given.status == 200 and self.command == "GET":
                self._send(Answer(200, os.urandom(_GARBAGE_BYTES)))
            else:
                self._send(given)

        do_GET = do_PUT = do_POST = _answer  # noqa: N815

        def _send(self, given: Answer) -> None:
            self.send_response(given.status)
            for name, value in (*given.headers, ("Content-Length", str(len(given.body)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(given.body)

        def _send_endless(self) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            chunk = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
            with suppress(OSError):
                while True:
                    self.wfile.write(chunk)

        def log_message(self, *_: object) -> None:
            """The file above has it."""

    server = ThreadingHTTPServer((address, 80), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


async def _relay(ports: Mapping[int, int]) -> None:
    async def listen(inside: int, fd: int) -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                from_guest, to_guest = await asyncio.open_connection(GUEST, inside)
            except OSError:
                writer.close()
                return
            await asyncio.gather(_copy(reader, to_guest), _copy(from_guest, writer))

        await asyncio.start_server(accept, sock=socket.socket(fileno=fd))

    for fd, inside in ports.items():
        await listen(inside, fd)
    print("ready", flush=True)
    # Until the rig is gone.
    await asyncio.to_thread(sys.stdin.buffer.read)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


if __name__ == "__main__":
    main()
