# kmod/ramdisk_mq: what it refuses, what it is, that it stores data, and how long its requests take.

if [ -f /q2c/no-module ]; then
    skip built "$(cat /q2c/no-module)"
    return 0
fi

# refused NAME OPTION WORDS: the module does not load, and the kernel's log says why.
refused() {
    dmesg -c >/dev/null
    if insmod /q2c/ramdisk_mq.ko "$2" 2>/dev/null; then
        rmmod ramdisk_mq
        fail "$1" "loaded with $2"
    else
        expect "$1" "$(dmesg | grep -c "$3")" -ge 1 "$2: $(dmesg | grep ramdisk_mq: | tail -n 1)"
    fi
}
refused too-many-queues queues=5 'queues=5 is refused: expected 1 to 4'
refused block-no-power block_size=768 'block_size=768 is refused: expected a power of two'
refused block-too-small block_size=256 'block_size=256 is refused: expected 512 to 4096'
refused no-depth depth=0 'depth=0 is refused'
refused too-slow service_ns=1000,2000000000 'service_ns=2000000000 is refused'
refused too-large size_mb=100000 'size_mb=100000 is refused: [0-9]* MiB of memory are available'

free_before=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)
insmod /q2c/ramdisk_mq.ko size_mb=128 queues=3 poll_queues=2 depth=32
expect queues "$(ls /sys/block/rdmq0/mq | wc -l), $(cat /sys/block/rdmq0/queue/nr_requests), $(cat /sys/block/rdmq0/queue/io_poll)" = "5, 32, 1" \
    "hardware queues, nr_requests, io_poll; scheduler $(cat /sys/block/rdmq0/queue/scheduler)"
expect limits "$(cat /sys/block/rdmq0/size), $(cat /sys/block/rdmq0/queue/logical_block_size), $(cat /sys/block/rdmq0/queue/rotational)" = "262144, 512, 0" \
    "sectors, logical block, rotational"
run verify 0 /tmp/verify fio --name=v --filename=/dev/rdmq0 --direct=1 --rw=randwrite --bs=512-128k --bsrange=512-128k --size=12m \
    --offset_increment=32m --numjobs=4 --ioengine=libaio --iodepth=8 --verify=crc32c --verify_fatal=1 --group_reporting &&
    pass verify "four jobs wrote and read back blocks of 512 bytes to 128 KiB: $(grep -c 'err= 0' /tmp/verify) group without an error"
run ext4 0 /tmp/ext4 sh -c 'busybox mke2fs -F /dev/rdmq0 >/dev/null && mkdir -p /tmp/on && mount -t ext4 /dev/rdmq0 /tmp/on &&
    cp /q2c/q2c /tmp/on/ && umount /tmp/on && mount -t ext4 /dev/rdmq0 /tmp/on && cmp /q2c/q2c /tmp/on/q2c' &&
    pass ext4 "a copy is the same after a remount"
expect busy "$(rmmod ramdisk_mq 2>&1 | grep -c 'in use\|busy\|temporarily')" = 1 "rmmod of a mounted device: $(rmmod ramdisk_mq 2>&1)"
umount /tmp/on
rmmod ramdisk_mq
free_after=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)
expect memory-comes-back $((free_before - free_after)) -lt 32768 "of 131072 KiB, $((free_before - free_after)) KiB are not available again"

# Requests take 1 or 5 ms, and either is as likely: 333 IOPS at most, by interrupts and by polling.
insmod /q2c/ramdisk_mq.ko size_mb=16 service_ns=1000000,5000000 poll_queues=1
by_fio rdmq0 --ioengine=libaio --iodepth=1
expect service-time "$IOS" -le 668 "by timers, $told_by_fio"
expect served "$IOS" -ge 50 "by timers, $told_by_fio"
polling="--ioengine=io_uring --hipri"
kernel_at_least 5.19 || polling="--ioengine=pvsync2 --hipri"
# shellcheck disable=SC2086
by_fio rdmq0 $polling
expect polled-service-time "$IOS" -le 668 "$told_by_fio"
expect polled "$CTX" -lt $((IOS * 3 / 4)) "polling does not wait: $told_by_fio"
# Of 50 requests in turn, 5 take 100 ms.
rmmod ramdisk_mq
insmod /q2c/ramdisk_mq.ko size_mb=16 queues=1 service_ns=100000000,0,0,0,0,0,0,0,0,0 in_turn=1 poll_queues=1
run in-turn 0 /tmp/in-turn fio --name=t --filename=/dev/rdmq0 --direct=1 --rw=randread --bs=4k --number_ios=50 --ioengine=libaio --iodepth=1 --output-format=terse --terse-version=3
slow=$(grep '^3;' /tmp/in-turn | awk -F';' '{ print int($9 / 100) }')
expect in-turn "$slow" -ge 5 "50 requests, of which each tenth takes 100 ms, took $slow times 100 ms"
# A submitter that is killed leaves a polled request behind; the device still goes away.
fio --name=k --filename=/dev/rdmq0 --direct=1 --rw=randread --bs=4k --runtime=60 --time_based --cpus_allowed=2 $polling >/dev/null 2>&1 &
sleep 1
pkill -KILL fio
wait
run unloads 0 /tmp/unloads timeout 60 rmmod ramdisk_mq && pass unloads "after SIGKILL of the program that polled"
