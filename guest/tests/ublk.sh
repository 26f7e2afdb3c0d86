# limit: 400
# `q2c ramdisk`: the module's devices; by ublk data, file system, facts read back, and what happens when the server ends.

# The module by the same command. Its file is not installed here.
if [ ! -f /q2c/no-module ]; then
    dev=
    run module 0 /tmp/module q2c ramdisk create --size 64m --queues 2 --poll-queues 1 --depth 16 --bs 4k --module /q2c/ramdisk_mq.ko --json &&
        expect module "$(grep -c 'made by the module' /tmp/module), $(ls /sys/block/rdmq0/mq | wc -l), $(number /tmp/module queues), $(number /tmp/module poll_queues), $(number /tmp/module depth), $(number /tmp/module size_bytes), $(number /tmp/module block_bytes)" = \
            "1, 3, 2, 1, 16, 67108864, 4096" "said, hardware queues, and what q2c read back"
    q2c ramdisk create --size 64m --via module --module /q2c/ramdisk_mq.ko >/tmp/again 2>&1
    expect module-once "$? $(grep -c 'loaded already' /tmp/again)" = "4 1" "$(cat /tmp/again)"
    sh -c 'busybox mke2fs -F -b 4096 /dev/rdmq0 && mkdir -p /tmp/on && mount -t ext4 /dev/rdmq0 /tmp/on' >/dev/null 2>&1
    q2c ramdisk delete rdmq0 >/tmp/busy 2>&1
    expect module-busy "$? $(grep -c 'mounted at /tmp/on' /tmp/busy)" = "5 1" "$(cat /tmp/busy)"
    umount /tmp/on
    run module-delete 0 /tmp/delete q2c ramdisk delete rdmq0 &&
        expect module-delete "$(ls -d /sys/module/ramdisk_mq 2>/dev/null)" = "" "the module after the deletion"
    run module-time 0 /tmp/module q2c ramdisk create --size 64m --queues 2 --depth 16 --service 5ms,servers=32 --module /q2c/ramdisk_mq.ko --json &&
        expect module-time "$(cat /sys/module/ramdisk_mq/parameters/service_ns)" = 5000000 "its service_ns"
    q2c ramdisk delete rdmq0 2>/dev/null
    q2c ramdisk create --size 64m --via module --service 'lognormal(5ms,0.2)' --module /q2c/ramdisk_mq.ko >/tmp/drawn 2>&1
    expect module-constant-only "$? $(grep -c 'constant ones only' /tmp/drawn)" = "4 1" "$(cat /tmp/drawn)"
fi

modprobe ublk_drv 2>/dev/null
if [ ! -e /dev/ublk-control ]; then
    q2c ramdisk create --size 64m --via ublk >/tmp/ublk.out 2>&1
    expect absent $? = 4 "$(cat /tmp/ublk.out)"
    return 0
fi

# made NAME OPTIONS...: makes a device, sets $dev and $server.
made() {
    local name=$1
    shift
    q2c ramdisk create --via ublk --json "$@" >/tmp/made.json 2>/tmp/made.err || { fail "$name" "$* ended with $?: $(cat /tmp/made.err)"; return 1; }
    dev=$(sed -n 's/.*"name": "\(.*\)",/\1/p' /tmp/made.json)
    server=$(number /tmp/made.json server)
}
# The names and states that `q2c ramdisk list` has.
states() { q2c ramdisk list --json | awk -F'"' '/"name"/ { n = $4 } /"state"/ { print n "=" $4 }' | tr '\n' ' '; }
# Waits until no ublk device is left and no process of q2c.
nothing_left() { # NAME
    local tries=0
    while ls /dev/ublk[bc]* >/dev/null 2>&1 || pidof q2c >/dev/null; do
        [ $tries = 100 ] && break
        sleep 0.1
        tries=$((tries + 1))
    done
    expect "$1" "$(ls /dev/ublk[bc]* 2>/dev/null) $(pidof q2c) $(ls /var/lib/q2c/restore/*.jsonl 2>/dev/null)" = "  " \
        "devices, processes and journals left"
}

