# limit: 600
# Sleeps for a request (tag) by q2c bench --stages: there are some where jobs have more requests in
# flight than their hardware queue takes, and none elsewhere. Only there is Q2G the bottleneck.

if [ -f /q2c/no-module ]; then
    skip built "$(cat /q2c/no-module)"
    return 0
fi

# Runs the jobs on CPUs of their own, and keeps the table of the points.
bench() { # NAME, OPTIONS...
    local name=$1
    shift
    rm -rf /tmp/tags
    run "$name" 0 "/tmp/$name.raw" q2c bench /dev/rdmq0 --stages --engine libaio --method interrupt --cpus 0,1,2,3 \
        --seconds 1 --warm-up 0.5 --trials 1 --out /tmp/tags --json "$@" || return
    tr -d " \n" <"/tmp/$name.raw" >"/tmp/$name.json"
    q2c report /tmp/tags/*/result.json --csv >"/tmp/$name.csv"
}

# Prints a column of the point with these jobs and this depth.
column() { # NAME, JOBS, DEPTH, COLUMN
    awk -F, -v jobs="$2" -v depth="$3" -v name="$4" '
        NR == 1 { for (n = 1; n <= NF; n++) at[$n] = n; next }
        $at["jobs"] == jobs && $at["depth"] == depth { print $at[name]; exit }' "/tmp/$1.csv"
}

# Two queues of 4 requests each serve two CPUs each. A request takes 16 ms, which is long beside the
# milliseconds by which a busy host makes completions late. Jobs fit where requests are to spare: one
# is given back only after its job has seen its completion and may want the next one.
insmod /q2c/ramdisk_mq.ko size_mb=64 queues=2 depth=4 service_ns=16000000
queue=/sys/block/rdmq0/queue
expect facts "$(cat $queue/nr_requests), $(cat $queue/scheduler | grep -o '\[.*\]')" = "4, [none]" "nr_requests, scheduler"
if bench points --jobs 1,2,4 --depth 1,16; then
    expect watched "$(grep -c '"tag_waits":{"unseen"' /tmp/points.json)" = 0 "$(grep -o '"tag_waits":{"unseen"[^}]*}' /tmp/points.json | head -n 1)"
    for point in 1,1 2,1 4,1; do
        set -- $(echo $point | tr , ' ')
        sleeps=$(column points "$1" "$2" tag_sleeps)
        expect "none-at-$1x$2" "$sleeps" = 0 "$1 jobs of depth $2 fit; bottleneck $(column points "$1" "$2" bottleneck)"
        expect "not-q2g-at-$1x$2" "$(column points "$1" "$2" bottleneck)" = D2C "the device"
    done
    for point in 1,16 2,16 4,16; do
        set -- $(echo $point | tr , ' ')
        sleeps=$(column points "$1" "$2" tag_sleeps)
        expect "some-at-$1x$2" "${sleeps:-0}" -gt 0 "$1 jobs of depth $2 exceed their queue; $(column points "$1" "$2" q2g_mean_ns) ns in Q2G, $(column points "$1" "$2" tag_sleep_ns) ns asleep"
    done
    expect q2g-at-4x16 "$(column points 4 16 bottleneck)" = Q2G "two jobs of 16 requests on a queue of 4"
    text=$(q2c report /tmp/tags/*/result.json 2>&1 | tr -s ' \n' ' ')
    expect growth "$(echo "$text" | grep -c 'growth of libaio interrupt.* over the jobs: .*Q2G takes [0-9.]* % of the growth')" = 1 "$(echo "$text" | grep -o 'growth of .\{160\}' | tail -n 1)"
    # The queues that are named are those of the CPUs.
    grep -o '"tag_waits":{"counted":{"queues":\[[^]]*\]' /tmp/points.json | grep -o '"queue":[0-9]*' | sort -u >/tmp/tags.queues
    expect queues "$(tr -d '\n' </tmp/tags.queues)" = '"queue":0"queue":1' "$(cat /tmp/tags.queues | tr '\n' ' ')"
fi

# A job of depth 16 sleeps where there are fewer requests, and never where there are enough. How often
# it sleeps depends on how many completions a wake-up finds, so that 8 requests may have more sleeps
# for an I/O than 4.
rmmod ramdisk_mq
insmod /q2c/ramdisk_mq.ko size_mb=64 queues=1 depth=32 service_ns=4000000
for n in 4 8 16 32; do
    echo $n >$queue/nr_requests
    bench "nr-$n" --jobs 1 --depth 16 || continue
    per=$(awk -v sleeps="$(column "nr-$n" 1 16 tag_sleeps)" -v ios="$(grep -o '"captured":[0-9]*' "/tmp/nr-$n.json" | head -n 1 | tr -dc 0-9)" \
        'BEGIN { printf "%d", ios && sleeps != "" ? 1000 * sleeps / ios : -1 }')
    told="$per sleeps in 1000 I/Os with nr_requests $(cat $queue/nr_requests)"
    if [ $n -lt 16 ]; then
        expect "nr-requests-$n" "$per" -gt 0 "$told"
    else
        expect "nr-requests-$n" "$per" = 0 "$told"
    fi
done

# With an I/O scheduler the requests are its own.
if grep -q mq-deadline $queue/scheduler; then
    echo mq-deadline >$queue/scheduler
    echo 4 >$queue/nr_requests
    bench scheduler --jobs 1 --depth 16 &&
        expect of-scheduler "$(grep -c '"of_scheduler":true' /tmp/scheduler.json)" -ge 1 "nr_requests $(cat $queue/nr_requests) of mq-deadline: $(column scheduler 1 16 tag_sleeps) sleeps $(grep -o '"stages":{"unseen".\{100\}' /tmp/scheduler.json | head -n 1)"
fi
rmmod ramdisk_mq
