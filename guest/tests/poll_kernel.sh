# q2c watches the kernel's own hybrid polling while fio does the I/O. Where the kernel has none, q2c
# gives the reason.

delay=/sys/block/$RAW/queue/io_poll_delay

# Prints the mean over the time of a process of the mean that the kernel's own statistics have for 4
# KiB reads, ns. They are read every 0.1 s.
poll_stat_mean() { # PROCESS
    while kill -0 "$1" 2>/dev/null; do
        sed -n 's/^read *(4096 Bytes): samples=[1-9][0-9]*, mean=\([0-9]*\),.*/\1/p' "/sys/kernel/debug/block/$RAW/poll_stat"
        sleep 0.1
    done | awk '{ sum += $1; n++ } END { print n ? sum / n : 0 }'
}

# Prints the mean effective sleep, ns, of the intervals in which nearly every request was slept for.
# The first window has no sleep, so it is left out.
full_intervals() { # FILE
    awk -F'[:,]' '
        /"intervals"/ { inside = 1 }
        /"polled"/ { polled = $2 }
        /"slept":/ { slept = $2 }
        inside && /"effective_sleep_ns"/ && polled > 20 && slept >= polled * 0.99 { sum += $2; n++ }
        END { print n ? sum / n : 0 }' "$1"
}

# Runs fio as by_fio does, with io_poll_delay set to DELAY, while q2c watches from before the start
# until after the end. Sets POLLED, SLEPT, MISSED, UNKNOWN, EFFECTIVE, ASKED, LASTED (ns, empty for
# none), MEAN (of poll_stat), ENDED (q2c's exit code) and told (a text with all of them).
watched() { # DELAY, FIO OPTIONS...
    local watch stat
    echo "$1" >"$delay"
    shift
    # The file is emptied here and not by the background command, which may start after the first
    # look at the file. The look would then find lines of the call before.
    : >/tmp/watched.lines
    q2c poll watch --kernel "/dev/$RAW" --interval 500ms --json >/tmp/watched.json 2>/tmp/watched.lines &
    watch=$!
    until grep -q ' s ' /tmp/watched.lines || ! kill -0 $watch 2>/dev/null; do sleep 0.1; done
    sleep 2.2 &
    poll_stat_mean $! >/tmp/mean &
    stat=$!
    by_fio "$RAW" "$@"
    wait $stat
    kill -INT $watch
    wait $watch
    ENDED=$?
    summary /tmp/watched.json >/tmp/watched
    cat /tmp/watched.lines
    POLLED=$(number /tmp/watched polled) SLEPT=$(number /tmp/watched slept) MISSED=$(number /tmp/watched missed)
    UNKNOWN=$(number /tmp/watched unknown) EFFECTIVE=$(number /tmp/watched effective_sleep_ns)
    ASKED=$(number /tmp/watched asked_ns) LASTED=$(number /tmp/watched slept_ns) MEAN=$(cat /tmp/mean)
    told="$POLLED polled, $SLEPT slept for, $MISSED missed, $UNKNOWN unknown; asked $ASKED ns, effective $EFFECTIVE ns, slept $LASTED ns; poll_stat mean $MEAN ns; $told_by_fio"
    echo -1 >"$delay"
}

# Whether two counts of I/Os agree within 2 % and 3. The probe sees its device only from the first
# completion on, and fio computes its count from the throughput of whole milliseconds.
about() { holds "$1 >= $2 * 0.98 - 3 && $1 <= $2 * 1.02 + 3"; }

if kernel_at_least 5.19; then
    run watch-refused 5 /tmp/refused q2c poll watch --kernel "/dev/$RAW" --seconds 1 &&
        expect watch-refused "$(grep -c 'own hybrid polling of .*5.19' /tmp/refused)" = 1 "$(cat /tmp/refused)"
    run steer-refused 5 /tmp/refused q2c poll steer "/dev/$RAW" --rule min:70%,10ms --seconds 1 &&
        expect steer-refused "$(grep -c 'own hybrid polling of .*5.19' /tmp/refused)" = 1 "$(cat /tmp/refused)"
else
    watched -1 --ioengine=pvsync2 --hipri
    about "$POLLED" "$IOS" && [ "$SLEPT" = 0 ] && [ "$ENDED" = 130 ]
    expect classic-never-sleeps $? = 0 "$told"
    classic=$CPU

    watched 0 --ioengine=pvsync2 --hipri
    about "$POLLED" "$IOS" && [ $((SLEPT * 2)) -ge "$POLLED" ] && [ "$UNKNOWN" = 0 ] && [ "$CPU" -lt "$classic" ]
    expect hybrid-sleeps $? = 0 "$told; classic: $classic % CPU"
    # The numbers differ a little: sometimes the task gives its CPU away for another reason, or a
    # timer ends before the task has left the CPU.
    holds "$SLEPT >= $CTX * 0.9 - 3 && $SLEPT <= $CTX * 1.1 + 3"
    expect hybrid-sleeps-are-its-switches $? = 0 "$SLEPT sleeps seen, $CTX voluntary switches counted by fio"
    full=$(full_intervals /tmp/watched)
    holds "$full > 0.6 * $MEAN / 2 && $full < 1.4 * $MEAN / 2"
    expect hybrid-agrees-with-poll_stat $? = 0 "effective sleep $full ns where every request was slept for, mean / 2 of the kernel's statistics $(awk "BEGIN { print $MEAN / 2 }") ns; 40 % allowed: the statistics are looked at 10 times a second, and emulated latencies move by more than that within one"
    holds "$LASTED > $ASKED"
    expect hybrid-sleeps-last-longer-than-asked $? = 0 "$told"

    watched 30 --ioengine=pvsync2 --hipri
    holds "$ASKED == 30000" && [ $((SLEPT * 10)) -ge $((POLLED * 9)) ]
    expect fixed-sleeps-as-set $? = 0 "$told"

    watched 20000 --ioengine=pvsync2 --hipri
    [ "$MISSED" -ge $((SLEPT - 1)) ] && holds "$ASKED == 20000000"
    expect long-sleeps-all-miss $? = 0 "$told"

    # The sleep is fixed here. With several requests in flight, the kernel's own sleep would count
    # its oversleep in each of them and grow without end.
    watched 30 --ioengine=io_uring --hipri --iodepth=4
    about "$POLLED" "$IOS" && [ "$SLEPT" -gt 0 ] && [ "$SLEPT" -le "$POLLED" ] && holds "$ASKED == 30000" && [ "$UNKNOWN" = 0 ]
    expect four-in-flight $? = 0 "$told"

    # One task polls two devices by turns, and sleeps only for the device that is not watched.
    other=/sys/block/$SLOW/queue/io_poll_delay
    echo 50 >"$other"
    watched -1 --ioengine=pvsync2 --hipri --filename="/dev/$RAW:/dev/$SLOW"
    echo -1 >"$other"
    [ "$POLLED" -gt 50 ] && [ "$SLEPT" = 0 ]
    expect sleeps-for-another-device-are-not-counted $? = 0 "$told"

    watched 0 --ioengine=pvsync2
    [ "$POLLED" = 0 ] && [ "$SLEPT" = 0 ] && [ "$IOS" -gt 100 ]
    expect interrupts-are-not-polled $? = 0 "$told"
fi
