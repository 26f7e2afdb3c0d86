# q2c trace record by BPF: exact counts by hardware queue, and what q2c analyze makes of them.

# Records the 4 KiB reads of a device while fio runs. The analysis is in /tmp/NAME.result.
recorded() { # NAME, DEVICE, FIO OPTIONS...; $BY: bpf or tracefs
    local name=$1 device=$2
    shift 2
    rm -f "/tmp/$name.trace"
    run "$name" 0 "/tmp/$name.info" q2c trace record "/dev/$device" --by "${BY:-bpf}" --op read --min-size 4k --max-size 4k --out "/tmp/$name.trace" -- \
        fio --filename="/dev/$device" --direct=1 --rw=randread --bs=4k --ioengine=psync --readonly --output="/tmp/$name.fio" "$@" || return 1
    q2c analyze "/tmp/$name.trace" --json >"/tmp/$name.result" || { fail "$name" "analyze ended with $?: $(tr -s " " <"/tmp/$name.info")"; return 1; }
    cat "/tmp/$name.info"
}

# Prints the requests by hardware queue, as 0=200,1=200.
by_queue() { # NAME
    awk -F'[ ,:]+' '
        /^  "hctx": \[/ { here = 1; next }
        /^  \]/ { here = 0 }
        here && /"hctx":/ { queue = $3 }
        here && /"requests":/ { printf "%s%s=%s", comma, queue, $3; comma = "," }' "/tmp/$1.result"
}

# Prints how many I/Os the recording lacks and has counted: I/Os whose end was not seen, and
# completions whose start was not seen. Newer kernels leave out a BPF program at some events, when
# another thread that was interrupted in that program is on the same CPU.
missing() { # NAME
    awk -F'[ ,:]+' '
        /^  "lost":/ { sum += $3 }
        /^    "completion without queue":/ { sum += $NF == "" ? $(NF - 1) : $NF }
        END { print sum + 0 }' "/tmp/$1.result"
}

# Compares counts by hardware queue: exact; counted, when just as many are missing as the recording
# says; or wrong.
compared() { # FOUND, WANTED, MISSING
    if [ "$1" = "$2" ]; then echo exact; return; fi
    echo "$1 $2" | awk -v missing="$3" '
        function parts(text, into,    n, all, pair) {
            n = split(text, all, ",")
            while (n > 0) { split(all[n--], pair, "="); into[pair[1]] = pair[2] }
        }
        {
            parts($1, found); parts($2, wanted)
            for (queue in found) { left -= found[queue]; if (found[queue] > wanted[queue]) wrong = 1 }
            for (queue in wanted) left += wanted[queue]
            print (!wrong && left > 0 && left == missing ? "counted" : "wrong")
        }'
}

# Prints a field of the analysis: "verdict" or "stage" of the first object that has it after PLACE.
told_word() { # NAME, PLACE, WORD
    awk -F'"' -v place="  \"$2\": {" -v word="$3" 'index($0, place) == 1 { here = 1 } here && $2 == word { print $4; exit }' "/tmp/$1.result"
}

# Prints fio's options for one job per CPU that reads this number of blocks: per_cpu N0 N1 N2 N3
per_cpu() {
    local cpu=0 count
    for count in "$@"; do
        echo "--name=cpu$cpu --cpus_allowed=$cpu --number_ios=$count"
        cpu=$((cpu + 1))
    done
}

# Prints the hardware queue of a CPU, as sysfs has it. Queues for interrupts come before those for
# polling, so the lowest number is taken.
queue_of() { # DEVICE, CPU
    for dir in $(ls "/sys/block/$1/mq" | sort -n); do
        if tr ', ' '\n\n' <"/sys/block/$1/mq/$dir/cpu_list" | grep -qx "$2"; then echo "$dir"; return; fi
    done
}