refused() { # NAME, STATUS, WORDS, OPTIONS...
    local name=$1 status=$2 words=$3
    shift 3
    q2c ramdisk create "$@" >/tmp/refused 2>&1
    expect "$name" "$? $(grep -c "$words" /tmp/refused)" = "$status 1" "$*: $(cat /tmp/refused)"
}
refused no-queues 2 'at least one hardware queue' --size 64m --queues 0
refused too-many-queues 4 'found 9 for 4 CPUs' --size 64m --queues 9
refused block-no-power 2 'power of two' --size 64m --bs 768
refused block-too-small 2 'power of two' --size 64m --bs 256
refused too-large 4 'memory that is available' --size 100g
refused no-poll-queues 4 'ublk has no poll queues' --size 64m --via ublk --poll-queues 1
refused no-module 4 'kmod/ramdisk_mq' --size 64m --via module

# Facts, data, a file system.
if made facts --size 128m --queues 3 --depth 32 --bs 4k; then
    expect facts "$(ls /sys/block/$dev/mq | wc -l), $(cat /sys/block/$dev/queue/nr_requests), $(cat /sys/block/$dev/queue/logical_block_size), $(cat /sys/block/$dev/size)" = \
        "3, 32, 4096, 262144" "queues, depth, block and sectors of $dev; scheduler $(cat /sys/block/$dev/queue/scheduler)"
    expect listed "$(number /tmp/made.json queues), $(number /tmp/made.json depth), $(number /tmp/made.json size_bytes), $(states)" = \
        "3, 32, 134217728, $dev=served " "by q2c ramdisk"
    expect pinned "$(for t in /proc/$server/task/*; do sed -n 's/Cpus_allowed_list:\t//p' $t/status; done | grep -c '^[0-9]$')" -ge 3 \
        "threads of the server that are bound to one CPU"
    run verify 0 /tmp/verify fio --name=v --filename=/dev/$dev --direct=1 --rw=randwrite --bsrange=4k-128k --size=8m \
        --offset_increment=32m --numjobs=4 --ioengine=libaio --iodepth=8 --verify=crc32c --verify_fatal=1 --group_reporting &&
        pass verify "$(grep -c 'err= 0' /tmp/verify) group without an error"
    run cleared 0 /tmp/cleared /usr/sbin/blkdiscard -f /dev/$dev &&
        expect cleared "$(dd if=/dev/$dev bs=1M iflag=direct 2>/dev/null | tr -d '\0' | wc -c)" = 0 "bytes that are not zero after a discard"
    run ext4 0 /tmp/ext4 sh -c "busybox mke2fs -F -b 4096 /dev/$dev >/dev/null && mkdir -p /tmp/on && mount -t ext4 /dev/$dev /tmp/on &&
        cp /q2c/q2c /tmp/on/ && umount /tmp/on && mount -t ext4 /dev/$dev /tmp/on && cmp /q2c/q2c /tmp/on/q2c" &&
        pass ext4 "a copy is the same after a remount"
    q2c ramdisk delete $dev >/tmp/busy 2>&1
    expect busy "$? $(grep -c 'mounted at /tmp/on' /tmp/busy)" = "5 1" "delete of a mounted device: $(cat /tmp/busy)"
    umount /tmp/on
    run delete 0 /tmp/delete q2c ramdisk delete $dev && pass delete "$(cat /tmp/delete)"
    nothing_left deleted
fi

# SIGTERM of the server deletes the device.
if made term --size 32m; then
    kill -TERM $server
    nothing_left term
fi

# Service times: one request at a time, 20 ms each, is 50 a second at most, and time means little here.
if made service --size 32m --queues 1 --service 20ms; then
    fio --name=s --filename=/dev/$dev --direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=4 --runtime=4 --time_based \
        --output-format=terse >/tmp/service 2>/dev/null
    expect service "$(awk -F';' '{ print int($8) }' /tmp/service)" -le 50 "IOPS of a device with one server of 20 ms"
    expect service-not-slow "$(awk -F';' '{ print int($8) }' /tmp/service)" -ge 30 "IOPS of the same"
    q2c ramdisk delete $dev 2>/dev/null
    nothing_left service-deleted
fi

