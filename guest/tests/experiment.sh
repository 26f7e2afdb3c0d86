# limit: 600
# Published experiments in a guest: the kernel's own hybrid polling as the foreground, its series by
# the probe beside the kernel's own statistics, its sleep steered over ratios, unpinned threads, the
# devices that modules make, and stages.

# Topics share /tmp.
mkdir -p /tmp/experiments

# Prints time of the machine (s) and mean latency of 4 KiB reads (ns) by the kernel's statistics of
# polled requests, again and again, while a process lives.
poll_stat() { # PROCESS
    local now
    while kill -0 "$1" 2>/dev/null; do
        read -r now _ </proc/uptime
        sed -n "s/^read *(4096 Bytes): samples=[1-9][0-9]*, mean=\([0-9]*\),.*/$now \1/p" "/sys/kernel/debug/block/$RAW/poll_stat"
        sleep 0.05
    done
}

# Prints of each phase: I/Os, those that a rule handled, and the mean effective sleep (ns) of its
# last three quarters. FILE is the series as CSV.
by_phase() { # FILE
    tr -d '"' <"$1" | awk -F, -v length_s="$length" -v interval_s="$interval" '
        FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["job"] == "foreground" {
            phase = $at["phase"]; end_s = $at["end_s"]; handled = $at["handled"]
            if (!(phase in begin)) { begin[phase] = end_s - interval_s; order[++phases] = phase }
            ios[phase] += $at["iops"] * interval_s; all[phase] += handled
            if (end_s > begin[phase] + length_s / 4 && handled > 0) { sum[phase] += $at["effective_sleep_ns"]; n[phase]++ }
        }
        END { for (i = 1; i <= phases; i++) { p = order[i]; print p, ios[p], all[p], n[p] ? sum[p] / n[p] : 0 } }'
}

# Prints each comparison with what it was judged by.
judged() { sed -n '/"claims"/,$p' "$1" | grep '"text"\|"min"\|"median"\|"max"\|"why"' | tr -d '\n' | tr -s ' '; }

if kernel_at_least 5.19; then
    skip interference "the kernel has no hybrid polling of its own since Linux 5.19"