# Prints what by_queue must print: wanted N0 N1 N2 N3
wanted() {
    local cpu=0 count
    for count in "$@"; do
        echo "$(queue_of "$RAW" $cpu) $count"
        cpu=$((cpu + 1))
    done | awk '{ sum[$1] += $2 } END { for (queue = 0; queue < 64; queue++) if (queue in sum) { printf "%s%d=%d", comma, queue, sum[queue]; comma = "," } }'
}

for case in "even 300 300 300 300" "uneven 900 300 100 100"; do
    # shellcheck disable=SC2086
    set -- $case
    verdict=$1
    shift
    # shellcheck disable=SC2046
    if recorded "$verdict" "$RAW" $(per_cpu "$@"); then
        found=$(by_queue "$verdict")
        missing=$(missing "$verdict")
        case $(compared "$found" "$(wanted "$@")" "$missing") in
            exact) pass "$verdict-counts" "requests by hardware queue: $found" ;;
            counted) pass "$verdict-counts" "requests by hardware queue: $found, and $missing counted as missing of $(wanted "$@")" ;;
            *) fail "$verdict-counts" "requests by hardware queue: $found, and $missing counted as missing, expected $(wanted "$@")" ;;
        esac
        expect "$verdict-verdict" "$(told_word "$verdict" balance verdict)" = "$verdict" "of q2c analyze"
    fi
done

# Eight jobs run on one CPU, so on one hardware queue. With 4 requests in the queue they wait for a
# request; with 128 they do not.
nr=/sys/block/$SLOW/queue/nr_requests
before=$(cat "$nr")
for case in "4 Q2G" "128 D2C"; do
    # shellcheck disable=SC2086
    set -- $case
    if ! echo "$1" >"$nr"; then
        skip "requests-$1" "nr_requests of $SLOW cannot be $1"
    elif recorded "requests-$1" "$SLOW" --name=jobs --numjobs=8 --cpus_allowed=1 --number_ios=60 --norandommap; then
        expect "requests-$1" "$(told_word "requests-$1" bottleneck stage)" = "$2" "nr_requests $1, 8 jobs: $(awk '/"shares":/ { here = 1; next } here && /}/ { exit } here' "/tmp/requests-$1.result")"
        missing=$(missing "requests-$1")
        records=$(sed -n 's/.*: \([0-9]*\) records$/\1/p' "/tmp/requests-$1.info")
        expect "requests-$1-count" $((records + missing)) -eq 480 "8 jobs of 60 reads: $records records, $missing counted as missing"
    fi
done
# The same recording by the kernel's tracing files. No event is left out there.
if ! echo 4 >"$nr"; then
    skip tracefs-count "nr_requests of $SLOW cannot be 4"
elif BY=tracefs recorded tracefs "$SLOW" --name=jobs --numjobs=8 --cpus_allowed=1 --number_ios=60 --norandommap; then
    expect tracefs-count "$(sed -n 's/.*: \([0-9]*\) records$/\1/p' /tmp/tracefs.info)" = 480 "records of 8 jobs of 60 reads; $(grep -E 'lost by|left out' /tmp/tracefs.info | tr -s ' \n' ' ')"
    expect tracefs-stage "$(told_word tracefs bottleneck stage)" = Q2G "nr_requests 4, 8 jobs"
    expect tracefs-gone "$(ls -d /sys/kernel/tracing/instances/q2c-* /sys/kernel/debug/tracing/instances/q2c-* 2>/dev/null | wc -l)" = 0 "instances left behind"
fi
echo "$before" >"$nr"
expect nr-requests-restored "$(cat "$nr")" = "$before" "nr_requests of $SLOW"

# Writes with a flush each are recorded, too.
if q2c trace record "/dev/$RAW" --op write --out /tmp/sync.trace -- fio --name=sync --filename="/dev/$RAW" --direct=1 --rw=write --bs=4k --number_ios=50 --fdatasync=1 --ioengine=psync >/tmp/sync.info 2>&1; then
    expect writes "$(sed -n 's/.*: \([0-9]*\) records$/\1/p' /tmp/sync.info)" -ge 50 "50 writes with a flush each"
else
    fail writes "$(tail -n 3 /tmp/sync.info)"
fi
