# A recording of an NVMe device by blktrace, read by q2c and by btt. Every number agrees where btt
# is right: with a scheduler, so that requests are inserted, and with no two I/Os on the same
# sectors.

queue=/sys/block/$RAW/queue
before=$(sed 's/.*\[\(.*\)\].*/\1/' "$queue/scheduler")
mkdir -p /tmp/blk
echo mq-deadline >"$queue/scheduler"
expect scheduler "$(sed 's/.*\[\(.*\)\].*/\1/' "$queue/scheduler")" = mq-deadline "of $(cat "$queue/scheduler")"

blktrace -d "/dev/$RAW" -D /tmp/blk -o raw >/tmp/blk/said 2>&1 &
tracer=$!
tries=0
until ls /tmp/blk/raw.blktrace.* >/dev/null 2>&1 || [ $tries = 50 ]; do tries=$((tries + 1)) && sleep 0.1; done
sleep 1
fio --name=load --filename="/dev/$RAW" --direct=1 --rw=randrw --bs=4k --size=64m --number_ios=1500 --numjobs=2 --offset_increment=256m \
    --ioengine=libaio --iodepth=4 --cpus_allowed=2,3 --cpus_allowed_policy=split --output-format=terse --terse-version=3 >/tmp/blk/fio 2>&1
ios=$(grep '^3;' /tmp/blk/fio | awk -F';' '{ n += ($6 + $47) / 4 } END { print int(n) }')
kill -INT $tracer
wait $tracer
echo "$before" >"$queue/scheduler"

(cd /tmp/blk && blkparse -i raw -d raw.bin -O >/dev/null 2>&1; btt -i raw.bin >btt 2>/dev/null)
run analyze 0 /tmp/blk/q2c q2c analyze /tmp/blk/raw --btt || return 0
run json 0 /tmp/blk/json q2c analyze /tmp/blk/raw --json || return 0
cat /tmp/blk/q2c

# Prints STAGE MIN AVG MAX N of all devices.
stages() { sed -n '/= All Devices =/,/= Device Overhead =/p' "$1" | awk '$1 ~ /^[QGIMDS]2[QGIMDC]$/ { print $1, $2, $3, $4, $5 }'; }
stages /tmp/blk/btt >/tmp/blk/theirs
stages /tmp/blk/q2c >/tmp/blk/ours
for stage in Q2Q Q2G G2I I2D D2C Q2C; do
    line=$(awk -v s=$stage '
        function apart(a, b) { return a - b > 2e-9 || b - a > 2e-9 }
        $1 == s && NR == FNR { n = $5; min = $2; mean = $3; max = $4; next }
        $1 == s { print (n == $5 && !apart(min, $2) && !apart(mean, $3) && !apart(max, $4) ? "same" : "apart"), n, mean, $5, $3 }' \
        /tmp/blk/theirs /tmp/blk/ours)
    expect "as-btt-$stage" "${line%% *}" = same "N and mean of btt, of q2c: ${line#* }"
done
expect every-io "$(awk '$1 == "Q2C" { print $5 }' /tmp/blk/ours)" = "$ios" "fio did $ios I/Os; $(grep -c . /tmp/blk/said) lines of blktrace's own"
expect nothing-unmatched "$(grep -c '"unmatched": {}' /tmp/blk/json)" = 1 "$(grep -A 4 '"unmatched"' /tmp/blk/json)"
