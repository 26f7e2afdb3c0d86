# Functions with which a topic of guest/tests tells its results. Sourced in the guest. Set are
# TOPIC, KERNEL (its row in guest/kernels) and the names of the NVMe devices: RAW (1 GiB, empty),
# EXT4 (at /mnt), SMALL (64 MiB, may be removed) and SLOW (1 GiB of zeros, every request takes 4
# ms).

# Prints one line of results. Line ends, carriage returns and tabs become blanks, as they would
# break the format.
tell() { printf 'q2c-guest: %s\n' "$(printf '%s' "$*" | tr '\n\r\t' '   ')" | tee -a /tmp/told /dev/ttyS1; }

pass() { verdict pass "$@"; } # NAME, DETAILS...
fail() { verdict fail "$@"; } # NAME, DETAILS...
skip() { verdict skip "$@"; } # NAME, REASON...
verdict() {
    local kind=$1 name=$2
    shift 2
    tell "$kind $TOPIC/$name $*"
}

# Passes when the comparison holds: expect NAME ACTUAL OPERATOR WANTED DETAILS... The operators are
# those of test, for whole numbers and words.
expect() {
    local name=$1 actual=$2 operator=$3 wanted=$4
    shift 4
    if test "$actual" "$operator" "$wanted"; then pass "$name" "$*"; else fail "$name" "found '$actual', wanted $operator '$wanted'; $*"; fi
}

# Runs a command and keeps its output in a file. Fails NAME with the end of the output unless the
# command ends with STATUS.
run() { # NAME STATUS FILE COMMAND...
    local name=$1 wanted=$2 file=$3 status=0
    shift 3
    "$@" >"$file" 2>&1 </dev/null || status=$?
    if [ "$status" = "$wanted" ]; then return 0; fi
    cat "$file"
    fail "$name" "ended with $status, wanted $wanted: $(tail -n 3 "$file")"
    return 1
}

# Prints the name of the small device once it has its queue. The PCI bus is scanned first, so the
# device comes back after it was removed; it may have another name then.
small_again() {
    local name= tries=0 serial
    echo 1 >/sys/bus/pci/rescan
    until [ -n "$name" ] && [ -b "/dev/$name" ] && [ -d "/sys/block/$name/queue" ] || [ $tries = 100 ]; do
        if [ $tries != 0 ]; then sleep 0.1; fi
        tries=$((tries + 1))
        for serial in /sys/class/nvme/nvme*/serial; do
            if [ "$(tr -d ' ' <"$serial")" = q2c-small ]; then name=$(basename "$(dirname "$serial")"/nvme*n1); fi
        done
    done
    echo "$name"
}

# Whether the running kernel is at least A.B.
kernel_at_least() { [ "$(printf '%s\n%s\n' "$1" "$(uname -r)" | sort -V | head -n 1)" = "$1" ]; }

# Prints the interrupts of a block device's queues so far: those of every vector of its controller
# except the admin queue's.
interrupts() { # CONTROLLER, as nvme0
    awk -v name="^$1q" '$NF ~ name && $NF !~ /q0$/ { for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) sum += $i } END { print sum + 0 }' /proc/interrupts
}

# Runs two seconds of 4 KiB random reads by fio, depth 1, on CPU 2. Sets IOS, CTX (voluntary
# switches), CPU (percent, whole number), IRQS (interrupts of the queues) and told_by_fio.
by_fio() { # DEVICE (as nvme0n1), FIO OPTIONS...
    local device=$1 before line
    shift
    before=$(interrupts "${device%n1}")
    line=$(fio --name=job --filename="/dev/$device" --direct=1 --rw=randread --bs=4k --runtime=2 --time_based \
        --cpus_allowed=2 --output-format=terse --terse-version=3 "$@" 2>&1 | grep '^3;')
    IRQS=$(($(interrupts "${device%n1}") - before))
    IOS=$(echo "$line" | awk -F';' '{ print int($6 / 4) }')
    CPU=$(echo "$line" | awk -F';' '{ print int($88 + $89) }')
    CTX=$(echo "$line" | awk -F';' '{ print $90 }')
    told_by_fio="fio: $IOS I/Os, $IRQS interrupts, $CTX switches, $CPU % CPU"
}

# Prints a field of a check in the output of `q2c doctor --json`: verdict, found, means ...
doctor_word() { # FILE, CHECK, WORD
    awk -v id="\"id\": \"$2\"," -v word="\"$3\":" 'index($0, id) { here = 1 } here && index($0, word) { print; exit }' "$1" |
        sed 's/^[^:]*: "\(.*\)",*$/\1/'
}

