#!/bin/sh
# First program of the lab guest. Started by tests/lab/uml.py as
#   sh /mnt/checkout/tests/lab/guest_init.sh MODULES RESULTS QUEUE MODULE [ARGUMENT...]
# with /proc and the checkout (hostfs, at /mnt/checkout) mounted. Runs `python3 -m MODULE` and
# powers off; whatever happens the guest ends, so that the host never waits in vain.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
modules=$1
results=$2
queue=$3
shift 3

mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
# The disks are files in it.
mount -t tmpfs -o size=1600m tmp /tmp
mount -t tmpfs state /var/lib/stripewright 2>/dev/null || {
    mkdir -p /var/lib/stripewright
    mount -t tmpfs state /var/lib/stripewright
}
# As on the machine: it belongs to the user that root becomes before it opens the history.
chown stripewright:stripewright /var/lib/stripewright
mkdir -p /run/lock /run/results /run/queue /run/modules /usr/lib/modules
mount -t hostfs none /run/results -o "hostfs=$results"
mount -t hostfs none /run/queue -o "hostfs=$queue"
mount -t hostfs none /run/modules -o "hostfs=$modules"
mount -t tmpfs modules /usr/lib/modules
# A kernel that was given another name still takes the modules of its real one.
release=$(uname -r)
[ -d "/run/modules/$release" ] || real=$(ls /run/modules | tail -n 1)
ln -s "/run/modules/${real:-$release}" "/usr/lib/modules/$release"

# The real udev, with the image's own rules: links and labels come from it.
for daemon in /usr/lib/systemd/systemd-udevd /lib/systemd/systemd-udevd; do
    [ -x "$daemon" ] && "$daemon" --daemon && break
done
modprobe -a raid0 raid10 dm-mod sd_mod target_core_file tcm_loop
mount -t configfs none /sys/kernel/config

# The image's code, which is compiled, and the checkout's tests. The image was built of this
# checkout; to compile the code again would take a guest longer than most of its work.
cd / || exit 1
PYTHONPATH=/usr/lib/stripewright:/usr/lib/stripewright/site-packages:/mnt/checkout \
PYTHONDONTWRITEBYTECODE=1 \
    python3 -m "$@"

sync
echo o > /proc/sysrq-trigger
sleep 30
