# The kernel's loop, end to end: q2c records D2C under fio, simulates, steers by the best rule, and
# verifies it by the probe beside classic polling and the kernel's own sleep. SLOW has room to sleep.

delay=/sys/block/$SLOW/queue/io_poll_delay

# Prints a figure of the result: FILE, METHOD, POLICY (as a regular expression), PATH of the key
# below the method.
figure() {
    awk -v method="\"method\": \"$2\"" -v policy="\"policy\": \"$3" -v part="$4" -v key="\"$5\":" '
        index($0, method) { here = 1; inside = 0; right = 0 }
        here && index($0, "\"policy\": \"") { right = $0 ~ policy }
        here && right && index($0, "\"" part "\": {") { inside = 1; value = 0 }
        here && right && inside && index($0, key) {
            if ($0 ~ /[0-9]/) { gsub(/[^-0-9.e+]/, "", $2); print $2; exit }
            wants = 1
        }
        wants && /"median":/ { gsub(/[^-0-9.e+]/, "", $2); print $2; exit }' "$1"
}

if kernel_at_least 5.19; then
    run refused 5 /tmp/refused q2c poll tune-kernel "$SLOW" &&
        expect refused "$(grep -c 'own hybrid polling of .*5.19' /tmp/refused)" = 1 "$(cat /tmp/refused)"
else
    echo 25 >"$delay"
    run no-load 5 /tmp/no-load q2c poll tune-kernel "$SLOW" --patience 1s --out /tmp/no-load-runs &&
        expect no-load "$(grep -c 'RWF_HIPRI' /tmp/no-load), $(cat "$delay")" = "1, 25" "$(tail -n 1 /tmp/no-load)"

    # Two runs, and both are told. The device takes 4 ms. On a host with other work it is
    # restless, the more so while the guest polls and so keeps a CPU of the host from it: then it is
    # another device with a sleep than without, and the run says nothing of the predictions.
    runs=0 quiet=0 miss_right=0 sleep_right=0 all=
    while [ $runs -lt 2 ]; do
        runs=$((runs + 1))
        run loop-runs 0 /tmp/loop q2c poll tune-kernel "$SLOW" --record 4s --calibrate 2s --out "/tmp/loop-$runs" -- \
            fio --name=load --filename="/dev/$SLOW" --direct=1 --rw=randread --bs=4k --runtime=600 --time_based \
            --cpus_allowed=2 --ioengine=pvsync2 --hipri || break
        result=$(echo /tmp/loop-$runs/*/result.json)
        best=$(sed -n 's/^ *"best": "\(.*\)",*$/\1/p' "$result")
        miss=$(figure "$result" hybrid-kernel "$best" measured miss_rate)
        sleep_ns=$(figure "$result" hybrid-kernel "$best" measured effective_sleep_ns)
        # By trial: predicted less measured, and predicted / measured.
        miss_off=$(figure "$result" hybrid-kernel "$best" off miss_rate)
        sleep_off=$(figure "$result" hybrid-kernel "$best" off effective_sleep_ns)
        iops=$(sed -n '/"method": "poll"/,$p' "$result" | sed -n '/"measured": {/,$p' |
            awk '/"iops":/ { wants = 1 } wants && /"median":/ { gsub(/[^-0-9.e+]/, "", $2); print $2; exit }')
        told="$best: classic polling $iops IOPS; miss $miss, predicted $miss_off more; effective sleep $sleep_ns, predicted $sleep_off times"
        all="$all run $runs: $told;"
        echo "run $runs: $told"
        if ! awk "BEGIN { exit !($iops > 200) }"; then continue; fi
        quiet=$((quiet + 1))
        if awk "BEGIN { d = $miss_off; exit !(d < 0.05 && d > -0.05) }"; then miss_right=$((miss_right + 1)); fi
        if awk "BEGIN { r = $sleep_off; exit !(r > 0.9 && r < 1.1) }"; then sleep_right=$((sleep_right + 1)); fi
    done
    sed -n '/method/,$p' /tmp/loop
    if [ -n "${best:-}" ]; then
        # Classic polling of an undisturbed device does 250 IOPS; of those runs most must be right.
        if [ $quiet = 0 ]; then
            skip as-predicted "the host was at work in both runs:$all"
        else
            expect miss-rate-as-predicted $((2 * miss_right)) -gt $quiet "$miss_right of $quiet quiet runs within 5 points:$all"
            expect effective-sleep-as-predicted $((2 * sleep_right)) -gt $quiet "$sleep_right of $quiet quiet runs within 10 %:$all"
        fi
        awk "BEGIN { exit !($sleep_ns > 1000000) }"
        expect it-sleeps $? = 0 "$told"
        # On an emulated device the kernel's own sleep or classic polling may win by noise.
        expect a-verdict "$(grep -c "^steer: by \|^the kernel's own sleep: \|^classic polling: \|^no room to sleep: " /tmp/loop)" = 1 "$(tail -n 40 /tmp/loop | grep -A 2 '^simulated')"
        expect reports "$(q2c report "$(dirname "$result")" 2>&1 | grep -c 'classic polling')" -ge 1 "q2c report $(dirname "$result")"
    fi
    expect restored "$(cat "$delay")" = 25 "25 before; $(grep restored /tmp/loop)"
    expect no-journal-is-left "$(ls /var/lib/q2c/restore 2>/dev/null | grep -c jsonl)" = 0 "$(ls /var/lib/q2c/restore 2>/dev/null | tr '\n' ' ')"
    expect the-load-has-ended "$(pidof fio)" = "" "fio was ended by q2c"
    echo -1 >"$delay"
fi
