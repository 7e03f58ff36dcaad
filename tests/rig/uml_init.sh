#!/bin/sh
# First program of an image in User Mode Linux: what firmware, initrd and hypervisor give to a
# machine elsewhere. Started by tests/rig/uml_machine.py as
#   sh /mnt/uml_init.sh MODULES CREDENTIALS
# with /proc mounted, and this folder (hostfs) at /mnt. Goes on as the image's own init.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# As systemd mounts it where nothing did before.
mount -t tmpfs -o mode=0755,nosuid,nodev,size=20%,nr_inodes=800k run /run
mkdir -p /run/rig-modules /run/rig-credentials /run/credentials/@initrd
# The kernel's own modules in place of those of the image's kernel.
mount -t hostfs none /run/rig-modules -o "hostfs=$1"
mount -t tmpfs modules /usr/lib/modules
ln -s "/run/rig-modules/$(uname -r)" "/usr/lib/modules/$(uname -r)"
# As an initrd hands credentials over.
chmod 0700 /run/credentials/@initrd
mount -t hostfs none /run/rig-credentials -o "hostfs=$2"
cp /run/rig-credentials/* /run/credentials/@initrd/
umount /run/rig-credentials
umount -l /mnt
exec /sbin/init
