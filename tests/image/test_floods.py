"""An operator who means harm: floods, false entries, jobs of any mode; daemons that are killed.

Each of these succeeded on the image before there was a limit (docs/decisions/0042). The tests go on
from one another: the last one switches the machine off.
"""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Callable

import pytest

from tests.rig.errors import RigError
from tests.rig.machine import Guest
from tests.rig.ssh import Shell

# What sessions can write to, and the most that it may hold of a machine with 2 GiB.
WRITABLE = {
    "/home/operator": 512,
    "/tmp": 200,
    "/var/tmp": 100,
    "/dev/shm": 100,
    "/run/lock": 1,
    "/run/user/1000": 100,
    "/var/spool/stripewright": 16,
}
# The appliance's own interpreter path, as /usr/bin/stripewright has it.
PYTHON = """import sys
sys.path[:0] = ["/usr/lib/stripewright", "/usr/lib/stripewright/site-packages"]
"""
FILL = f"""
import json, os
found = {{}}
for place in {list(WRITABLE)}:
    of = os.statvfs(place)
    found[place] = (of.f_blocks * of.f_frsize >> 20, of.f_files)
    # As much as there is, and as many names as there are where those are few.
    try:
        with open(f"{{place}}/full", "w") as file:
            os.posix_fallocate(file.fileno(), 0, of.f_bavail * of.f_frsize - (1 << 20))
    except OSError:
        pass
    try:
        for number in range(3000):
            os.close(os.open(f"{{place}}/{{number}}", os.O_CREAT))
    except OSError:
        pass
print(json.dumps(found))
"""
EMPTY = f"""
import contextlib, os
for place in {list(WRITABLE)}:
    for name in ("full", *map(str, range(3000))):
        with contextlib.suppress(OSError):
            os.unlink(f"{{place}}/{{name}}")
"""
FORGE = """
import os
from systemd import journal
journal.send(
    "forged: by send", MESSAGE_ID="b02db3aeae6c501eb08551e0a91c2d7c", PRIORITY="3",
    SYSLOG_IDENTIFIER="stripewright", UNIT="stripewright-assemble.service", OBJECT_PID="1",
    _SYSTEMD_UNIT="stripewright-assemble.service", _UID="0", STRIPEWRIGHT_VOLUME="scratch",
)
for number in range(60):
    journal.send("flood", BLOB=os.urandom(1 << 20))
print("sent")
"""
# So many connections are held that say no more than that they will say who they are.
HALF_OPEN = """
import socket, sys, time
most, until, held = int(sys.argv[1]), time.time() + float(sys.argv[2]), []
while time.time() < until:
    while len(held) < most:
        held.append(socket.socket(socket.AF_UNIX))
        held[-1].setblocking(False)
        try:
            held[-1].connect("/run/dbus/system_bus_socket")
            held[-1].send(b"\\0AUTH\\r\\n")
        except OSError:
            held.pop()
            break
    time.sleep(0.5)
    for one in held[:]:
        try:
            gone = not one.recv(64)
        except BlockingIOError:
            gone = False
        except OSError:
            gone = True
        if gone:
            held.remove(one)
"""
# The D-Bus specification in as few lines as there can be.
BUS = """
import os, re, socket, struct
def message(kind, serial, *fields, body=b""):
    block = b""
    for code, type, text in fields:
        block += bytes(-len(block) % 8) + bytes((code, 1)) + type + bytes(1)
        if type == b"g":
            block += bytes((len(text),)) + text + bytes(1)
        else:
            block += struct.pack("<I", len(text)) + text + bytes(1)
    whole = struct.pack("<4BIII", ord("l"), kind, 1, 1, len(body), serial, len(block)) + block
    return whole + bytes(-len(whole) % 8) + body
name = b"org.freedesktop.DBus"
def connected():
    bus = socket.socket(socket.AF_UNIX)
    bus.settimeout(2)
    bus.connect("/run/dbus/system_bus_socket")
    bus.send(bytes(1) + b"AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\\r\\n")
    assert bus.recv(64).startswith(b"OK")
    bus.send(b"BEGIN\\r\\n")
    hello = (1, b"o", b"/"), (2, b"s", name), (3, b"s", b"Hello"), (6, b"s", name)
    bus.send(message(1, 1, *hello))
    # The reply has the name of this connection; where there are too many it is an error.
    own = re.search(rb":1[.][0-9]+", bus.recv(4096))
    assert own
    return bus, own[0]
"""
UNREAD = f"""{BUS}
held = []
for number in range(4):
    bus, own = connected()
    held.append(bus)
    to = (1, b"o", b"/"), (2, b"s", b"x.x"), (3, b"s", b"X"), (6, b"s", own), (8, b"g", b"ay")
    try:
        for serial in range(2, 130):
            body = struct.pack("<I", 500000) + bytes(500000)
            bus.sendall(message(4, serial, *to, body=body))
    except OSError:
        pass
"""
CONNECTED = f"""{BUS}
held = []
try:
    while True:
        held.append(connected())
except (AssertionError, OSError):
    pass
print(len(held))
"""
# One connection, and 3,000 calls that the policy of the bus refuses.
REFUSED = f"""{BUS}
bus, own = connected()
systemd = (6, b"s", b"org.freedesktop.systemd1")
refused = (1, b"o", b"/"), (2, b"s", b"x.x"), (3, b"s", b"X"), systemd
for serial in range(2, 3002):
    bus.send(message(1, serial, *refused))
# Answered after all that came before.
bus.send(message(1, 3002, (1, b"o", b"/"), (2, b"s", name), (3, b"s", b"GetId"), (6, b"s", name)))
"""
# More than systemd takes of a notification; each such datagram was a warning of its own.
NOTIFY = """
import os, socket
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
for number in range(3000):
    try:
        notify.sendto(bytes(8000), "/run/systemd/notify")
    except OSError:
        break
"""
# Each connection is a process of root's.
CONNECT = """
import socket
for number in range(300):
    try:
        socket.socket(socket.AF_UNIX).connect("/run/systemd/io.systemd.Credentials")
    except OSError:
        break
"""
# D-Bus, the sessions' journal, who is who, names and networks; those of systemd that log nothing.
SOCKETS = {
    "/run/dbus/system_bus_socket",
    *(f"/run/systemd/journal{of}/{name}" for of in ("", ".operators")
      for name in ("dev-log", "socket", "stdout")),
    *(f"/run/systemd/{name}" for name in (
        "io.systemd.Hostname", "io.systemd.ManagedOOM", "netif/io.systemd.Network",
        "resolve/io.systemd.Resolve", "resolve/io.systemd.Resolve.Monitor",
        "userdb/io.systemd.DynamicUser")),
}  # fmt: skip
# What has no other bound than one for the whole kernel, or for all that share a namespace.
TAKE = """
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
while libc.semget(0, 1, 0o600) >= 0: pass
while libc.msgget(0, 0o600) >= 0: pass
while libc.shmget(0, 4096, 0o600) >= 0: pass
queues = 0
while libc.mq_open(b"/%d" % queues, os.O_CREAT | os.O_RDWR, 0o600, None) >= 0: queues += 1
for number in range(64):
    libc.syscall(206, 4096, ctypes.byref(ctypes.c_ulong(0)))  # io_setup
print("all", flush=True)
time.sleep(30)
"""
STILL_THERE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
made = (
    libc.semget(0, 1, 0o600), libc.msgget(0, 0o600), libc.shmget(0, 4096, 0o600),
    libc.mq_open(b"/root", os.O_CREAT | os.O_RDWR, 0o600, None),
    libc.syscall(206, 1024, ctypes.byref(ctypes.c_ulong(0))),
)
libc.semctl(made[0], 0, 0)
libc.msgctl(made[1], 0, None)
libc.shmctl(made[2], 0, None)
libc.mq_unlink(b"/root")
print(*(one >= 0 for one in made))
"""
ACCEPTANCE = "stripewright-acceptance.service"
WORKLOAD = """[Unit]
Requires=stripewright.target
After=stripewright.target

