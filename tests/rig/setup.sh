#!/bin/sh
# Installs what building, running and testing need, on Debian and Ubuntu as root or with
# sudo; elsewhere says exactly what is missing. Does nothing where all is there. `setup.sh bench`
# installs what measuring needs beside that, `setup.sh rehearsals` what stands in for a cloud,
# `setup.sh monitoring` what scrapes.
set -eu

# One line for each need: the package, then the program or file that proves it is there.
needs='
openssh-client   ssh
tmux             tmux
fio              fio
mdadm            mdadm
xfsprogs         mkfs.xfs
e2fsprogs        debugfs
dosfstools       mkfs.vfat
mtools           mcopy
dpkg             dpkg-deb
gpg              gpg
debian-archive-keyring /usr/share/keyrings/debian-archive-keyring.gpg
python3          python:new
python3-venv     python:ensurepip
python3-dev      python:header
gcc              gcc
pkg-config       pkg-config
libsystemd-dev   header:libsystemd
ca-certificates  /etc/ssl/certs/ca-certificates.crt
'

# Without root, mkosi maps a range of user ids, for which it needs a set-uid helper.
[ "$(id -u)" = 0 ] || needs="$needs
uidmap newuidmap
"

offline=
if [ "${1:-}" = bench ]; then
    needs="$needs
btop btop
openssh-server sshd
"
    # Who measures asked for the program and not for a way in: systemctl in its scripts starts none.
    offline=SYSTEMD_OFFLINE=1
elif [ "${1:-}" = rehearsals ]; then
    needs="$needs
dnsmasq-base dnsmasq
iproute2 ip
"
elif [ "${1:-}" = monitoring ]; then
    needs="$needs
prometheus promtool
prometheus-alertmanager prometheus-alertmanager
prometheus-node-exporter prometheus-node-exporter
"
    offline=SYSTEMD_OFFLINE=1
fi

# The distribution's Python first: another one is often built without optimization, and half as fast.
PATH=/usr/bin:$PATH:/usr/local/sbin:/usr/sbin:/sbin

there() {
    case $1 in
    /*) [ -e "$1" ] ;;
    python:new) python3 -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null ;;
    python:ensurepip) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
    python:header) python3 -c 'import os, sysconfig
raise SystemExit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' 2>/dev/null ;;
    header:*) pkg-config --exists "${1#header:}" 2>/dev/null ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

missing() {
    printf '%s\n' "$needs" | while read -r package proof; do
        [ -z "$package" ] || there "$proof" || printf '%s ' "$package"
    done
}

list=$(missing)
[ -n "$list" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "error: these are missing (by their Debian names): $list" >&2
    echo "hint: install them with your package manager; only Debian and Ubuntu are set up automatically" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1; then
    as_root=sudo
else
    echo "error: these packages are missing: $list" >&2
    echo "hint: run as root: apt-get install --no-install-recommends $list" >&2
    exit 1
fi

echo "[setup] installing: $list" >&2
$as_root apt-get -qq update
# shellcheck disable=SC2086 # a list of package names
$as_root env DEBIAN_FRONTEND=noninteractive $offline apt-get -qq -y install --no-install-recommends $list >&2

# Nor does the next boot.
case " $list " in
*" openssh-server "*) $as_root systemctl -q disable ssh.service ssh.socket 2>/dev/null || true ;;
*" prometheus"*)
    $as_root systemctl -q disable prometheus.service prometheus-alertmanager.service \
        prometheus-node-exporter.service 2>/dev/null || true
    ;;
esac

list=$(missing)
if [ -n "$list" ]; then
    echo "error: still missing after the installation: $list" >&2
    echo "hint: look at the messages of apt-get above; the names are packages; Python must be 3.11 or newer" >&2
    exit 1
fi
