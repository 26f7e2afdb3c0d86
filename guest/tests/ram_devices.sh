# What the RAM devices of Linux can do: the table in kmod/ramdisk_mq/README.md, cell by cell.
#
# Each device is asked for: hardware queues of blk-mq; whether it stores what is written; whether a
# file system can be mounted on it; whether its I/O passes the block layer; and whether jobs that
# write to places of their own wait for each other in its code.

set_up() { # DEVICE
    case $1 in
        null_blk)
            # Some kernels name the device after its folder, others nullb0.
            modprobe null_blk nr_devices=0 && mkdir /sys/kernel/config/nullb/nullb0 || return 1
            for setting in size=64 submit_queues=4 memory_backed=1 power=1; do
                echo "${setting#*=}" >"/sys/kernel/config/nullb/nullb0/${setting%%=*}" || return 1
            done
            device=nullb0 ;;
        brd) modprobe brd rd_nr=1 rd_size=65536 && device=ram0 ;;
        zram) modprobe zram num_devices=1 && echo 64M >/sys/block/zram0/disksize && device=zram0 ;;
        ramdisk_mq) insmod /q2c/ramdisk_mq.ko size_mb=64 queues=4 && device=rdmq0 ;;
    esac
}
take_down() { # DEVICE
    case $1 in
        null_blk) rmdir /sys/kernel/config/nullb/nullb0 && modprobe -r null_blk ;;
        zram) echo 1 >/sys/block/zram0/reset && modprobe -r zram ;;
        *) rmmod $1 ;;
    esac
}
yes_if() { if "$@" >/tmp/yes-if 2>&1; then echo yes; else echo no; cat /tmp/yes-if >&2; fi; }

stores() { # FILE OR DEVICE
    dd if=/q2c/q2c of="$1" bs=4k count=100 conv=notrunc oflag=direct 2>/dev/null || dd if=/q2c/q2c of="$1" bs=4k count=100 conv=notrunc 2>/dev/null
    echo 1 >/proc/sys/vm/drop_caches
    dd if="$1" bs=4k count=100 2>/dev/null >/tmp/read && dd if=/q2c/q2c bs=4k count=100 2>/dev/null | cmp -s - /tmp/read
}
mountable() { /usr/sbin/mke2fs -q -t ext4 -b 4096 -F "/dev/$1" && mount -t ext4 "/dev/$1" /tmp/on && umount /tmp/on; }

# Whether requests or bios of a job are seen in the block layer's tracepoint for the device.
passes() { # FILE OR DEVICE
    echo 1 >/sys/kernel/tracing/events/block/block_bio_queue/enable
    echo >/sys/kernel/tracing/trace
    dd if=/dev/zero of="$1" bs=4k count=10 conv=notrunc,fsync 2>/dev/null
    echo 0 >/sys/kernel/tracing/events/block/block_bio_queue/enable
    grep block_bio_queue /sys/kernel/tracing/trace | grep -q ' dd-\| dd '
}

# The functions of locks and of tracing, which stand above the one that takes a lock.
LOCKS='trace_|__traceiter_|__bpf_trace_|perf_trace_|_raw_|__raw_|queued_|native_queued_|__pv_queued_'
LOCKS="$LOCKS|do_raw_|mutex_|__mutex_|rwsem_|down_|__down_|up_|percpu_|__percpu_|rt_"