[Service]
ExecStart=/usr/bin/sleep infinity
"""
DAEMONS = (
    "dbus", "polkit", "systemd-logind", "systemd-journald", "systemd-udevd", "systemd-resolved",
    "systemd-networkd", "systemd-timesyncd", "ssh", "stripewright-watch",
)  # fmt: skip
WANTED_SECONDS = 60


@pytest.fixture(scope="module")
def guest(striped_machine: Guest) -> Guest:
    return striped_machine


def python(shell: Shell, script: str) -> str:
    return shell.run(["python3", "-c", PYTHON + script]).stdout


def test_nothing_of_the_root_file_system_is_an_operators(operator: Shell) -> None:
    found = operator.sh(
        r"find / -xdev -fstype ext4 -writable \( -type d -o -type f \) 2>/dev/null; true"
    )
    assert found.split() == []


def test_what_sessions_fill_is_in_nobody_elses_way(guest: Guest, operator: Shell) -> None:
    free = "df --output=avail -B1M / | tail -1; df --output=iavail / | tail -1"
    blocks, inodes = map(int, guest.root.sh(free).split())
    sizes = python(operator, FILL)
    for place, (mib, names) in json.loads(sizes).items():
        assert mib <= WRITABLE[place], place
        assert names <= 64 * 1024, place
    left_blocks, left_inodes = map(int, guest.root.sh(free).split())
    assert left_inodes > inodes - 100
    # Home is on the root file system, in a file of a fixed size.
    assert left_blocks > blocks - 600
    # Services have their temporary directories, LVM its locks, the history its room.
    guest.root.sh("systemctl restart systemd-timesyncd systemd-logind && touch /run/lock/x /tmp/x")
    guest.root.sh("systemctl start stripewright-drift.service")
    assert guest.operator.sh("stripewright status --json").startswith("{")
    python(operator, EMPTY)
    assert "nothing" in operator.sh("stripewright plan")


def test_memory_and_processes_of_sessions_are_bounded_together(
    guest: Guest, operator: Shell
) -> None:
    group = "/sys/fs/cgroup/user.slice"
    total = int(guest.root.sh("free -b").split()[7])
    (most,) = guest.root.sh(f"cat {group}/memory.max").split()
    assert int(most) <= total // 2
    # What they can leave in memory when they are gone lets the next one in.
    assert sum(WRITABLE.values()) - WRITABLE["/home/operator"] < (int(most) >> 20) * 2 / 3
    # In a session of its own: systemd ends the session whose program was killed for want of memory.
    hungry = guest.operator.run(
        ["python3", "-c", f"x = bytearray({most}); print(len(x))"], check=False
    )
    assert hungry.returncode in (-9, 137, 255), hungry
    assert int(guest.root.sh(f"cat {group}/pids.max")) == 1024
    # Root's logins are in it, too.
    assert int(guest.root.sh(f"cat {group}/user-1000.slice/pids.max")) == 512
    # What is in no account ends with sessions, before anything else.
    score = "/proc/self/oom_score_adj"
    assert operator.sh(f"(echo 0 >{score}) 2>/dev/null; cat {score}").split() == ["1000"]
    assert guest.root.sh("cat /proc/$(systemctl show ssh -P MainPID)/oom_score_adj") == "-1000\n"
    for name in ("assemble", "watch"):
        assert guest.root.sh(f"systemctl is-active stripewright-{name}").strip() == "active"


def test_an_operator_who_stops_the_acceptance_stops_no_workload(
    guest: Guest, operator: Shell
) -> None:
    root, target = guest.root, "stripewright.target"
    root.sh(f"cd /run/systemd/system && cat > workload.service <<'END'\n{WORKLOAD}END")
    root.sh(
        f"cd /run/systemd/system && mkdir {ACCEPTANCE}.d && cat > {ACCEPTANCE}.d/rig.conf <<'END'\n"
        "[Service]\nExecStart=\nExecStart=/usr/bin/test ! -e /run/rig-slow\nEND"
    )
    root.sh("systemctl daemon-reload && systemctl start workload")
    operator.sh("printf '[acceptance]\nrequired = true\n' >wanted.toml")
    operator.sh("stripewright schedule set --file wanted.toml")
    wait_until(
        "it passed", lambda: root.sh(f"systemctl is-active {ACCEPTANCE}; true") == "active\n"
    )
    operator.sh(f"systemctl stop {ACCEPTANCE}")
    assert root.sh(f"systemctl is-active {target} workload; true").split() == ["active"] * 2
    # It is what the workload waits for all the same.
    root.sh("touch /run/rig-slow && systemctl stop workload stripewright.target")
    assert root.run(["systemctl", "start", "workload"], check=False).returncode != 0
    assert "inactive" in root.sh(f"systemctl is-active {target}; true")
    root.sh("rm /run/rig-slow && systemctl start workload")
    assert root.sh(f"systemctl is-active {target} {ACCEPTANCE}").split() == ["active"] * 2
    root.sh(
        f"systemctl stop workload {ACCEPTANCE} && rm -r /etc/stripewright/schedule.toml"
        f" /run/systemd/system/workload.service /run/systemd/system/{ACCEPTANCE}.d"
        " && systemctl daemon-reload && systemctl restart stripewright-schedule"
    )


def test_starts_are_counted_and_so_are_stops(guest: Guest, operator: Shell) -> None:
    asked = ["stripewright-drift.service"] * 60
    stopped = ["stripewright-bench@smoke.service"] * 60
    for jobs in (["start", *asked], ["stop", *stopped]):
        # Starts have used up nothing that stops need.
        done = operator.run(["systemctl", "--no-block", *jobs], check=False)
        assert done.returncode != 0
        refused = done.stderr.count("Access denied")
        assert 30 <= refused <= 40, done.stderr[-500:]
    # Root counts for itself.
    guest.root.run(["systemctl", "start", "--no-block", *asked])
    # Seconds later it may start again.
    time.sleep(7)
    operator.run(["systemctl", "start", "--no-block", asked[0]])


def test_silent_connections_to_d_bus_delay_neither_root_nor_logins(
    guest: Guest, operator: Shell
) -> None:
    """400 had root's calls time out, and a login last 90 s and end up outside of its slice."""
    script = shlex.quote(HALF_OPEN)
    operator.sh(f"python3 -c {script} 400 45 >/dev/null 2>&1 & exit 0")
    wait_until(
        "the connections are made",
        lambda: int(guest.root.sh("grep -c /run/dbus/system_bus_socket /proc/net/unix")) > 400,
    )
    began = time.monotonic()
    guest.root.run(
        ["busctl", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
         "org.freedesktop.DBus.Peer", "Ping"],
    )  # fmt: skip
    assert "/session-" in guest.operator.sh("cat /proc/self/cgroup")
    assert time.monotonic() - began < WANTED_SECONDS / 4
    guest.root.sh("pkill -u operator python3")


