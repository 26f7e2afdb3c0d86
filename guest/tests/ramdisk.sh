# limit: 600
# kmod/ramdisk_mq: what it refuses, what it is, and that it stores data in either mode.

if [ -f /q2c/no-module ]; then
    skip built "$(cat /q2c/no-module)"
    return 0
fi
module=/q2c/ramdisk_mq.ko

# refused NAME WORDS OPTIONS...: the module does not load, and the kernel's log says why.
refused() {
    local name=$1 words=$2
    shift 2
    dmesg -c >/dev/null
    if insmod $module "$@" 2>/dev/null; then
        rmmod ramdisk_mq
        fail "$name" "loaded with $*"
    else
        expect "$name" "$(dmesg | grep -c "$words")" -ge 1 "$*: $(dmesg | grep ramdisk_mq: | tail -n 1)"
    fi
}
refused too-many-queues 'queues=5 is refused: expected 1 to 4' queues=5
refused block-no-power 'block_size=768 is refused: expected a power of two' block_size=768
refused block-too-small 'block_size=256 is refused: expected 512 to 4096' block_size=256
refused no-depth 'depth=0 is refused' depth=0
refused too-slow 'service_ns=2000000000 is refused' service_ns=1000,2000000000
refused too-large 'size_mb=100000 .* is refused: [0-9]* MiB of memory are available' size_mb=100000
refused too-large-together 'size_mb=200 of 200 device(s) is refused' size_mb=200 devices=200
refused too-many-devices 'devices=1000 is refused' devices=1000
refused no-such-node 'home_node=1 is refused' home_node=1
refused no-such-mode 'queue_mode=rq is refused' queue_mode=rq
refused no-such-end 'irq_mode=never is refused' irq_mode=never
refused timer-without-time 'irq_mode=timer is refused without service_ns' irq_mode=timer
refused inline-with-time 'irq_mode=inline is refused with service_ns' irq_mode=inline service_ns=1000
refused bio-has-no-queues 'queues is refused with queue_mode=bio' queue_mode=bio queues=2
refused bio-has-no-time 'service_ns is refused with queue_mode=bio' queue_mode=bio service_ns=1000

# The memory that is free when nothing is kept that could be read again, in KiB. MemFree leaves out
# the pages that each CPU keeps in a list of its own, which may be tens of MiB since Linux 6.7.
memory() {
    echo 3 >/proc/sys/vm/drop_caches
    awk '$1 == "MemFree:" { free += $2 } $1 == "count:" { free += 4 * $2 } END { print free }' \
        /proc/meminfo /proc/zoneinfo
}
queue=/sys/block/rdmq0/queue

# Four jobs write blocks of 512 bytes to 128 KiB at random places, and read them back.
verified() { # NAME, WORDS
    run "$1" 0 "/tmp/$1" fio --name=v --filename=/dev/rdmq0 --direct=1 --rw=randwrite --bs=512-128k --bsrange=512-128k --size=8m \
        --offset_increment=32m --numjobs=4 --ioengine=libaio --iodepth=8 --verify=crc32c --verify_fatal=1 --group_reporting &&
        pass "$1" "$2: $(grep -c 'err= 0' "/tmp/$1") group without an error"
}

free_before=$(memory)
insmod $module size_mb=128 queues=3 poll_queues=2 depth=32
expect queues "$(ls /sys/block/rdmq0/mq | wc -l), $(cat $queue/nr_requests), $(cat $queue/io_poll)" = "5, 32, 1" \
    "hardware queues, nr_requests, io_poll; scheduler $(cat $queue/scheduler)"
expect limits "$(cat /sys/block/rdmq0/size), $(cat $queue/logical_block_size), $(cat $queue/rotational)" = "262144, 512, 0" \
    "sectors, logical block, rotational"
expect nothing-to-flush "$(cat $queue/write_cache), $(cat $queue/fua)" = "write through, 0" "a write that is complete is stored"
verified verify "blocks of 512 bytes to 128 KiB"
run torn 0 /tmp/torn /q2c/torn /dev/rdmq0 3 && pass torn "$(cat /tmp/torn)"

