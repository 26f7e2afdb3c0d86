# File systems on kmod/ramdisk_mq: what is written before a remount is read back after it.

if [ -f /q2c/no-module ]; then
    skip built "$(cat /q2c/no-module)"
    return 0
fi

# Two file systems a kernel, so that all of them occur; long tests try all on each.
kinds="ext4 xfs btrfs f2fs"
if [ "$LONG" = 0 ]; then
    case $KERNEL in
        5.10) kinds="ext4 f2fs" ;;
        6.1) kinds="xfs btrfs" ;;
        6.12) kinds="btrfs ext4" ;;
        *) kinds="f2fs xfs" ;;
    esac
fi
# Older kernels do not know what today's mkfs.xfs makes by default.
xfs_options=
kernel_at_least 5.15 || xfs_options="-m bigtime=0,inobtcount=0"

made() { # KIND
    case $1 in
        ext4) /usr/sbin/mke2fs -q -t ext4 -F /dev/rdmq0 ;;
        # shellcheck disable=SC2086
        xfs) mkfs.xfs -q -f $xfs_options /dev/rdmq0 ;;
        btrfs) mkfs.btrfs -q -f /dev/rdmq0 ;;
        f2fs) mkfs.f2fs -q -f /dev/rdmq0 ;;
    esac
}

# Writes a tree of small files and a large one, and prints the sums of all.
filled() {
    mkdir -p /tmp/on/small
    cp /q2c/q2c /tmp/on/large
    for n in $(seq 200); do head -c $((n * 97)) /q2c/q2c >"/tmp/on/small/$n"; done
    sums
}
sums() { (cd /tmp/on && find . -type f | sort | xargs sha256sum); }

modprobe crc32c_generic 2>/dev/null
modprobe crc32_generic 2>/dev/null
mkdir -p /tmp/on
for kind in $kinds; do
    modprobe $kind 2>/tmp/modprobe || true
    if ! grep -qw $kind /proc/filesystems; then
        skip $kind "this kernel has no $kind: $(cat /tmp/modprobe)"
        continue
    fi
    # The smallest that mkfs.xfs makes is 300 MiB.
    insmod /q2c/ramdisk_mq.ko size_mb=320
    if run $kind 0 /tmp/made made $kind && run $kind 0 /tmp/mounted mount -t $kind /dev/rdmq0 /tmp/on; then
        filled >/tmp/before
        umount /tmp/on
        echo 3 >/proc/sys/vm/drop_caches
        run $kind 0 /tmp/mounted mount -t $kind /dev/rdmq0 /tmp/on && sums >/tmp/after && umount /tmp/on
        cmp -s /tmp/before /tmp/after
        expect $kind "$?, $(grep -c . /tmp/before)" = "0, 201" "files with the same sums after a remount; $(dmesg | grep -c "$kind.*[Ee]rror") errors in the log"
    fi
    run $kind-unloads 0 /tmp/unloads rmmod ramdisk_mq
done
