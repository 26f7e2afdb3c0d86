# limit: 600
# q2c bench: the effective mode of each interface and method on this kernel, proved by the device's
# interrupts and the jobs' context switches.

benched fast "$RAW" --engine io_uring,libaio,pvsync2 --method interrupt,poll || return 0
for engine in io_uring libaio pvsync2; do
    expect_mode_in_three "$engine-interrupt" fast "$engine" interrupt interrupt 5000 500 5000
done
expect_mode io_uring-polls-the-device fast io_uring poll 'poll (iopoll)' 1 0 100
if kernel_at_least 5.19; then
    expect_mode hipri-is-ignored-and-told fast pvsync2 poll 'interrupt, poll-ignored' 5000 100 5000
    expect hipri-warned "$(grep -c '"mode-ignored"' /tmp/fast.result)" = 1 "the warning says so"
else
    expect_mode hipri-polls fast pvsync2 poll 'poll (call)' 1 0 100
fi

benched slow "$SLOW" --engine io_uring,pvsync2 --method poll,hybrid-uring,hybrid-kernel || return 0
before=$(cat "/sys/block/$SLOW/queue/io_poll_delay" 2>/dev/null)
if kernel_at_least 5.19; then
    expect kernel-hybrid-left-out "$(grep -c 'hybrid-kernel needs Linux 4.10 to 5.18' /tmp/slow.result)" -ge 1 "with the reason"
else
    expect_mode kernel-hybrid-sleeps slow pvsync2 hybrid-kernel 'hybrid-kernel (call)' 1 500 5000
    expect_mode kernel-classic slow pvsync2 poll 'poll (call)' 1 0 100
    expect poll-delay-restored "$before" = -1 "io_poll_delay"
fi
if kernel_at_least 6.13; then
    expect_mode uring-hybrid-sleeps slow io_uring hybrid-uring 'hybrid-uring (*)' 1 500 5000
else
    expect uring-hybrid-refused "$(grep -c 'HYBRID_IOPOLL' /tmp/slow.result)" -ge 1 "$(grep -m 1 'HYBRID_IOPOLL' /tmp/slow.result)"
fi

# Background jobs that poll take the path of the point's interface: the device is not to interrupt for
# them, either.
if [ "$(cat "/sys/block/$RAW/queue/io_poll")" = 1 ]; then
    benched beside "$RAW" --engine io_uring --method poll --background bs=4k,cpus=1,wait=poll || return 0
    expect_mode background-polls-the-device beside io_uring poll 'poll (iopoll)' 1 0 100
fi

# Requests that the block layer splits are not polled for: from Linux 6.1.7 on they never complete.
kept=$(cat "/sys/block/$RAW/queue/max_sectors_kb")
echo 64 >"/sys/block/$RAW/queue/max_sectors_kb"
benched split "$RAW" --engine io_uring --method poll,interrupt --bs 64k,128k || return 0
echo "$kept" >"/sys/block/$RAW/queue/max_sectors_kb"
left_out=$(grep -c 'cannot poll for requests of 128 KiB' /tmp/split.result)
if [ "$(cat "/sys/block/$RAW/queue/io_poll")" = 1 ]; then
    expect split-requests-are-not-polled-for "$left_out" -ge 1 "the reason is told"
else
    expect split-requests-by-interrupts "$left_out" = 0 "nothing is polled here"
fi

# Stages on a device of four queues that answers after 4 ms: N jobs on CPUs of their own use the queues
# of these CPUs, and the device is the bottleneck.
modprobe null_blk nr_devices=1 submit_queues=4 irqmode=2 completion_nsec=4000000 gb=1
rm -rf /tmp/stages
if run stages 0 /tmp/stages.json q2c bench /dev/nullb0 --stages --engine io_uring --method interrupt --jobs 1,2,4 --cpus 0,1,2,3 \
    --seconds 1 --warm-up 0.5 --trials 1 --out /tmp/stages --json; then
    result=$(ls /tmp/stages/*/result.json)
    # One line for each number of jobs; in the report it is wrapped.
    q2c report "$result" 2>&1 | tr -s ' \n' ' ' | sed 's/io_uring interrupt, /\n&/g' >/tmp/stages.text
    q2c report "$result" --csv >/tmp/stages.csv 2>&1
    # Prints a column of the point with this number of jobs.
    column() { # JOBS, NAME
        awk -F, -v jobs="$1" -v name="$2" '
            NR == 1 { for (n = 1; n <= NF; n++) at[$n] = n; next }
            $at["jobs"] == jobs { print $at[name]; exit }' /tmp/stages.csv
    }
    for jobs in 1 2 4; do
        cpu=0
        while [ $cpu -lt $jobs ]; do
            # From 5.19 there is a fifth queue, for polling.
            for dir in /sys/block/nullb0/mq/[0-3]; do
                tr ', ' '\n\n' <"$dir/cpu_list" | grep -qx $cpu && echo "${dir##*/}"
            done
            cpu=$((cpu + 1))
        done | sort -u >/tmp/stages.queues
        wanted="in $(wc -l </tmp/stages.queues) of $(ls /sys/block/nullb0/mq | wc -l) queues"
        jobs_of=$(grep -m 1 "^io_uring interrupt, $jobs jobs*: reads by queue of" /tmp/stages.text | sed 's/ expected).*/ expected)/')
        expect "stages-queues-$jobs" "$(echo "$jobs_of" | grep -c "$wanted")" = 1 "$wanted: $jobs_of"
        expect "stages-map-$jobs" "$(echo "$jobs_of" | grep -c 'spread as the map from CPUs to queues has it')" = 1 "against the map"
        d2c=$(column $jobs d2c_p50_ns)
        expect "stages-d2c-$jobs" "${d2c%%.*}" -ge 4000000 "p50 of D2C at $jobs jobs, the device takes 4 ms: $d2c ns"
        expect "stages-bottleneck-$jobs" "$(column $jobs bottleneck)" = D2C "share $(column $jobs bottleneck_share)"
    done
fi
modprobe -r null_blk