# The places of a pattern of 0xaa become zeros by discard and by write-zeroes, and the rest stays.
cleared() { # NAME, OPTIONS OF BLKDISCARD...
    local name=$1 aa
    shift
    tr '\0' '\252' </dev/zero | dd of=/dev/rdmq0 bs=1M count=12 oflag=direct iflag=fullblock 2>/dev/null
    run "$name" 0 "/tmp/$name" /usr/sbin/blkdiscard "$@" --offset 512 --length 10485760 /dev/rdmq0 || return
    aa=$(dd if=/dev/rdmq0 bs=1M count=12 iflag=direct 2>/dev/null | tr -dc '\252' | wc -c)
    expect "$name" "$aa" = $((2 * 1048576)) "bytes of 12 MiB that are not zero after $* of 10 MiB at 512; requests: $(cat /sys/block/rdmq0/stat)"
}
cleared discard -f
cleared write-zeroes -z

run ext4 0 /tmp/ext4 sh -c 'busybox mke2fs -F /dev/rdmq0 >/dev/null && mkdir -p /tmp/on && mount -t ext4 /dev/rdmq0 /tmp/on &&
    cp /q2c/q2c /tmp/on/ && umount /tmp/on && mount -t ext4 /dev/rdmq0 /tmp/on && cmp /q2c/q2c /tmp/on/q2c' &&
    pass ext4 "a copy is the same after a remount"
expect busy "$(rmmod ramdisk_mq 2>&1 | grep -c 'in use\|busy\|temporarily')" = 1 "rmmod of a mounted device: $(rmmod ramdisk_mq 2>&1)"
umount /tmp/on
rmmod ramdisk_mq
lost=$((free_before - $(memory)))
expect memory-comes-back $lost -lt 32768 "of 131072 KiB, $lost KiB are not free again"

# Without requests and queues: the same data, and every I/O is counted.
insmod $module size_mb=128 queue_mode=bio
expect bio-has-no-hardware-queues "$(ls /sys/block/rdmq0/mq 2>/dev/null | wc -l)" = 0 "scheduler: $(cat $queue/scheduler 2>&1)"
verified bio-verify "queue_mode=bio"
run bio-torn 0 /tmp/bio-torn /q2c/torn /dev/rdmq0 3 && pass bio-torn "$(cat /tmp/bio-torn)"
cleared bio-discard -f
cleared bio-write-zeroes -z
reads=$(awk '{ print $1 }' /sys/block/rdmq0/stat)
dd if=/dev/rdmq0 of=/dev/null bs=4k count=100 iflag=direct 2>/dev/null
expect bio-counts $(($(awk '{ print $1 }' /sys/block/rdmq0/stat) - reads)) = 100 "100 reads by dd in the device's statistics"
rmmod ramdisk_mq

# One queue begins without a scheduler. Requests end by the block layer's completion.
insmod $module size_mb=128 queues=1 irq_mode=softirq home_node=0
expect no-scheduler "$(cat $queue/scheduler | grep -c '\[none\]')" = 1 "with one hardware queue: $(cat $queue/scheduler)"
if grep -q mq-deadline $queue/scheduler; then
    echo mq-deadline >$queue/scheduler
    expect scheduler-can-be-set "$(grep -c '\[mq-deadline\]' $queue/scheduler)" = 1 "$(cat $queue/scheduler)"
fi
verified softirq-verify "irq_mode=softirq with mq-deadline"
rmmod ramdisk_mq

# Devices hold data of their own. Without copying a write is not stored.
insmod $module size_mb=16 devices=3
for n in 0 1 2; do echo "device $n" | dd of=/dev/rdmq$n conv=sync bs=512 oflag=direct 2>/dev/null; done
expect devices "$(for n in 0 1 2; do head -n 1 /dev/rdmq$n; done | tr '\n' ',')" = "device 0,device 1,device 2," "three devices"
rmmod ramdisk_mq
insmod $module size_mb=16 copy=N
echo stored | dd of=/dev/rdmq0 conv=sync bs=512 oflag=direct 2>/dev/null
expect nothing-copied "$(dd if=/dev/rdmq0 bs=512 count=1 iflag=direct 2>/dev/null | grep -c stored)" = 0 "copy=N"
rmmod ramdisk_mq

