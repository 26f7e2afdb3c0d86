# q2c steers the kernel's own hybrid polling. Every value that it writes follows by the rule from
# the logged completions, and the old value is put back.

delay=/sys/block/$RAW/queue/io_poll_delay

# Computes every value in a log of min:70%,10ms again: windows of 10 ms from their first completion,
# 0.7 x minimum in whole ns, then in whole us. Prints "WRITTEN WRONG SLEEPS": the number of values,
# of those that differ, and of those that are a sleep.
recompute() { # FILE
    awk -F, '
        function us(ns) { ns = int((ns * 7 + 5) / 10); ns = int((ns + 500) / 1000); return ns < 1 ? 1 : ns }
        function over() { last = min; open = 0; have = 1 }
        $1 == "complete" {
            if (open && $2 >= end) over()
            if (!open) { open = 1; end = $2 + 10000000; min = $3 }
            if ($3 < min) min = $3
        }
        $1 == "write" {
            if (open && $2 >= end) over()
            wanted = have ? us(last) : -1
            written++
            wrong += wanted != $4
            sleeps += $4 > 0
        }
        END { print written + 0, wrong + 0, sleeps + 0 }' "$1"
}

# Probes are attached and removed only while nothing polls. qemu, which emulates several CPUs, may
# run kernel code that is half changed, and the kernel then crashes; a real machine does not. So q2c
# starts before the load and ends after it. The last value that q2c wrote stays until its end.

# Sets io_poll_delay to 25, starts q2c poll steer, and runs fio for SECONDS. Returns when fio has
# ended. Sets STEER.
steered() { # SECONDS, Q2C OPTIONS...
    local seconds=$1
    shift
    echo 25 >"$delay"
    # The file is emptied here and not by the background command, which may start after the first
    # look at the file.
    : >/tmp/steer
    q2c poll steer "$RAW" --rule min:70%,10ms "$@" >/tmp/steer 2>&1 &
    STEER=$!
    until grep -q ' s ' /tmp/steer || ! kill -0 $STEER 2>/dev/null; do sleep 0.1; done
    fio --name=load --filename="/dev/$RAW" --direct=1 --rw=randread --bs=4k --runtime="$seconds" --time_based --cpus_allowed=2 \
        --ioengine=pvsync2 --hipri >/tmp/load 2>&1
}

if kernel_at_least 5.19; then
    skip steer "this kernel's polling cannot be steered; poll_kernel shows that q2c says so"
else
    rm -f /tmp/steer.log
    : >/tmp/seen.lines
    q2c poll watch --kernel "$RAW" --interval 1s --json >/tmp/seen.json 2>/tmp/seen.lines &
    watch=$!
    until grep -q ' s ' /tmp/seen.lines || ! kill -0 $watch 2>/dev/null; do sleep 0.1; done
    steered 4 --log /tmp/steer.log --seconds 8
    kill -INT $watch
    wait $STEER
    ended=$?
    wait $watch
    summary /tmp/seen.json >/tmp/seen
    cat /tmp/seen.lines /tmp/steer
    set -- $(recompute /tmp/steer.log)
    [ "$ended" = 0 ] && [ "$1" -ge 3 ] && [ "$2" = 0 ] && [ "$3" -ge 2 ] && [ "$(grep -c '^lost' /tmp/steer.log)" = 0 ]
    expect every-value-follows-from-the-log $? = 0 "$1 values written, $3 of them sleeps, $2 wrong; $(grep -c '^complete' /tmp/steer.log) completions logged; $(tail -n 1 /tmp/steer)"
    expect restored-at-its-end "$(cat "$delay")" = 25 "25 before"
    polled=$(number /tmp/seen polled) slept=$(number /tmp/seen slept)
    expect the-kernel-sleeps-so "$slept" -gt $((polled / 2)) "of $polled polled requests $slept were slept for, $(number /tmp/seen missed) missed"

    steered 2
    left=$(cat "$delay")
    kill -TERM $STEER
    wait $STEER
    expect sigterm-restores "$?, $(cat "$delay")" = "0, 25" "from $left: $(grep restored /tmp/steer)"

    steered 2
    kill -KILL $STEER
    wait $STEER 2>/dev/null
    left=$(cat "$delay")
    run sigkill-restored 0 /tmp/restored q2c restore &&
        expect sigkill-restored "$(cat "$delay")" = 25 "left at $left; $(cat /tmp/restored)"
    expect sigkill-left-a-sleep "$left" -ge 1 "$(tail -n 1 /tmp/steer)"
    expect sigkill-left-another "$left" != 25 "the value before was 25"

    # Nothing completes, so no value is written yet. The second q2c is refused all the same.
    echo -1 >"$delay"
    q2c poll steer "$RAW" --rule min:70%,10ms >/tmp/first 2>&1 &
    first=$!
    until grep -q ' s ' /tmp/first || ! kill -0 $first 2>/dev/null; do sleep 0.1; done
    run second-refused 4 /tmp/second q2c poll steer "$RAW" --rule '0.5 * min' --seconds 3 &&
        expect second-refused "$(grep -c "process $first holds it" /tmp/second)" = 1 "$(cat /tmp/second)"
    echo 33 >"$delay"
    wait $first
    expect a-foreign-value-is-left "$?, $(cat "$delay")" = "5, 33" "$(tail -n 1 /tmp/first)"
    echo -1 >"$delay"

    gone=$(small_again)
    q2c poll steer "$gone" --rule min:70%,10ms --seconds 20 >/tmp/lost 2>&1 &
    steer=$!
    until grep -q ' s ' /tmp/lost || ! kill -0 $steer 2>/dev/null; do sleep 0.1; done
    echo 1 >"/sys/class/nvme/${gone%n1}/device/remove"
    wait $steer
    expect a-lost-device-ends-it "$?, $(grep -c 'went away' /tmp/lost)" = "6, 1" "$gone: $(tail -n 2 /tmp/lost)"

    run feedback-rule-refused 2 /tmp/refused q2c poll steer "$RAW" --rule pas &&
        expect feedback-rule-refused "$(grep -c 'more than the times' /tmp/refused)" = 1 "$(cat /tmp/refused)"
    echo -1 >"$delay"
fi
