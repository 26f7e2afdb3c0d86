# limit: 300
# `q2c fs bench` on the RAM disk of kmod/ramdisk_mq, whose requests take 5 ms: which file systems
# serve one file one request at a time. The time is the device's, so that emulation changes nothing.

if [ -f /q2c/no-module ]; then
    skip built "$(cat /q2c/no-module)"
    return 0
fi

# measured NAME FS MIB OPTIONS...: the points of a file system on a new device, as CSV.
measured() {
    local name=$1 fs=$2 size=$3 status
    shift 3
    insmod /q2c/ramdisk_mq.ko size_mb=$size service_ns=5000000
    rm -rf /tmp/fs-runs
    # Busybox has a mke2fs of its own, which makes no ext4.
    PATH=/usr/sbin:$PATH q2c fs bench /dev/rdmq0 --allow-write /dev/rdmq0 --fs $fs --jobs 4 --trials 3 --seconds 1.5 --warm-up 0.5 \
        --file 1m --out /tmp/fs-runs "$@" >/tmp/fs.table 2>/tmp/fs.err
    status=$?
    expect "$name-ends" $status = 0 "$(tail -n 1 /tmp/fs.err)"
    q2c report /tmp/fs-runs/*-fs --csv >"/tmp/$name.csv" 2>/dev/null
    expect "$name-leaves" "$(grep -c rdmq0 /proc/mounts)" = 0 "mounts that others see"
    rmmod ramdisk_mq
    return $status
}

# A figure of the point with this access and level of sharing, times 100.
figure() { # NAME, ACCESS, SHARING, COLUMN
    awk -F, -v access="$2" -v sharing="$3" -v name="$4" '
        NR == 1 { for (n = 1; n <= NF; n++) at[$n] = n; next }
        $at["access"] == access && $at["sharing"] == sharing { printf "%d", 100 * $at[name] }' "/tmp/$1.csv"
}

if measured ext4 ext4 128 --rw read,append --sharing private,same; then
    alone=$(figure ext4 append same in_flight)
    expect one-at-a-time "${alone:-999}" -le 110 "100 x requests in flight of four jobs that append directly to one file"
    private=$(figure ext4 append private in_flight)
    expect appends-together "${private:-0}" -ge 300 "100 x those of four jobs that append to files of their own"
    # ext4 takes its lock shared for direct reads.
    reads=$(figure ext4 read same in_flight)
    expect reads-together "${reads:-0}" -ge 300 "100 x those of four jobs that read one block"
    expect said "$(tr -s ' \n' ' ' </tmp/fs.table | grep -c 'one at a time: ext4 direct append')" = 1 "$(grep -A 1 'one at a time' /tmp/fs.table | tr -s ' \n' ' ')"
    ratio=$(figure ext4 append same shared_to_private)
    expect ratio "${ratio:-999}" -le 50 "100 x throughput of the appends to one file over that with private files"
fi

# The smallest xfs has 300 MiB. Older kernels do not know what today's mkfs.xfs makes.
if ! kernel_at_least 6 1; then
    skip xfs "this kernel does not mount what mkfs.xfs makes by default"
elif measured xfs xfs 304 --rw read --sharing private,same; then
    for sharing in private same; do
        reads=$(figure xfs read $sharing in_flight)
        expect "xfs-$sharing" "${reads:-0}" -ge 300 "100 x requests in flight of four readers"
    done
fi
