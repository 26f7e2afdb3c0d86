# Placement of polling tasks: who polls is seen by the kernel's poll functions. The machine has two
# cores with two threads each: CPUs 0 and 1, 2 and 3.
# limit: 300

# Probes are put on and taken off only while nothing polls; poll_steer says why. So q2c starts
# before the load, and the load ends, or is stopped by a signal, before q2c ends.

# Starts a task that computes; its name begins with busybox, or busybox would not know what to do.
computes() { # NAME
    cp /bin/busybox "/tmp/$1"
    "/tmp/$1" sh -c 'while :; do :; done' &
    COMPUTES="$COMPUTES $!"
}
# Starts fio, which polls for reads of the device for so many seconds.
polls() { # NAME, SECONDS, OPTIONS...
    local name=$1 seconds=$2
    shift 2
    fio --name="$name" --filename="/dev/$RAW" --direct=1 --rw=randread --bs=4k --runtime="$seconds" --time_based \
        --thread --ioengine=io_uring --hipri "$@" >"/tmp/$name.fio" 2>&1 &
}

# Prints "POLLS, BY" of the tasks with this name in a look of q2c place watch, each pair once.
task() { # FILE, NAME
    awk -v name="\"name\": \"$2" '
        function value() { v = $0; sub(/^[^:]*: "?/, "", v); sub(/"?[,}]*$/, "", v); return v }
        index($0, "\"name\":") { here = index($0, name) }
        here && /"polls":/ { polls = value() }
        here && /"by":/ { print polls ", " value() }' "$1" | sort -u
}

joined() { tr '\n' ' ' | sed 's/ $//'; }
COMPUTES=
: >/tmp/look
q2c place watch --windows 40 --json-lines >/tmp/looks 2>/tmp/look.err &
watch=$!
sleep 1
computes busybox-c
polls iopoll 5 --cpus_allowed=2
first=$!
polls sqpoll 5 --sqthread_poll=1 --cpus_allowed=3
wait $first $!
kill -INT $watch
wait $watch
expect watch-ends $? = 0 "$(tail -n 2 /tmp/look.err)"
# All looks, a field on a line.
sed 's/[{,]/&\n/g; s/":/": /g' /tmp/looks >/tmp/look
expect functions "$(grep -c 'blk_mq_poll\|blk_poll' /tmp/look)" -ge 1 "$(tr -d ' \n' </tmp/look | grep -o '"detector":{[^}]*}')"
expect fio-polls "$(task /tmp/look fio | grep -cx 'true, kernel')" = 1 "$(task /tmp/look fio | joined)"
thread=iou-sqp
kernel_at_least 5.12 || thread=io_uring-sq
expect sqpoll-thread "$(task /tmp/look $thread | grep -c true)" = 1 "$(task /tmp/look $thread)"
expect compute-task "$(task /tmp/look busybox-c)" = "false, nothing" "in all looks"
expect smt "$(grep -c no-smt /tmp/look)" = 0 "two threads for each core"
kill $COMPUTES
wait

# The CPUs that a thread may run on.
cpus_of() { sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$1/status" 2>/dev/null; } # TID
# The CPUs of all threads of fio that do I/O, and of the compute tasks, a line each. fio has two threads
# more, which hardly use a CPU after its start.
cpus_of_pollers() {
    # Those with most CPU time, because fio has a helper besides.
    for task in /proc/"$LOAD"/task/*; do
        if [ "${task##*/}" != "$LOAD" ]; then awk '$14 + $15 > 20 { print $14 + $15, $1 }' "$task/stat" 2>/dev/null; fi
    done | sort -rn | head -n 4 | while read -r ticks task; do cpus_of "$task"; done | sort
}
cpus_of_computers() { for task in $COMPUTES; do cpus_of "$task"; done | sort; }
# Whether the polling tasks are two on each core, on one CPU of it, and the others have the other CPUs.
is_placed() {
    # A look takes seconds on a busy host, so it is taken once.
    set -- $(cpus_of_pollers)
    case "$1$2$3$4" in *[!0-3]*) return 1 ;; esac
    [ $# = 4 ] && [ "$1" = "$2" ] && [ "$3" = "$4" ] && [ $(($1 / 2)) != $(($3 / 2)) ] &&
        [ "$(cpus_of_computers | sort -u | tr - ,)" = "$((1 - $1 % 2)),$((3 - $3 % 2))" ]
}
# Starts the daemon, and waits until it has begun. Sets DAEMON.
place() { # OPTIONS...
    : >/tmp/place
    q2c place start --journal /tmp/journal "$@" >/tmp/place 2>&1 &
    DAEMON=$!
    until grep -q ' s ' /tmp/place || ! kill -0 $DAEMON 2>/dev/null; do sleep 0.1; done
}
# Waits until the daemon has said so, at most 20 s.
told() { # WORDS
    local tries=0
    until grep -q "$1" /tmp/place || [ $tries = 100 ]; do
        sleep 0.2
        tries=$((tries + 1))
    done
}
uptime_ds() { sed 's/^\([0-9]*\)[.]\(.\).*/\1\2/' /proc/uptime; } # in tenths of a second
# Waits until four threads poll, at most 20 s, and then until all tasks are placed, at most 40 s. Sets PLACED to
# the tenths of a second of the second wait; empty when they were not placed.
wait_placed() {
    local begun tries=0
    until [ "$(cpus_of_pollers | wc -l)" = 4 ] || [ $tries = 100 ]; do
        sleep 0.2
        tries=$((tries + 1))
    done
    begun=$(uptime_ds)
    PLACED=
    until [ -n "$PLACED" ] || [ $(($(uptime_ds) - begun)) -ge 400 ]; do
        if is_placed; then PLACED=$(($(uptime_ds) - begun)); else sleep 0.2; fi
    done
    FOUND="polling $(cpus_of_pollers | joined), computing $(cpus_of_computers | joined)"
}
load() { # SECONDS
    fio --name=load --filename="/dev/$RAW" --direct=1 --rw=randread --bs=4k --runtime="$1" --time_based --numjobs=4 \
        --thread --ioengine=io_uring --hipri >/tmp/load 2>&1 &
    LOAD=$!
    COMPUTES=
    for n in 1 2 3; do computes busybox-$n; done
    cp /bin/busybox /tmp/busybox-pinned
    taskset 2 /tmp/busybox-pinned sh -c 'while :; do :; done' &
    PINNED=$!
    sleep 1
}
unload() {
    kill -KILL $COMPUTES $PINNED $LOAD
    wait $COMPUTES $PINNED $LOAD 2>/dev/null
}