def test_what_d_bus_keeps_for_others_is_bounded(guest: Guest, operator: Shell) -> None:
    """Signals to oneself that nothing reads: D-Bus kept 127 MiB for each connection."""
    python(operator, UNREAD)
    peak = int(guest.root.sh("systemctl show dbus --property=MemoryPeak --value"))
    assert peak < 64 << 20
    # Connections of one user are few, so that this is the most there can be.
    held = python(operator, CONNECTED)
    assert int(held) <= 64


def test_logins_are_sessions_again_when_d_bus_alone_was_killed(guest: Guest) -> None:
    """logind ran on, and was on no bus: each login took 25 s and was none of its sessions."""
    guest.root.sh("systemctl kill --signal=KILL dbus.service")
    time.sleep(3)
    began = time.monotonic()
    assert "/session-" in guest.operator.sh("cat /proc/self/cgroup")
    assert time.monotonic() - began < WANTED_SECONDS / 4


def test_what_d_bus_refuses_does_not_fill_the_journal(guest: Guest, operator: Shell) -> None:
    entries = "journalctl --sync; journalctl -q --no-pager -b -u dbus -o cat | grep -c Rejected"
    python(operator, REFUSED)
    # journald multiplies a unit's limit by up to six where there is room.
    wait_until("something is logged", lambda: int(guest.root.sh(f"{entries}; true")) > 0)
    assert int(guest.root.sh(entries)) < 1300


