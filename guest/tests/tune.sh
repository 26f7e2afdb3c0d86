# limit: 600
# q2c tune from calibration to report on the NVMe device. Its effective modes are compared with the
# counts of the device.

queue=/sys/block/$RAW/queue
# Other values that somebody may have set: polling is off, where that is possible, and the delay is
# not the default.
if ! kernel_at_least 5.19; then
    echo 0 >"$queue/io_poll"
    echo 25 >"$queue/io_poll_delay"
fi

# Whether a method had as many interrupts as its name implies.
mode_holds() { # ASKED, WAS, I/OS, INTERRUPTS
    [ "$3" -gt 0 ] || return 1
    case $1 in
        interrupt) [ "$2" = interrupt ] && [ "$4" -ge $(($3 * 8 / 10)) ] ;;
        *) case $2 in
            *"(ring)"*) [ "$4" -ge $(($3 * 8 / 10)) ] ;;
            *) [ "$4" -le $(($3 / 100)) ] ;;
        esac ;;
    esac
}

# Calls CHECK for each mode of a result: asked, was, I/Os, interrupts, switches per I/O. Ends with
# the first that fails.
each_mode() { # CHECK
    while IFS="$(printf '\t')" read -r asked was ios irqs switches _; do
        "$1" "$asked" "$was" "$ios" "$irqs" "$switches" || return 1
    done </tmp/tune.modes
}
tell_mode() {
    mode_holds "$@"
    expect "mode-${1%%:*}" $? = 0 "$2; $3 I/Os, $4 interrupts, $5 switches per I/O; run $tries of 3"
}

# On a busy host the emulated device does few I/Os, and the interrupts of fast successive
# completions coalesce. The run is repeated until every mode of one run holds.
tries=0
until [ $tries = 3 ]; do
    tries=$((tries + 1))
    run runs 0 /tmp/tune.out q2c tune -v "/dev/$RAW" --seconds 0.3 --trials 1 --out "/tmp/tune-$tries" || return 0
    folder=$(echo "/tmp/tune-$tries"/*-tune)
    modes "$folder/result.json" >/tmp/tune.modes
    if each_mode mode_holds; then break; fi
done
pass runs "$(ls "$folder" | tr '\n' ' ')"
sed -n '/method and policy/,$p' /tmp/tune.out

# Without an invariant TSC, q2c takes all times from the kernel's clock.
expect tsc "$(sed -n 's/.*"tsc_invariant": \([a-z]*\).*/\1/p' "$folder/result.json")" = false "result.json"
q2c trace info "$folder/trace-4096.parquet" >/tmp/info 2>&1
expect clock "$(grep -c CLOCK_MONOTONIC /tmp/info)" = 1 "$(grep -i clock /tmp/info)"

# "no ring flags", or the names of those that the kernel took: those of the ring that polls, and
# those of the ring that waits for interrupts.
flags=$(cut -f 6 /tmp/tune.modes | sort -u)
if kernel_at_least 6.1; then without=-vc; else without=-c; fi
expect defer-taskrun "$(echo "$flags" | grep $without DEFER_TASKRUN)" = 0 "ring flags: $flags"

each_mode tell_mode

# Where the device can be polled, polling and sleep rules poll it, and the recording says so.
if [ "$(cat "$queue/io_poll")" = 1 ]; then path=iopoll; else path=ring; fi
ways=$(awk -F'\t' '$1 == "poll" || $1 ~ /^hybrid:/ { sub(/.*\(/, "", $2); sub(/\).*/, "", $2); print $2 }' /tmp/tune.modes | sort -u | tr '\n' ' ')
expect one-path "$ways" = "$path " "poll and sleep rules: $ways"
expect recording-says-its-path "$(grep -c "path.*$path" /tmp/info)" = 1 "$(grep path /tmp/info)"

# Checks the kernel's own hybrid polling, or the reason why it is left out.
if kernel_at_least 5.19; then
    reason=$(sed -n '/"unavailable"/,/]/s/.*"reason": "\(.*\)".*/\1/p' "$folder/result.json")
    expect hybrid-kernel-unavailable "$(echo "$reason" | grep -c 'since 5.19 preadv2 does not poll')" = 1 "$reason"
    expect hybrid-kernel-is-told "$(sed -n '/^Not available here/,/^$/p' /tmp/tune.out | grep -c '^hybrid-kernel: ')" = 1 "in the terminal"
else
    expect settings-are-put-back "$(cat "$queue/io_poll") $(cat "$queue/io_poll_delay")" = "0 25" "io_poll and io_poll_delay"
    expect no-journal-is-left "$(ls /var/lib/q2c/restore | grep -c jsonl)" = 0 "$(ls /var/lib/q2c/restore | tr '\n' ' ')"
    echo 1 >"$queue/io_poll"
    echo -1 >"$queue/io_poll_delay"
    was=$(awk -F'\t' '$1 == "hybrid-kernel" { print $2 }' /tmp/tune.modes)
    expect hybrid-kernel-sleeps "$(echo "$was" | grep -c '^hybrid-kernel (call)')" = 1 "$was"
    # Most I/Os slept once the kernel has a mean.
    seen=$(grep -A 1 '"slept-by-probe"' "$folder/result.json" | grep -c '"slept": [1-9]')
    expect hybrid-kernel-is-seen "$seen" -ge 1 "$(grep -A 2 '"slept-by-probe"' "$folder/result.json" | tr -s ' \n' ' ')"
    expect nothing-is-unavailable "$(grep -c '"unavailable": \[\]' "$folder/result.json")" = 1 "$(grep -A 4 unavailable "$folder/result.json")"
    grep -E 'hybrid-kernel|not run' /tmp/tune.out

    # Where there is room to sleep, a rule is chosen, and its sleep is also tried as a fixed delay
    # of the kernel.
    run slow-runs 0 /tmp/slow.out q2c tune "/dev/$SLOW" --seconds 0.3 --trials 1 --out /tmp/slow
    result=$(echo /tmp/slow/*-tune/result.json)
    # Prints the delay in us, and the effective sleep that the probe saw, in whole us.
    set -- $(awk '
        /"method": "hybrid-kernel"/ { here = 1 }
        here && /"policy": "[0-9]+us"/ { gsub(/[^0-9]/, ""); us = $0 }
        us && /"effective_sleep_ns": \{/ { inside = 1 }
        inside && /"median":/ { gsub(/[^0-9.]/, ""); print us, int($0 / 1000); exit }' "$result")
    cat /tmp/slow.out
    [ "${1:-0}" -ge 1 ] && [ $((${2:-0} * 100)) -ge $(($1 * 95)) ] && [ "$2" -le "$1" ]
    expect fixed-delay-is-slept $? = 0 "${1:-no} us set, effective sleep ${2:-not} us seen by the probe; $(grep -m 1 'use \|no room' /tmp/slow.out)"
fi