place
load 90
wait_placed
expect placed "${PLACED:-no}" != no "$FOUND"
least=${PLACED:-999}
expect pinned-stays "$(cpus_of $PINNED)" = 1 "$(grep -c busybox-pinned /tmp/place) lines of the log name it"
kill -STOP $LOAD
run second-refused 4 /tmp/second q2c place start --journal /tmp/journal --seconds 1 &&
    expect second-refused "$(grep -c "process $DAEMON holds it" /tmp/second)" = 1 "$(tail -n 1 /tmp/second)"
kill -TERM $DAEMON
wait $DAEMON
ended=$?
cat /tmp/place
expect sigterm-restores "$ended, $(cpus_of_pollers | sort -u), $(cpus_of_computers | sort -u), $(cpus_of $PINNED)" = "0, 0-3, 0-3, 1" "$(tail -n 1 /tmp/place)"
unload

place
load 90
wait_placed
if [ "${PLACED:-999}" -lt "$least" ]; then least=$PLACED; fi
kill -STOP $LOAD
kill -KILL $DAEMON
wait $DAEMON 2>/dev/null
expect sigkill-leaves-them "$(cpus_of_pollers | grep -cx '[0-3]')" = 4 "$FOUND"
run sigkill-restored 0 /tmp/restored q2c restore --journal /tmp/journal &&
    expect sigkill-restored "$(cpus_of_pollers | sort -u), $(cpus_of_computers | sort -u), $(cpus_of $PINNED)" = "0-3, 0-3, 1" "$(grep -c restored /tmp/restored) tasks; $(tail -n 1 /tmp/restored)"
unload

# A daemon that was killed and started again knows its own masks.
place
load 90
wait_placed
kill -STOP $LOAD
kill -KILL $DAEMON
wait $DAEMON 2>/dev/null
left=$(cpus_of_computers | sort -u)
place
expect own-masks-are-known "$(cpus_of_pollers | sort -u), $(cpus_of_computers | sort -u), $(cpus_of $PINNED)" = "0-3, 0-3, 1" "$left before it"
kill -CONT $LOAD
wait_placed
expect placed-again "${PLACED:-no}" != no "$FOUND"
if [ "${PLACED:-999}" -lt "$least" ]; then least=$PLACED; fi
# A window of the daemon is 500 ms and a look at all tasks, which emulated on a busy machine takes longer than that.
begun=$(uptime_ds)
for n in 1 2 3 4; do
    sleep 0.5
    cat /proc/[0-9]*/task/*/stat >/tmp/tasks 2>/dev/null
done
four_windows=$(($(uptime_ds) - begun))
expect placed-within-10-windows $((4 * least)) -le $((10 * four_windows)) "$least tenths of a second after all polled, the best of three"
kill -STOP $LOAD

# A CPU that goes takes nothing along, and comes back.
echo 0 >/sys/devices/system/cpu/cpu3/online
told 'CPUs 0-2 are online'
expect hotplug "$(grep -c 'CPUs 0-2 are online' /tmp/place)" = 1 "$(tail -n 2 /tmp/place | joined)"
echo 1 >/sys/devices/system/cpu/cpu3/online
told 'CPUs 0-3 are online'
expect hotplug-back "$(kill -0 $DAEMON && grep -c 'CPUs 0-3 are online' /tmp/place)" = 1 "$(tail -n 1 /tmp/place)"
kill -TERM $DAEMON
wait $DAEMON
expect all-is-back "$(ls /tmp/journal/*.jsonl 2>/dev/null | wc -l), $(cpus_of_computers | sort -u)" = "0, 0-3" "journals, CPUs"
unload

# The emulated CPUs show siblings, but share no pipeline: no gain may be told.
run calibrate-refused 4 /tmp/calibrate q2c place calibrate --trial 50ms --trials 3 &&
    expect calibrate-refused "$(grep -c 'an emulated one' /tmp/calibrate)" = 1 "$(tail -n 1 /tmp/calibrate)"
run run-refused 4 /tmp/run q2c place run --trials 1 &&
    expect run-refused "$(grep -c 'an emulated one' /tmp/run)" = 1 "$(tail -n 1 /tmp/run)"

# A trial of q2c place run with its daemon, by the test that asks for no shared pipeline.
Q2C_NO_SKIP=1 /q2c/placements --test-threads=1 >/tmp/placements 2>&1
status=$?
tail -n 20 /tmp/placements
expect run-by-the-daemon $status = 0 "$(grep '^test result' /tmp/placements)"
