# q2c replay on a device, by io_uring and by libaio: what the device did by its own counts, the sum
# of Q2C from the block layer, and overlapping writes in their order.

# The guest has no /var/tmp.
export TMPDIR=/tmp
# Prints the sectors that the device has read and written so far. Requests are not counted, since
# adjacent ones may be merged.
done_so_far() { awk '{ print $3, $7 }' "/sys/block/$RAW/stat"; }

# Fills the first 16 MiB with 0xaa.
filled() { tr '\0' '\252' </dev/zero | dd of="/dev/$RAW" bs=1M count=16 oflag=direct iflag=fullblock 2>/dev/null; }

# The trace has 200 reads and 100 writes, 2 ms apart. Of the writes 20 are durable. They go to
# blocks 2048 to 2147 of 4 KiB.
awk 'BEGIN {
    for (n = 0; n < 300; n++) {
        read = n % 3 != 2; block = read ? n : 2048 + int(n / 3)
        rwbs = read ? "R" : int(n / 3) % 5 == 0 ? "WFS" : "W"
        printf "259,0 %d %d %d.%09d 100 Q %s %d + 8 [x]\n", 0, 2 * n + 1, int(n / 500), n % 500 * 2000000, rwbs, block * 8
        printf "259,0 %d %d %d.%09d 100 C %s %d + 8 [0]\n", 0, 2 * n + 2, int(n / 500), n % 500 * 2000000 + 100000, rwbs, block * 8
    }
}' >/tmp/replay.txt

for engine in io_uring libaio; do
    name="replay-$engine"
    filled
    # shellcheck disable=SC2046
    set -- $(done_so_far)
    run "$name" 0 "/tmp/$name.json" q2c replay /tmp/replay.txt "/dev/$RAW" --engine $engine --allow-write "/dev/$RAW" --capture --max-lateness 1s --json --out /tmp/runs || continue
    sed -n '/^{/,$p' "/tmp/$name.json" >"/tmp/$name.result"
    # shellcheck disable=SC2046
    set -- "$@" $(done_so_far)
    expect "$name-issued" "$(number "/tmp/$name.result" issued) $(number "/tmp/$name.result" errors)" = "300 0" "requests and failures"
    expect "$name-device" "$(($4 - $2))" = 800 "the device wrote $(($4 - $2)) sectors, read $(($3 - $1))"
    # The capture may miss I/Os that the kernel did not show to it. They are counted as lost.
    seen=$(number "/tmp/$name.result" q2c_ios) lost=$(number "/tmp/$name.result" q2c_lost)
    expect "$name-captured" "$((seen + lost))" -ge 300 "$seen I/Os captured, $lost lost"
    written=$(dd if="/dev/$RAW" bs=4096 skip=2048 count=100 iflag=direct 2>/dev/null | od -An -v -tx1 -w4096 | grep -vc '^ aa aa aa aa')
    expect "$name-written" "$written" = 100 "of 100 blocks changed"
    beside=$(dd if="/dev/$RAW" bs=4096 skip=2148 count=100 iflag=direct 2>/dev/null | od -An -v -tx1 -w4096 | grep -vc '^ aa aa aa aa')
    expect "$name-beside" "$beside" = 0 "blocks behind them changed"
done

# Writes, flushes and discards come from an iolog of fio.
awk 'BEGIN {
    print "fio version 3 iolog"; print "0 /dev/x add"; print "0 /dev/x open"
    for (n = 0; n < 50; n++) {
        printf "%d /dev/x write %d 4096\n", n * 3000000 + 1000000, (3000 + n) * 4096
        printf "%d /dev/x datasync 0 0\n", n * 3000000 + 2000000
        printf "%d /dev/x trim %d 4096\n", n * 3000000 + 3000000, (3500 + n) * 4096
    }
}' >/tmp/replay.iolog
filled
if run replay-flush 0 /tmp/replay-flush.json q2c replay /tmp/replay.iolog "/dev/$RAW" --format fio-iolog --unit ns --allow-write "/dev/$RAW" --max-lateness 1s --json --out /tmp/runs; then
    sed -n '/^{/,$p' /tmp/replay-flush.json >/tmp/replay-flush.result
    expect replay-flush-issued "$(number /tmp/replay-flush.result issued) $(number /tmp/replay-flush.result errors)" = "150 0" "requests and failures"
    zeros=$(dd if="/dev/$RAW" bs=4096 skip=3500 count=50 iflag=direct 2>/dev/null | tr -d '\0' | wc -c)
    expect replay-discarded "$zeros" = 0 "bytes that are not zero where it discarded"
fi

# Nothing is written without --allow-write.
filled
run replay-no-leave 5 /tmp/replay-no-leave.said q2c replay /tmp/replay.txt "/dev/$RAW" --writes allow --out /tmp/runs
run replay-as-reads 0 /tmp/replay-as-reads.said q2c replay /tmp/replay.txt "/dev/$RAW" --max-lateness 1s --out /tmp/runs
changed=$(dd if="/dev/$RAW" bs=1M count=16 iflag=direct 2>/dev/null | tr -d '\252' | wc -c)
expect replay-unwritten "$changed" = 0 "bytes changed"

# A device that splits each request has the same sum of Q2C as one that does not. Each request of
# these devices takes 200 ms after its hand-over, whatever its length, so the eight parts of a split
# one end at nearly the same time; to hand them over takes an emulated CPU less than 1 ms.
modprobe null_blk nr_devices=2 submit_queues=1 irqmode=2 completion_nsec=200000000 gb=1
echo 512 >/sys/block/nullb0/queue/max_sectors_kb
echo 64 >/sys/block/nullb1/queue/max_sectors_kb
awk 'BEGIN {
    for (n = 0; n < 25; n++) {
        at = n * 210000000
        printf "259,0 0 %d %d.%09d 100 Q R %d + 1024 [x]\n", n + 1, int(at / 1e9), at % 1e9, n * 1024
    }
}' >/tmp/split.txt
# Prints the medians of the two devices' sums of Q2C, and those of their numbers of terms.
sums() { awk '/"sum_q2c_s": \{/ { wants = 1 } wants && /"median":/ { gsub(/[^-0-9.e+]/, "", $2); print $2; wants = 0 }' "$1" | tr '\n' ' '; }
if run split 0 /tmp/split.json q2c compare /tmp/split.txt /dev/nullb0 /dev/nullb1 --engine libaio --trials 2 --max-lateness 1s --json --out /tmp/runs; then
    sed -n '/^{/,$p' /tmp/split.json >/tmp/split.result
    # shellcheck disable=SC2046
    set -- $(sums /tmp/split.result)
    awk "BEGIN { r = ${2:-0} / ${1:-1}; exit !(r > 0.99 && r < 1.01) }"
    expect split-same-sum $? = 0 "sums of Q2C $1 s in one and $2 s in eight parts"
    awk "BEGIN { exit !(${1:-0} > 25 * 0.2 && ${1:-0} < 25 * 0.21) }"
    expect split-sum-is-known $? = 0 "25 reads of 200 ms: $1 s"
    expect split-parts "$(awk -F'[ ,:]+' '$2 == "\"q2c_parts\"" { print $3 }' /tmp/split.result | sort -n | tail -1)" -ge 200 "parts of the requests of nullb1, in one trial"
fi
modprobe -r null_blk