# Four jobs write 256 KiB each to quarters of their own: the first that waits for a spin lock leaves no
# event and the second one does, so the time in the device has to be most of an I/O's. Sets IOS, and
# WAITS: the times that one of them waited for a lock which the device's own code took, by the stacks
# of lock:contention_begin. The function that took the lock is the first one below those of the locks
# themselves. Functions further down are only on their way: an interrupt can wait for a lock of the
# kernel while the device's code is what it interrupted. The five most frequent takers are printed.
contended() { # DEVICE, PATTERN OF ITS FUNCTIONS
    local tracing=/sys/kernel/tracing
    echo >$tracing/trace
    echo 16384 >$tracing/buffer_size_kb
    echo stacktrace >$tracing/events/lock/contention_begin/trigger
    echo 1 >$tracing/events/lock/contention_begin/enable
    IOS=$(fio --name=j --filename="$1" --direct=1 --rw=randwrite --bs=256k --size=8m --offset_increment=16m --numjobs=4 --time_based --runtime=3 \
        --ioengine=libaio --iodepth=8 --group_reporting --output-format=terse --terse-version=3 2>&1 | awk -F';' '/^3;/ { print int($47 / 256) }')
    echo 0 >$tracing/events/lock/contention_begin/enable
    echo '!stacktrace' >$tracing/events/lock/contention_begin/trigger
    WAITS=$(awk -v pattern="^ *=> ($2)" -v locks="^ *=> ($LOCKS)" '
        /<stack trace>/ { inside = 1; next }
        inside && $0 ~ locks { next }
        inside && /^ *=>/ { takers[$2]++; if ($0 ~ pattern) n++ }
        { inside = 0 }
        END { print n + 0; for (taker in takers) print takers[taker], taker >"/tmp/takers" }' $tracing/trace)
    sort -rn /tmp/takers 2>/dev/null | head -n 5
    rm -f /tmp/takers
    echo >$tracing/trace
}

# The row of a device: words for blk-mq, stores, mountable, passes; and whether jobs wait.
row() { # NAME, WANTED, PATTERN OF ITS FUNCTIONS, waits|none|told
    local name=$1 path words
    if ! set_up $name 2>/tmp/set-up; then
        skip $name "this kernel's $name cannot be set up: $(tail -n 1 /tmp/set-up)"
        return
    fi
    path=/dev/$device
    words="$(yes_if [ "$(ls /sys/block/$device/mq 2>/dev/null | wc -l)" -ge 1 ]) $(yes_if stores $path) $(yes_if mountable $device) $(yes_if passes $path)"
    expect "$name" "$words" = "$2" "hardware queues of blk-mq, stores data, mountable, passes the block layer"
    if [ -d /sys/kernel/tracing/events/lock/contention_begin ]; then
        contended $path "$3"
        echo "$name: $WAITS waits in $IOS I/Os"
        case $4 in
            waits) expect "$name-waits" "$WAITS" -gt 0 "$WAITS waits in its own code ($3), $IOS I/Os of four jobs on places of their own" ;;
            none) [ "$WAITS" = 0 ] && [ "$IOS" -gt 100 ]
                expect "$name-waits" $? = 0 "$WAITS waits in its own code ($3), $IOS I/Os of four jobs on places of their own" ;;
            told) pass "$name-waits" "$WAITS waits in its own code ($3), $IOS I/Os of four jobs on places of their own" ;;
        esac
    fi
    take_down $name
}

mkdir -p /tmp/on
modprobe configfs 2>/dev/null
mount -t configfs configfs /sys/kernel/config 2>/dev/null
row null_blk "yes yes yes yes" null_ waits
row brd "no yes yes yes" brd_ told
row zram "no yes yes yes" zram_ told
if [ -f /q2c/no-module ]; then skip ramdisk_mq "$(cat /q2c/no-module)"; else row ramdisk_mq "yes yes yes yes" "ramdisk_mq_|queue_rq|enter" none; fi

# tmpfs is no block device at all.
mount -t tmpfs -o size=96m tmpfs /tmp/on
dd if=/dev/zero of=/tmp/on/f bs=1M count=64 2>/dev/null
expect tmpfs "$(yes_if grep -q ' tmpfs$' /proc/partitions) $(yes_if stores /tmp/on/f) yes $(yes_if passes /tmp/on/f)" = "no yes yes no" \
    "hardware queues of blk-mq, stores data, mountable, passes the block layer"
umount /tmp/on
