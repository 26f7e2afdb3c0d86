# q2c steers the kernel's own hybrid polling: every value written is what the rule makes of the logged completions, and is put back.

delay=/sys/block/$RAW/queue/io_poll_delay

# Every value written in a log of min:70%,10ms, computed again: windows of 10 ms from their first completion, 0.7 x minimum in whole
# ns, then in whole us. Prints "WRITTEN WRONG SLEEPS": values, those that differ, those that are a sleep.
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

# Starts to steer with io_poll_delay at 25 before, and waits until a sleep is set. Sets STEER.
start() { # Q2C OPTIONS...
    echo 25 >"$delay"
    q2c poll steer "$RAW" --rule min:70%,10ms "$@" >/tmp/steer 2>&1 &
    STEER=$!
    tries=0
    until [ "$(cat "$delay")" -gt 0 ] && [ "$(cat "$delay")" != 25 ] || [ $tries = 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
}

load() { # SECONDS
    fio --name=load --filename="/dev/$RAW" --direct=1 --rw=randread --bs=4k --runtime="$1" --time_based --cpus_allowed=2 \
        --ioengine=pvsync2 --hipri >/tmp/load 2>&1 &
    LOAD=$!
}

if kernel_at_least 5.19; then
    skip steer "this kernel's polling cannot be steered; poll_kernel shows that q2c says so"
else
    load 8
    rm -f /tmp/steer.log
    start --log /tmp/steer.log --seconds 5
    q2c poll watch --kernel "$RAW" --seconds 2 --interval 1s >/tmp/seen 2>&1
    cat /tmp/seen
    wait $STEER
    ended=$?
    cat /tmp/steer
    set -- $(recompute /tmp/steer.log)
    [ "$ended" = 0 ] && [ "$1" -ge 3 ] && [ "$2" = 0 ] && [ "$3" -ge 2 ] && [ "$(grep -c '^lost' /tmp/steer.log)" = 0 ]
    expect every-value-follows-from-the-log $? = 0 "$1 values written, $3 of them sleeps, $2 wrong; $(grep -c '^complete' /tmp/steer.log) completions logged; $(tail -n 1 /tmp/steer)"
    expect restored-at-its-end "$(cat "$delay")" = 25 "25 before"
    expect the-kernel-sleeps-so "$(tail -n 1 /tmp/seen | grep -c ' us')" = 1 "q2c poll watch: $(tail -n 1 /tmp/seen)"
    wait $LOAD

    load 6
    start
    kill -TERM $STEER
    wait $STEER
    expect sigterm-restores "$?, $(cat "$delay")" = "0, 25" "$(grep -v '  ' /tmp/steer | tail -n 1)"
    wait $LOAD

    load 6
    start
    kill -KILL $STEER
    wait $STEER 2>/dev/null
    left=$(cat "$delay")
    run sigkill-restored 0 /tmp/restored q2c restore &&
        expect sigkill-restored "$left != 25, $(cat "$delay")" = "$left != 25, 25" "left at $left; $(cat /tmp/restored)"
    expect sigkill-left-a-sleep "$left" -ge 1 "$(cat /tmp/steer | tail -n 1)"
    wait $LOAD

    run feedback-rule-refused 2 /tmp/refused q2c poll steer "$RAW" --rule pas &&
        expect feedback-rule-refused "$(grep -c 'more than the times' /tmp/refused)" = 1 "$(cat /tmp/refused)"
    echo -1 >"$delay"
fi
