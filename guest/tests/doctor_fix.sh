# limit: 900
# q2c doctor --fix changes the settings that it found wanting, for a command or until `q2c restore`,
# and puts back what the kernel resets with them, too.

queue=/sys/block/$RAW/queue
tolerance=$(echo /sys/class/nvme/"${RAW%n1}"/power/pm_qos_latency_tolerance_us)
# shellcheck disable=SC2086
settings="$queue/scheduler $queue/nr_requests $queue/iosched/read_expire $queue/nomerges $queue/wbt_lat_usec $tolerance"
state() { cat $settings 2>/dev/null | tr '\n' ' '; }
is_back() { # NAME, DETAILS
    expect "$1" "$(state)" = "$began" "$2"
    expect "$1-no-journal" "$(ls /var/lib/q2c/restore 2>/dev/null | grep -c jsonl)" = 0 "$(ls /var/lib/q2c/restore 2>/dev/null | tr '\n' ' ')"
}
# Waits until the device has no scheduler.
is_fixed() {
    local tries=0
    until grep -q '\[none\]' "$queue/scheduler" || [ $tries = 300 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    grep -q '\[none\]' "$queue/scheduler"
}

original=$(cat "$queue/nr_requests" "$queue/nomerges" | tr '\n' ' ')
scheduler=$(sed 's/.*\[\(.*\)\].*/\1/' "$queue/scheduler")
echo mq-deadline >"$queue/scheduler"
echo 77 >"$queue/nr_requests"
echo 333 >"$queue/iosched/read_expire"
echo 0 >"$queue/nomerges"
if [ -f "$queue/wbt_lat_usec" ]; then echo 2000 >"$queue/wbt_lat_usec"; fi
began=$(state)

run dry-run 0 /tmp/dry q2c doctor --fix --dry-run "/dev/$RAW" &&
    expect dry-run "$(grep -c 'queue/scheduler .*mq-deadline .*none' /tmp/dry)" = 1 "$(grep -A 20 'to be changed' /tmp/dry)"
expect dry-run-changed-nothing "$(state)" = "$began" ""

run command 3 /tmp/command q2c doctor --fix "/dev/$RAW" -- sh -c "cat $settings; exit 3" &&
    expect command "$(grep -c '^\[none\]' /tmp/command), $(grep -c '^2$' /tmp/command)" = "1, 1" "$(tail -n 12 /tmp/command)"
is_back command-put-back "$(tail -n 1 /tmp/command)"

status=0
q2c doctor --fix --json "/dev/$RAW" >/tmp/fix.json 2>/tmp/fix.told || status=$?
expect left "$status" = 0 "$(cat /tmp/fix.told)"
expect left-changed "$(sed 's/.*\[\(.*\)\].*/\1/' "$queue/scheduler") $(cat "$queue/nomerges")" = "none 2" "$(state)"
q2c doctor --json >/tmp/pending 2>&1
expect left-is-told "$(doctor_word /tmp/pending restore-pending verdict)" = warn "$(doctor_word /tmp/pending restore-pending found)"
run restored 0 /tmp/restored q2c restore
is_back restored "$(cat /tmp/restored)"

q2c doctor --fix "/dev/$RAW" -- sleep 600 >/tmp/signal 2>&1 &
pid=$!
is_fixed
expect signal-fixed $? = 0 "$(cat /tmp/signal)"
# The command starts a moment after the change. A signal before that ends q2c with its own code.
for _ in $(seq 100); do
    [ -z "$(cat "/proc/$pid/task/"*/children 2>/dev/null)" ] || break
    sleep 0.1
done
kill -TERM $pid
status=0
wait $pid || status=$?
expect signal-code $status = 143 "$(tail -n 1 /tmp/signal)"
is_back signal-put-back "$(tail -n 1 /tmp/signal)"

q2c doctor --fix "/dev/$RAW" -- sleep 601 >/tmp/killed 2>&1 &
pid=$!
is_fixed
expect killed-fixed $? = 0 "$(cat /tmp/killed)"
kill -KILL $pid
wait $pid 2>/dev/null
kill "$(pgrep -f 'sleep 601' | head -n 1)" 2>/dev/null
expect killed-left "$(cat "$queue/nomerges")" = 2 ""
run killed-restored 0 /tmp/restored q2c restore
is_back killed-restored "$(cat /tmp/restored)"

# sysfs as in a container: the reason is told, and nothing is tried.
mount -o remount,ro /sys
run read-only 4 /tmp/read-only q2c doctor --fix --only scheduler,nomerges "/dev/$RAW" &&
    expect read-only "$(grep -c 'outside of this container' /tmp/read-only)" = 1 "$(tail -n 1 /tmp/read-only)"
run read-only-dry 0 /tmp/read-only q2c doctor --fix --dry-run --only scheduler,nomerges "/dev/$RAW" &&
    expect read-only-dry "$(grep -c 'read-only' /tmp/read-only)" -ge 1 "$(cat /tmp/read-only)"
q2c doctor --json >/tmp/read-only 2>&1
expect read-only-settings "$(doctor_word /tmp/read-only settings verdict)" = warn "$(doctor_word /tmp/read-only settings found)"
mount -o remount,rw /sys

echo "$scheduler" >"$queue/scheduler"
# shellcheck disable=SC2086
set -- $original
echo "$1" >"$queue/nr_requests"
echo "$2" >"$queue/nomerges"