def test_no_other_socket_has_a_daemon_write_to_the_journal(guest: Guest, operator: Shell) -> None:
    entries = "journalctl --sync; journalctl -q --no-pager -b -o cat | grep -cE '{}'; true"
    python(operator, NOTIFY)
    # systemd starts a process for each connection, and says so, or that there are too many.
    python(operator, CONNECT)
    said = guest.root.sh(entries.format("truncated payload|systemd-creds"))
    assert int(said) < 10
    # What sessions can write to is known: another socket is looked at by a person first.
    found = operator.sh("find /run -type s -writable 2>/dev/null; true")
    assert set(found.split()) == SOCKETS


def test_what_the_kernel_has_once_is_not_an_operators_to_take(
    guest: Guest, operator: Shell
) -> None:
    script = shlex.quote(TAKE)
    operator.sh(f"python3 -c {script} >taken 2>&1 & exit 0")
    wait_until("all is taken", lambda: operator.sh("cat taken") == "all\n")
    assert python(guest.root, STILL_THERE).split() == ["True"] * 5
    guest.root.sh("pkill -u operator python3")
    # What a session leaves in memory ends with it, or is small.
    left = operator.sh("cat /proc/sysvipc/shm; tail -n +2 /proc/sysvipc/msg | wc -l")
    assert "4096" not in left
    assert int(left.split()[-1]) < 100