# The device is loaded and taken away under random load.
cycles=5
if [ "$LONG" = 1 ]; then cycles=100; fi
slab() { awk '$1 == "Slab:" { print $2 }' /proc/meminfo; }
cycle=0 failed= most=0
while [ $cycle -lt $cycles ] && [ -z "$failed" ]; do
    # The first cycle leaves what the kernel keeps for the next one.
    if [ $cycle = 1 ]; then free_before=$(memory) slab_before=$(slab); fi
    cycle=$((cycle + 1))
    insmod $module size_mb=32 poll_queues=1 devices=$((cycle % 3 + 1)) || failed="cycle $cycle: not loaded"
    fio --name=l --filename=/dev/rdmq0 --direct=1 --rw=randrw --bs=4k --runtime=120 --time_based --numjobs=2 --ioengine=libaio --iodepth=16 >/dev/null 2>&1 &
    # Its jobs are at work once the device has served more than what looks at a new one.
    tries=0
    until [ "$(awk '{ print $1 + $5 }' /sys/block/rdmq0/stat)" -gt 500 ] || [ $tries = 150 ]; do sleep 0.2; tries=$((tries + 1)); done
    if rmmod ramdisk_mq 2>/dev/null; then failed="cycle $cycle: taken away while fio used it"; fi
    kill $!
    wait $!
    tries=0
    until rmmod ramdisk_mq 2>/tmp/rmmod.said || [ $tries = 200 ]; do sleep 0.2; tries=$((tries + 1)); done
    if [ -e /sys/module/ramdisk_mq ]; then failed="cycle $cycle: not taken away after fio ended: $(cat /tmp/rmmod.said)"; fi
    if [ $tries -gt $most ]; then most=$tries; fi
done
expect cycles "${failed:-$cycle}" = $cycles "loaded, under random load refused to go, gone after it, in at most $((most * 2)) tenths of a second; Slab grew by $(($(slab) - slab_before)) KiB"
lost=$((free_before - $(memory)))
expect cycles-leave-no-memory $lost -lt 16384 "$lost KiB less free after $((cycle - 1)) cycles, each of which took at least 32 MiB"

# What is published of it, by `q2c reproduce`.
mkdir -p "/lib/modules/$(uname -r)/extra"
cp $module "/lib/modules/$(uname -r)/extra/"
depmod
modprobe crc32c_generic 2>/dev/null
modprobe crc32_generic 2>/dev/null
if ! modprobe f2fs 2>/tmp/modprobe && ! grep -qw f2fs /proc/filesystems; then
    skip reproduce "this kernel has no f2fs: $(cat /tmp/modprobe)"
    return 0
fi
left() { echo "$(grep -c '^ramdisk_mq ' /proc/modules) $(find /tmp -maxdepth 1 -name 'q2c-f2fs-*' | wc -l)"; }
figures=$(printf '%s\\|' mounts memory_taken page_cache_gain)size
# Each of the three claims and its comparison has a verdict.
run reproduce 0 /tmp/reproduced q2c reproduce ramdisk-verification --trials 3 --out /tmp/verified --json &&
    expect reproduce "$(grep -c '"verdict": "holds"' /tmp/reproduced)" = 6 \
        "verdicts that hold; $(grep "\"\($figures\)\": [0-9]\|\"why\"\|\"failures\"" /tmp/reproduced | tr -d '\n' | tr -s ' ')"
expect reproduce-leaves-nothing "$(left)" = "0 0" "modules, folders of mounts"
q2c reproduce ramdisk-verification --trials 100 --out /tmp/killed >/tmp/killed.lines 2>&1 &
killed=$!
tries=0
until grep -qs rdmq0 /proc/$killed/task/*/mounts || [ $tries = 600 ]; do sleep 0.1; tries=$((tries + 1)); done
kill -KILL $killed
wait $killed
after_kill=$(left)
run restore 0 /tmp/restored q2c restore &&
    expect restore "$after_kill, $(left)" = "1 1, 0 0" "modules and folders after SIGKILL, then after q2c restore: $(tail -n 2 /tmp/killed.lines) $(cat /tmp/restored)"