# Prints the first value of a name in pretty-printed JSON; empty for a name that is not there.
number() { sed -n "s/^ *\"$2\": \([-0-9.e+]*\),*\$/\1/p" "$1" | head -n 1; } # FILE, NAME

# Prints the result that a live view with --json left as its last line, over many lines.
summary() { # FILE
    grep '^{"kind":"summary"' "$1" >"$1.summary"
    q2c report "$1.summary" --json
}

# Whether a comparison of numbers with decimals holds.
holds() { awk "BEGIN { exit !($1) }"; }

# Prints the effective modes in the JSON of a command, a line each, with fields separated by tabs:
# asked, was, I/Os, interrupts, switches per I/O, ring flags.
modes() { # FILE
    awk '
        function value() { v = $0; sub(/^[^:]*: "?/, "", v); sub(/"?,?$/, "", v); return v }
        /"asked":/ { asked = value() }
        /"kind":/ { was = value() }
        /"means":/ { if ($0 ~ /: "/) was = was " (" value() ")" }
        /"note":/ { if ($0 ~ /: "/) was = was ", " value() }
        /"interrupted":/ { was = was ", interrupted" }
        /"ios": [0-9]+$/ { ios = value() }
        /"interrupts":/ { irqs = value() }
        /"ring-flags":/ { flags = value() }
        /"switches-per-wait":/ { print asked "\t" was "\t" ios "\t" irqs "\t" value() "\t" flags }' "$1"
}

# Prints a line for each point that ran in the JSON of `q2c bench`, with fields separated by tabs:
# engine, method, effective mode, interrupts and switches per 1000 I/Os.
bench_modes() { # FILE
    awk '
        function value() { v = $0; sub(/^[^:]*: "?/, "", v); sub(/"?,?$/, "", v); return v }
        # The engine in a proof is the last key of its object, so that no comma follows.
        /"engine": .*,$/ { engine = value() }
        /"method":/ { method = value() }
        /"kind":/ { was = value() }
        /"means":/ { if ($0 ~ /: "/) was = was " (" value() ")" }
        /"note":/ { if ($0 ~ /: "/) was = was ", " value() }
        /"interrupted":/ { was = was ", interrupted" }
        /"interrupts-per-io":/ { irqs = value() }
        /"switches-per-io":/ { print engine "\t" method "\t" was "\t" int(irqs * 1000) "\t" int(value() * 1000) }' "$1"
}

# Runs `q2c bench` and prints the effective mode of each point. The result is in /tmp/NAME.result,
# all output in /tmp/NAME.json, and what was asked in /tmp/NAME.asked.
benched() { # NAME, DEVICE, OPTIONS...
    local name=$1 device=$2
    echo "$@" >"/tmp/$name.asked"
    shift 2
    run "$name" 0 "/tmp/$name.json" q2c bench "/dev/$device" --cpus 2,3 --seconds 1 --warm-up 0.5 --trials 1 --out /tmp/bench --json "$@" || return 1
    sed -n '/^{/,$p' "/tmp/$name.json" >"/tmp/$name.result"
    bench_modes "/tmp/$name.result" | tee "/tmp/$name.modes"
}

# Looks at one point: point_holds FILE ENGINE METHOD PATTERN IRQS-AT-MOST SWITCHES-AT-LEAST
# SWITCHES-AT-MOST (the counts are per 1000 I/Os). Sets told_by_point.
point_holds() {
    local line was irqs switches
    line=$(awk -F'\t' -v e="$2" -v m="$3" '$1 == e && $2 == m' "/tmp/$1.modes")
    was=$(echo "$line" | cut -f 3) irqs=$(echo "$line" | cut -f 4) switches=$(echo "$line" | cut -f 5)
    told_by_point="$2 $3: $was; per 1000 I/Os $irqs interrupts, $switches switches"
    case $was in $4) [ "$irqs" -le "$5" ] && [ "$switches" -ge "$6" ] && [ "$switches" -le "$7" ] ;; *) false ;; esac
}

# Checks one point: expect_mode NAME and the arguments of point_holds.
expect_mode() {
    local name=$1
    shift
    point_holds "$@"
    expect "$name" $? = 0 "$told_by_point"
}

# The same, for jobs that wait for interrupts. On a busy host the guest loses its CPU between
# submission and wait. The I/O is then complete before the job leaves its CPU, and there are fewer
# switches than I/Os. So the benchmark is repeated, up to three runs in all, until the point holds.
expect_mode_in_three() {
    local name=$1 tries=1
    shift
    until point_holds "$@" || [ $tries = 3 ]; do
        tries=$((tries + 1))
        # shellcheck disable=SC2046
        benched $(cat "/tmp/$1.asked") || return 1
    done
    expect_mode "$name" "$@"
}