@pytest.mark.parametrize("socket", ["AF_NETLINK, SOCK_RAW, 2", "AF_INET, SOCK_DGRAM, 1"])
def test_no_session_has_sockets_whose_memory_is_counted_nowhere(
    operator: Shell, socket: str
) -> None:
    script = f"from socket import *; socket({socket})"
    refused = operator.run(["python3", "-c", script], check=False)
    assert refused.returncode != 0


def test_sessions_have_a_journal_of_their_own(guest: Guest, operator: Shell) -> None:
    first = "journalctl -q -b --no-pager -n 1 -o cat _PID=1"
    before = guest.root.sh("ls /var/log/journal/*/system*.journal | grep -v operators")
    operator.sh("logger -t stripewright 'forged: by logger'")
    said = python(operator, FORGE)
    assert said == "sent\n"
    guest.root.sh("journalctl --sync; journalctl --namespace=operators --sync; true")
    assert "forged" not in guest.root.sh("journalctl -q --no-pager -b -t stripewright")
    # They are where they belong, with what the bound of that journal has left of the flood.
    theirs = "journalctl -q --no-pager -b --namespace=operators -o cat"
    assert guest.root.sh(f"{theirs} | tail -1").startswith("flood")
    assert int(guest.root.sh("du -sm /var/log/journal/*.operators | cut -f1")) <= 40
    assert guest.root.sh("ls /var/log/journal/*/system*.journal | grep -v operators") == before
    assert guest.root.sh(first)


def test_false_entries_are_not_believed_in_the_systems_journal_either(guest: Guest) -> None:
    """As they would be written by who gets at its socket: with the operator's user id."""
    as_operator = "setpriv --reuid=operator --regid=operator --init-groups"
    guest.root.sh(
        f"systemd-run --quiet --wait --collect {as_operator} logger -t stripewright 'forged: again'"
    )
    guest.root.sh("logger -t stripewright 'said by root'; journalctl --sync")
    assert "forged: again" in guest.root.sh("journalctl -q --no-pager -b -t stripewright")
    shown = python(
        guest.root,
        "from tui.sources.journal_reader import SystemJournal\n"
        "for entry in SystemJournal().latest(2000): print(entry.message)",
    )
    assert "forged" not in shown
    assert "said by root" in shown
    assert re.search(r"scratch", shown)


def test_nothing_else_is_open_to_operators(guest: Guest, operator: Shell) -> None:
    for refused in (
        ["loginctl", "enable-linger"],
        ["systemd-inhibit", "--what=shutdown", "--mode=delay", "true"],
        ["systemd-inhibit", "--what=idle", "--mode=block", "true"],
        ["systemd-run", "--user", "sleep", "600"],
        ["systemctl", "start", "--job-mode=isolate", "stripewright-drift.service"],
        ["systemctl", "poweroff"],
        ["hostnamectl", "set-hostname", "mine"],
    ):
        assert operator.run(refused, check=False).returncode != 0, refused
    assert guest.root.sh("ls /var/lib/systemd/linger 2>/dev/null; true") == ""
    assert "user@1000" not in guest.root.sh("systemctl list-units --no-legend 'user@*'")
    # What a session leaves running ends with it.
    guest.operator.sh("setsid sleep 7654321 >/dev/null 2>&1 </dev/null & exit 0")
    wait_until("sleep has ended", lambda: not guest.root.sh("pgrep -x -u operator sleep; true"))


