# The sched_ext scheduler: loaded by a kernel that has the option, it spreads polling tasks over the
# cores and keeps them on one CPU of each; the kernel's own scheduler is back whatever ends it. The
# machine has two cores with two threads each: CPUs 0 and 1, 2 and 3.
# limit: 300

state() { cat /sys/kernel/sched_ext/state; }
# Starts the scheduler, and waits until it is in force. Sets SCHEDULER. Nothing polls meanwhile;
# poll_steer says why.
schedule() { # OPTIONS...
    : >/tmp/scx
    q2c place start --mode scx "$@" >/tmp/scx 2>&1 &
    SCHEDULER=$!
    until grep -q 'in force on' /tmp/scx || ! kill -0 $SCHEDULER 2>/dev/null; do sleep 0.1; done
}
disabled_within() { # SECONDS
    local tries=0
    until [ "$(state)" = disabled ] || [ $tries = $(($1 * 10)) ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    state
}
# Waits until the scheduler has said that it is in force on so many CPUs, as often as asked for.
in_force_on() { # CPUS, TIMES
    local tries=0
    until [ "$(grep -c "in force on $1 CPUs" /tmp/scx)" = "$2" ] || [ $tries = 150 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    grep -c "in force on $1 CPUs" /tmp/scx
}
# The CPUs that the four threads of fio that do I/O had last, a line each: those with most CPU time,
# because fio has a helper besides.
pollers() {
    for task in /proc/"$LOAD"/task/*; do
        if [ "${task##*/}" != "$LOAD" ]; then awk '$14 + $15 > 20 { print $14 + $15, $39 }' "$task/stat" 2>/dev/null; fi
    done | sort -rn | head -n 4 | awk '{ print $2 }' | sort
}
# Whether two polling tasks are on one CPU of each core.
is_placed() {
    set -- $(pollers)
    [ $# = 4 ] && [ "$1" = "$2" ] && [ "$3" = "$4" ] && [ $(($1 / 2)) != $(($3 / 2)) ]
}
# Prints in how many of 40 looks they are.
looks_placed() {
    local placed=0 look
    for look in $(seq 40); do
        if is_placed; then placed=$((placed + 1)); fi
        sleep 0.1
    done
    echo $placed
}
load() {
    fio --name=load --filename="/dev/$RAW" --direct=1 --rw=randread --bs=4k --runtime=220 --time_based --numjobs=4 \
        --thread --ioengine=io_uring --hipri >/tmp/load 2>&1 &
    LOAD=$!
    COMPUTES=
    for n in 1 2 3; do
        cp /bin/busybox /tmp/busybox-$n
        /tmp/busybox-$n sh -c 'while :; do :; done' &
        COMPUTES="$COMPUTES $!"
    done
    taskset 2 /tmp/busybox-1 sh -c 'while :; do :; done' &
    PINNED=$!
}
unload() {
    kill -KILL $COMPUTES $PINNED $LOAD
    wait $COMPUTES $PINNED $LOAD 2>/dev/null
}

if [ ! -d /sys/kernel/sched_ext ]; then
    fail loads "this kernel has no sched_ext; the row scx is for one that has it"
    return 0
fi
schedule
expect loads "$(state), $(cat /sys/kernel/sched_ext/root/ops)" = "enabled, q2c" "$(tail -n 3 /tmp/scx)"
if [ "$(state)" != enabled ]; then return 0; fi
run second-refused 4 /tmp/second q2c place start --mode scx --seconds 1 &&
    expect second-refused "$(grep -c 'q2c. is loaded' /tmp/second)" = 1 "$(tail -n 1 /tmp/second)"
load
sleep 6
placed=$(looks_placed)
# The kernel's own scheduler has them so in one look of 25 (topic place_free); a busy host delays moves.
expect placed "$placed" -gt 20 "of 40 looks; at last $(pollers | tr '\n' ' ')"
expect pinned "$(awk '{ print $39 }' /proc/$PINNED/stat)" = 1 "its only CPU"
grep . /sys/kernel/sched_ext/root/events 2>/dev/null | head -n 20
kill -STOP $LOAD
kill -INT $SCHEDULER
wait $SCHEDULER
ended=$?
cat /tmp/scx
expect sigint "$ended, $(disabled_within 2)" = "0, disabled" "$(tail -n 2 /tmp/scx)"
unload

schedule
kill -KILL $SCHEDULER
wait $SCHEDULER 2>/dev/null
expect sigkill "$(disabled_within 2)" = disabled "the kernel's own scheduler is in force"

schedule
echo 0 >/sys/devices/system/cpu/cpu3/online
expect hotplug "$(in_force_on 3 1), $(state)" = "1, enabled" "$(tail -n 2 /tmp/scx)"
echo 1 >/sys/devices/system/cpu/cpu3/online
expect hotplug-back "$(in_force_on 4 2), $(state)" = "2, enabled" "$(tail -n 1 /tmp/scx)"
# SysRq-S makes the kernel end the scheduler, as its watchdog does.
echo S >/proc/sysrq-trigger
wait $SCHEDULER
expect ejected "$?, $(disabled_within 2), $(grep -c 'the kernel ended it' /tmp/scx)" = "4, disabled, 1" "$(tail -n 1 /tmp/scx)"

# The published rules alone: no swaps, and a difference of one task is enough for a move.
schedule --rules published
load
sleep 15
placed=$(looks_placed)
expect published-placed "$placed" -gt 20 "of 40 looks; at last $(pollers | tr '\n' ' ')"
kill -STOP $LOAD
kill -INT $SCHEDULER
wait $SCHEDULER
expect published-swaps "$?, $(grep -o '[0-9]* swaps' /tmp/scx | tail -n 1)" = "0, 0 swaps" "$(tail -n 2 /tmp/scx | head -n 1)"
unload