# Times like those of a recording: half of its reads took 15 ms, the other half 45 ms. With one in
# flight, a quarter of the requests lies well within each half.
awk 'BEGIN { for (n = 0; n < 200; n++) print n % 2 ? 15 : 45 }' >/tmp/latencies.txt
if run like-import 0 /tmp/import q2c trace import --format latency-list --unit ms --op read --bs 4k --out /tmp/like.parquet /tmp/latencies.txt &&
    made like --size 32m --queues 1 --like /tmp/like.parquet; then
    fio --name=s --filename=/dev/$dev --direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=1 --runtime=8 --time_based \
        --percentile_list=25:75 --output-format=normal >/tmp/like 2>/dev/null
    tr -d ' \n' </tmp/like >/tmp/like.words
    # In microseconds, whatever fio's unit is.
    at() { sed -n 's/.*clatpercentiles(\([mun]*\)sec.*'"$1"'[.0]*th=\[\([0-9]*\)\].*/\1 \2/p' /tmp/like.words | awk '{ print $1 == "m" ? $2 * 1000 : $1 == "n" ? int($2 / 1000) : $2 }'; }
    expect like-short "$([ "$(at 25)" -ge 14000 ] && [ "$(at 25)" -lt 42000 ] && echo yes)" = yes "25th percentile: $(at 25) us"
    expect like-long "$([ "$(at 75)" -ge 44000 ] && echo yes)" = yes "75th percentile: $(at 75) us"
    q2c ramdisk delete $dev 2>/dev/null
    nothing_left like-deleted
fi

# Without --via, ublk is taken where the module is not installed, and is said.
q2c ramdisk create --size 32m --json >/tmp/made.json 2>/tmp/made.err
expect chosen "$? $(grep -c '"via": "ublk"' /tmp/made.json) $(grep -c ublk /tmp/made.err)" = "0 1 1" "$(cat /tmp/made.err)"
q2c ramdisk delete "$(sed -n 's/.*"name": "\(.*\)",/\1/p' /tmp/made.json)" 2>/dev/null
nothing_left chosen-deleted

# SIGKILL with I/O in flight: requests wait, and q2c restore deletes the device, so that they fail.
if made killed --size 32m --service 100ms,servers=4; then
    fio --name=k --filename=/dev/$dev --direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=8 --runtime=60 --time_based >/tmp/killed 2>&1 &
    fio=$!
    sleep 3
    kill -KILL $server
    sleep 1
    expect killed "$(states)" = "$dev=recoverable " "after SIGKILL"
    q2c restore >/tmp/restored 2>&1
    expect restore "$? $(grep -c 'deleted; its data are lost' /tmp/restored)" = "0 1" "$(cat /tmp/restored)"
    wait $fio
    expect fio-ends "$?" != 0 "fio's status after its device was deleted: $(grep -m 1 -i error /tmp/killed)"
    nothing_left restored
fi

# SIGKILL with writes in flight, and recovery: what was verified before and what waited is there.
if made recovered --size 64m --queues 2; then
    tr '\0' '\125' </dev/zero | dd of=/dev/$dev bs=1M count=16 seek=32 iflag=fullblock oflag=direct 2>/dev/null
    fio --name=r --filename=/dev/$dev --direct=1 --rw=randwrite --bs=4k --size=24m --ioengine=libaio --iodepth=8 \
        --verify=crc32c --verify_fatal=1 >/tmp/recovered 2>&1 &
    fio=$!
    sleep 1
    kill -KILL $server
    inflight=$(cat /sys/block/$dev/inflight | tr -s ' ')
    run recover 0 /tmp/recover q2c ramdisk create --recover $dev --json && pass recover "in flight at the kill: $inflight"
    wait $fio
    expect recovered-writes $? = 0 "fio with verify, across the kill: $(grep -m 1 -E 'err=' /tmp/recovered)"
    expect recovered-data "$(dd if=/dev/$dev bs=1M count=16 skip=32 iflag=direct 2>/dev/null | tr -dc '\125' | wc -c)" = 16777216 \
        "bytes that were written before the kill"
    q2c restore >/tmp/restored 2>&1
    expect restore-leaves-it "$? $(grep -c 'serves it now' /tmp/restored) $(states)" = "0 1 $dev=served " "$(cat /tmp/restored)"
    # Without its holder, the data are lost with the server.
    server=$(number /tmp/recover server)
    for pid in $(pidof q2c); do [ "$pid" = "$server" ] || kill -KILL "$pid"; done
    kill -KILL $server
    sleep 1
    expect lost "$(states)" = "$dev=lost " "after SIGKILL of server and holder"
    q2c ramdisk create --recover $dev >/tmp/lost 2>&1
    expect lost-is-said "$? $(grep -c 'the data are lost' /tmp/lost)" = "5 1" "$(cat /tmp/lost)"
    run lost-delete 0 /tmp/delete q2c ramdisk delete $dev && pass lost-delete "$(cat /tmp/delete)"
    q2c restore >/tmp/restored 2>&1
    nothing_left lost-deleted
fi
expect no-warnings "$(dmesg | grep -c 'WARNING:\|BUG:\|hung task')" = 0 "in the kernel's log"