def test_timers_that_an_operators_job_stopped_are_started_again(
    guest: Guest, operator: Shell
) -> None:
    units = "stripewright-bench@smoke.timer stripewright-confirm.path"
    operator.run(
        ["systemctl", "stop", "--job-mode=triggering", "stripewright-bench@smoke.service",
         "stripewright-confirm.service"],
    )  # fmt: skip
    assert "inactive" in operator.sh(f"systemctl is-active {units}; true")
    guest.root.run(["systemctl", "start", "stripewright-look.service"])
    assert operator.sh(f"systemctl is-active {units}").split() == ["active", "active"]
    said = guest.root.sh("journalctl -q --no-pager -b -u stripewright-look.service -o cat")
    assert "stripewright-bench@smoke.timer" in said


def test_operators_can_work_again_after_every_daemon_was_killed(guest: Guest) -> None:
    before = main_processes(guest)
    for name in DAEMONS:
        # The main process alone: sessions are not killed with the listener.
        guest.root.sh(f"systemctl kill --signal=KILL --kill-whom=main {name}.service; true")
    killed = time.monotonic()

    def works() -> bool:
        try:
            done = guest.operator.run(
                ["sh", "-c", "stripewright status --json >/dev/null &&"
                 " systemctl start stripewright-drift.service && stripewright plan"],
                check=False, timeout_seconds=WANTED_SECONDS,
            )  # fmt: skip
        except RigError:
            return False
        return done.returncode == 0

    wait_until("operators can work", works)
    assert time.monotonic() - killed < WANTED_SECONDS
    wait_until("every daemon runs", lambda: all_active(guest))
    after = main_processes(guest)
    assert [name for name in DAEMONS if before[name] == after[name]] == []


def main_processes(guest: Guest) -> dict[str, str]:
    shown = guest.root.sh(f"systemctl show --property=MainPID {' '.join(DAEMONS)}").split()
    assert len(shown) == len(DAEMONS)
    return dict(zip(DAEMONS, shown, strict=True))


def all_active(guest: Guest) -> bool:
    shown = guest.root.sh(f"systemctl is-active {' '.join(DAEMONS)}; true").split()
    return shown == ["active"] * len(DAEMONS)


def wait_until(what: str, is_so: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not is_so():
        if time.monotonic() - began > WANTED_SECONDS:
            raise RigError(f"not so after {WANTED_SECONDS} s: {what}", "look at the journal")
        time.sleep(1)


def test_no_operator_has_systemd_send_what_d_bus_disconnects_it_for(operator: Shell) -> None:
    """Answers without a bound: a command line alone may have 4 MiB."""
    unit = 's "stripewright-drift.service"'
    for call in (f"GetUnitProcesses {unit}", "Dump", "DumpUnitsMatchingPatterns as 1 '*'"):
        done = operator.run(
            ["sh", "-c", "busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1"
             f" org.freedesktop.systemd1.Manager {call}"],
            check=False,
        )  # fmt: skip
        assert done.returncode != 0, call
        assert "denied" in done.stderr.lower() or "rejected" in done.stderr.lower(), done.stderr
    assert operator.sh("systemctl show -P ActiveState stripewright-drift.service")


def test_no_job_of_an_operators_refuses_a_power_off(guest: Guest, operator: Shell) -> None:
    """Last: the machine is off then."""
    operator.run(
        ["systemctl", "start", "--no-block", "--job-mode=replace-irreversibly",
         "stripewright-acceptance.service", "stripewright-drift.service"],
    )  # fmt: skip
    assert "stripewright-acceptance.service" in operator.sh("systemctl list-jobs --no-legend")
    guest.shutdown()
    assert guest.machine.carrier.unmounted_cleanly()
