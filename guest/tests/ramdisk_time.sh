# kmod/ramdisk_mq: how long requests take, by timers and by polling.

if [ -f /q2c/no-module ]; then
    skip built "$(cat /q2c/no-module)"
    return 0
fi

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

# Polled requests of a deep queue end together, and every one of them ends.
insmod /q2c/ramdisk_mq.ko size_mb=64 poll_queues=2
if kernel_at_least 5.19; then
    run polled-verify 0 /tmp/polled-verify fio --name=p --filename=/dev/rdmq0 --direct=1 --rw=randwrite --bs=4k --size=4m --offset_increment=16m --numjobs=2 \
        --ioengine=io_uring --hipri --iodepth=32 --verify=crc32c --verify_fatal=1 --group_reporting &&
        pass polled-verify "depth 32, two jobs"
fi
rmmod ramdisk_mq