else
    # Long tests take the published 20 s a phase. Intervals are at most a quarter of the shortest
    # window, which the file has at 1 s, and at most 0.1 s.
    scale=0.1 length=2 interval=0.025
    if [ "$LONG" = 1 ]; then scale=1 length=20 interval=0.1; fi
    delay=/sys/block/$RAW/queue/io_poll_delay
    echo 25 >"$delay"
    q2c reproduce miss-rate-interference --target "/dev/$RAW" --scale $scale --trials 1 --out /tmp/experiments/interference --json >/tmp/experiments/judged 2>/tmp/experiments/judged.lines &
    experiment=$!
    poll_stat $experiment >/tmp/experiments/poll_stat &
    stat=$!
    wait $experiment
    ended=$?
    wait $stat
    cat /tmp/experiments/judged.lines
    expect interference-ends $ended = 0 "$(grep -o '"verdict": "[a-z-]*"' /tmp/experiments/judged | sort | uniq -c) $(tail -n 2 /tmp/experiments/judged.lines)"
    expect the-setting-is-put-back "$(cat "$delay")" = 25 "io_poll_delay"
    expect the-kernel-slept "$(grep -c '"kind": "hybrid-kernel"' /tmp/experiments/judged)" -ge 3 "phases in which the foreground was found to be hybrid-kernel"
    q2c report /tmp/experiments/interference/* --csv >/tmp/experiments/series.csv 2>/tmp/experiments/series.err
    by_phase /tmp/experiments/series.csv >/tmp/experiments/phases
    cat /tmp/experiments/phases /tmp/experiments/poll_stat
    expect all-phases "$(cut -d ' ' -f 1 /tmp/experiments/phases | tr '\n' ' ')" = "none one four " "$(cat /tmp/experiments/series.err)"
    # Threads and probe cut their intervals at different times: on a busy host a tenth of a phase was
    # seen between them.
    uneven=$(awk '$3 < $2 * 0.8 - 5 || $3 > $2 * 1.2 + 5' /tmp/experiments/phases)
    expect each-io-was-polled "$uneven" = "" "phase, I/Os, polled requests by the probe, effective sleep: $(cat /tmp/experiments/phases)"
    # The statistics begin when the first request is polled for.
    compared=$(awk -v length_s="$length" '
        NR == FNR { at[NR] = $1; mean[NR] = $2; n = NR; next }
        {
            from = at[1] + (FNR - 1) * length_s + length_s / 4; to = at[1] + FNR * length_s
            sum = count = 0
            for (i = 1; i <= n; i++) if (at[i] > from && at[i] < to) { sum += mean[i]; count++ }
            half = count ? sum / count / 2 : 0
            print $1, $4, half, (half > 0 && $4 > 0.6 * half && $4 < 1.4 * half) ? "agrees" : "differs"
        }' /tmp/experiments/poll_stat /tmp/experiments/phases)
    expect series-agrees-with-poll_stat "$(echo "$compared" | grep -c agrees)" = 3 "phase, effective sleep, half the mean of the kernel's statistics (ns), 40 % allowed as emulated latencies move: $compared"

    # A daemon sets the kernel's sleep to each ratio of the mean in turn. The orders are far apart: 50 %, 10 %, 3 %.
    q2c reproduce sleep-ratio-interference-2cpu --target "/dev/$RAW" --scale 0.1 --trials 1 --out /tmp/experiments/ratios --json >/tmp/experiments/judged 2>/tmp/experiments/judged.lines
    expect ratios-end $? = 0 "$(tail -n 2 /tmp/experiments/judged.lines)"
    expect ratios-put-the-setting-back "$(cat "$delay")" = 25 "io_poll_delay"
    expect the-kernel-slept-at-each-ratio "$(grep -c '"kind": "hybrid-kernel"' /tmp/experiments/judged)" -ge 7 "phases in which the foreground was found to be hybrid-kernel"
    q2c report /tmp/experiments/ratios/* --csv >/tmp/experiments/series.csv 2>/tmp/experiments/series.err
    length=2 interval=0.1
    by_phase /tmp/experiments/series.csv >/tmp/experiments/phases
    cat /tmp/experiments/phases
    fallen=$(awk '{ sleep[$1] = $4 } END { print (sleep["r50"] > sleep["r10"] && sleep["r10"] > sleep["r3"] && sleep["r3"] > 0) ? "yes" : "no" }' /tmp/experiments/phases)
    expect the-sleep-falls-with-the-ratio "$fallen" = yes "phase, I/Os, polled requests by the probe, effective sleep: $(cat /tmp/experiments/phases)"
    echo -1 >"$delay"
fi

# Unpinned threads: their requests are counted by hardware queue, whatever the scheduler does with them.
run unpinned 0 /tmp/experiments/unpinned q2c reproduce queue-balance-unpinned --target "/dev/$RAW" --scale 0.1 --trials 1 --out /tmp/experiments/queues --json &&
    expect unpinned "$(grep -c '"unpinned": 32' /tmp/experiments/unpinned), $(grep -c '"queue_spread":' /tmp/experiments/unpinned)" = "1, 6" "$(judged /tmp/experiments/unpinned)"

if [ -f /q2c/no-module ]; then
    skip devices "$(cat /q2c/no-module)"
else
    mkdir -p "/lib/modules/$(uname -r)/extra"
    cp /q2c/ramdisk_mq.ko "/lib/modules/$(uname -r)/extra/"
    depmod
    # Older kernels make a null_blk with memory in configfs alone.
    modprobe configfs 2>/dev/null
    grep -q configfs /proc/mounts || mount -t configfs configfs /sys/kernel/config
    cat >/tmp/experiments/devices.toml <<'FILE'
schema = "q2c.reproduce/2"
name = "devices"
title = "Are devices made and gone?"
setting = "one reader on each device that a module makes"

[[axis]]
name = "disk"
values = ["ramdisk_mq", "ramdisk_mq-bio", "null_blk"]
with.make = ["ramdisk_mq:size=64m,queues=2", "ramdisk_mq:size=64m,bio", "null_blk:size=64m,queues=2"]

[[device]]
name = "ram"
make = "{disk.make}"

[[job]]
name = "reader"
device = "ram"
method = "interrupt"

[[phase]]
name = "read"
length = "1s"

[[claim]]
says = "each device is read"
expect = "min(iops over disk) > 0"
FILE
    run devices 0 /tmp/experiments/devices q2c reproduce /tmp/experiments/devices.toml --trials 3 --out /tmp/experiments/made --json &&
        expect devices "$(grep -c '"verdict": "holds"' /tmp/experiments/devices)" -ge 1 "$(grep '"failures"\|"why"\|failed' /tmp/experiments/devices)"
    expect modules-are-gone "$(cut -d ' ' -f 1 /proc/modules | grep -c 'ramdisk_mq\|null_blk')" = 0 "modules: $(cut -d ' ' -f 1 /proc/modules | tr '\n' ' ')"
    sed -i 's/length = "1s"/length = "100s"/' /tmp/experiments/devices.toml
    q2c reproduce /tmp/experiments/devices.toml --trials 1 --out /tmp/experiments/killed >/tmp/experiments/killed.lines 2>&1 &
    killed=$!
    tries=0
    until [ -b /dev/rdmq0 ] || [ -b /dev/nullb0 ] || [ $tries = 100 ]; do sleep 0.1; tries=$((tries + 1)); done
    kill -KILL $killed
    wait $killed
    left=$(cut -d ' ' -f 1 /proc/modules | grep -c 'ramdisk_mq\|null_blk')
    run restore-unloads 0 /tmp/experiments/restored q2c restore &&
        expect restore-unloads "$left, $(cut -d ' ' -f 1 /proc/modules | grep -c 'ramdisk_mq\|null_blk')" = "1, 0" "$(cat /tmp/experiments/restored) $(tail -n 2 /tmp/experiments/killed.lines)"
fi

# The stages of a device whose requests run out, and of the same device with enough of them. Each of
# the 32 readers may begin to sleep before the phase with one is closed: 32 of some 700 I/Os.
cat >/tmp/experiments/stages.toml <<'FILE'
schema = "q2c.reproduce/2"
name = "stages"
title = "Is Q2G where time goes when requests run out?"
setting = "a device whose requests take 4 ms, with one reader and with 32 on one CPU"
capture = true
trials = 3

[[job]]
name = "readers"
engine = "pvsync2"
method = "interrupt"
cpus = 1

[[phase]]
name = "few"
length = "3s"

[[phase]]
name = "many"
length = "3s"
set.readers = { threads = 32 }

[[claim]]
says = "when requests run out, Q2G is where time goes"
expect = ["many.q2g_share > 50 %", "few.q2g_share < 10 %"]

[[claim]]
says = "requests do run out"
expect = ["many.request_waits > 0.01", "few.request_waits < 0.25 * many.request_waits"]
FILE

# Prints the verdicts of the claims and of their comparisons, each with its number.
verdicts() { grep -o '"verdict": "[a-z-]*"' "$1" | sort | uniq -c | awk '{ gsub(/"/, "", $3); printf "%s%s %s", sep, $1, $3; sep = ", " }'; }

requests=/sys/block/$SLOW/queue/nr_requests
had=$(cat "$requests")
echo 4 >"$requests"
run stages-of-few-requests 0 /tmp/experiments/stages q2c reproduce /tmp/experiments/stages.toml --target "/dev/$SLOW" --out /tmp/experiments/few --json &&
    expect stages-of-few-requests "$(verdicts /tmp/experiments/stages)" = "6 holds" "$(judged /tmp/experiments/stages)"
echo 64 >"$requests"
run stages-of-many-requests 0 /tmp/experiments/stages q2c reproduce /tmp/experiments/stages.toml --target "/dev/$SLOW" --out /tmp/experiments/many --json &&
    expect stages-of-many-requests "$(verdicts /tmp/experiments/stages)" = "5 does-not-hold, 1 holds" "$(judged /tmp/experiments/stages)"
echo "$had" >"$requests"
