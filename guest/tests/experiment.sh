# limit: 600
# Published experiments in a guest: the kernel's own hybrid polling as the foreground, its series by
# the probe beside the kernel's own statistics, the devices that modules make, and stages.

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
# last three quarters. FILE is the series as CSV, in intervals of 0.1 s.
by_phase() { # FILE
    tr -d '"' <"$1" | awk -F, -v length_s="$length" '
        $4 == "foreground" && $3 != "phase" {
            if (!($3 in begin)) { begin[$3] = $5 - 0.1; order[++phases] = $3 }
            ios[$3] += $6 * 0.1; handled[$3] += $7
            if ($5 > begin[$3] + length_s / 4 && $7 > 0) { sum[$3] += $9; n[$3]++ }
        }
        END { for (i = 1; i <= phases; i++) { p = order[i]; print p, ios[p], handled[p], n[p] ? sum[p] / n[p] : 0 } }'
}

if kernel_at_least 5.19; then
    skip interference "the kernel has no hybrid polling of its own since Linux 5.19"
else
    # Long tests take the published 20 s a phase.
    scale=0.1 length=2
    if [ "$LONG" = 1 ]; then scale=1 length=20; fi
    delay=/sys/block/$RAW/queue/io_poll_delay
    echo 25 >"$delay"
    q2c reproduce miss-rate-interference --target "/dev/$RAW" --scale $scale --trials 1 --out /tmp/interference --json >/tmp/judged 2>/tmp/judged.lines &
    experiment=$!
    poll_stat $experiment >/tmp/poll_stat &
    stat=$!
    wait $experiment
    ended=$?
    wait $stat
    cat /tmp/judged.lines
    expect interference-ends $ended = 0 "$(grep -o '"verdict": "[a-z-]*"' /tmp/judged | sort | uniq -c) $(tail -n 2 /tmp/judged.lines)"
    expect the-setting-is-put-back "$(cat "$delay")" = 25 "io_poll_delay"
    expect the-kernel-slept "$(grep -c '"kind": "hybrid-kernel"' /tmp/judged)" -ge 3 "phases in which the foreground was found to be hybrid-kernel"
    q2c report /tmp/interference/* --csv >/tmp/series.csv 2>/tmp/series.err
    by_phase /tmp/series.csv >/tmp/phases
    cat /tmp/phases /tmp/poll_stat
    expect all-phases "$(cut -d ' ' -f 1 /tmp/phases | tr '\n' ' ')" = "none one four " "$(cat /tmp/series.err)"
    # Threads and probe cut their intervals at slightly different times.
    uneven=$(awk '$3 < $2 * 0.9 - 5 || $3 > $2 * 1.1 + 5' /tmp/phases)
    expect each-io-was-polled "$uneven" = "" "phase, I/Os, polled requests by the probe, effective sleep: $(cat /tmp/phases)"
    # The statistics begin when the first request is polled for.
    compared=$(awk -v length_s="$length" '
        NR == FNR { at[NR] = $1; mean[NR] = $2; n = NR; next }
        {
            from = at[1] + (FNR - 1) * length_s + length_s / 4; to = at[1] + FNR * length_s
            sum = count = 0
            for (i = 1; i <= n; i++) if (at[i] > from && at[i] < to) { sum += mean[i]; count++ }
            half = count ? sum / count / 2 : 0
            print $1, $4, half, (half > 0 && $4 > 0.6 * half && $4 < 1.4 * half) ? "agrees" : "differs"
        }' /tmp/poll_stat /tmp/phases)
    expect series-agrees-with-poll_stat "$(echo "$compared" | grep -c agrees)" = 3 "phase, effective sleep, half the mean of the kernel's statistics (ns), 40 % allowed as emulated latencies move: $compared"
fi

if [ -f /q2c/no-module ]; then
    skip devices "$(cat /q2c/no-module)"
else
    mkdir -p "/lib/modules/$(uname -r)/extra"
    cp /q2c/ramdisk_mq.ko "/lib/modules/$(uname -r)/extra/"
    depmod
    cat >/tmp/devices.toml <<'FILE'
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
    run devices 0 /tmp/devices q2c reproduce /tmp/devices.toml --trials 3 --out /tmp/made --json &&
        expect devices "$(grep -c '"verdict": "holds"' /tmp/devices)" -ge 1 "$(grep '"failures"\|"why"\|failed' /tmp/devices)"
    expect modules-are-gone "$(cut -d ' ' -f 1 /proc/modules | grep -c 'ramdisk_mq\|null_blk')" = 0 "modules: $(cut -d ' ' -f 1 /proc/modules | tr '\n' ' ')"
    sed -i 's/length = "1s"/length = "100s"/' /tmp/devices.toml
    q2c reproduce /tmp/devices.toml --trials 1 --out /tmp/killed >/tmp/killed.lines 2>&1 &
    killed=$!
    tries=0
    until [ -b /dev/rdmq0 ] || [ -b /dev/nullb0 ] || [ $tries = 100 ]; do sleep 0.1; tries=$((tries + 1)); done
    kill -KILL $killed
    wait $killed
    left=$(cut -d ' ' -f 1 /proc/modules | grep -c 'ramdisk_mq\|null_blk')
    run restore-unloads 0 /tmp/restored q2c restore &&
        expect restore-unloads "$left, $(cut -d ' ' -f 1 /proc/modules | grep -c 'ramdisk_mq\|null_blk')" = "1, 0" "$(cat /tmp/restored) $(tail -n 2 /tmp/killed.lines)"
fi

# The stages of a device whose requests run out, and of the same device with enough of them.
cat >/tmp/stages.toml <<'FILE'
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
length = "1s"

[[phase]]
name = "many"
length = "1s"
set.readers = { threads = 32 }

[[claim]]
says = "when requests run out, Q2G is where time goes"
expect = ["many.q2g_share > 50 %", "few.q2g_share < 10 %"]

[[claim]]
says = "requests do run out"
expect = ["many.request_waits > 0.01", "few.request_waits < 0.1 * many.request_waits"]
FILE

# Prints the verdicts of the claims and of their comparisons, each with its number.
verdicts() { grep -o '"verdict": "[a-z-]*"' "$1" | sort | uniq -c | awk '{ gsub(/"/, "", $3); printf "%s%s %s", sep, $1, $3; sep = ", " }'; }

# Prints each comparison with what it was judged by.
judged() { sed -n '/"claims"/,$p' "$1" | grep '"text"\|"min"\|"median"\|"max"\|"why"' | tr -d '\n' | tr -s ' '; }

requests=/sys/block/$SLOW/queue/nr_requests
had=$(cat "$requests")
echo 4 >"$requests"
run stages-of-few-requests 0 /tmp/stages q2c reproduce /tmp/stages.toml --target "/dev/$SLOW" --out /tmp/few --json &&
    expect stages-of-few-requests "$(verdicts /tmp/stages)" = "6 holds" "$(judged /tmp/stages)"
echo 64 >"$requests"
run stages-of-many-requests 0 /tmp/stages q2c reproduce /tmp/stages.toml --target "/dev/$SLOW" --out /tmp/many --json &&
    expect stages-of-many-requests "$(verdicts /tmp/stages)" = "5 does-not-hold, 1 holds" "$(judged /tmp/stages)"
echo "$had" >"$requests"
