# What a topic of guest/tests tells its result with. Sourced in the guest; TOPIC and KERNEL are set.

# One line of results; line ends and carriage returns would break the form.
tell() { printf 'q2c-guest: %s\n' "$(printf '%s' "$*" | tr '\n\r\t' '   ')" | tee /dev/ttyS1; }

pass() { verdict pass "$@"; } # NAME, DETAILS...
fail() { verdict fail "$@"; } # NAME, DETAILS...
skip() { verdict skip "$@"; } # NAME, REASON...
verdict() {
    local kind=$1 name=$2
    shift 2
    tell "$kind $TOPIC/$name $*"
}

# Passes when the numbers or words compare as said: expect NAME ACTUAL OPERATOR WANTED DETAILS...
# Operators are those of test, for whole numbers and words.
expect() {
    local name=$1 actual=$2 operator=$3 wanted=$4
    shift 4
    if test "$actual" "$operator" "$wanted"; then pass "$name" "$*"; else fail "$name" "found '$actual', wanted $operator '$wanted'; $*"; fi
}

# Runs a command, its output kept in a file; fails NAME with the output's end unless it ends with STATUS.
run() { # NAME STATUS FILE COMMAND...
    local name=$1 wanted=$2 file=$3 status=0
    shift 3
    "$@" >"$file" 2>&1 </dev/null || status=$?
    if [ "$status" = "$wanted" ]; then return 0; fi
    cat "$file"
    fail "$name" "ended with $status, wanted $wanted: $(tail -n 3 "$file")"
    return 1
}

# Whether the running kernel is at least A.B.
kernel_at_least() { [ "$(printf '%s\n%s\n' "$1" "$(uname -r)" | sort -V | head -n 1)" = "$1" ]; }

# Interrupts of a block device's queues so far: every vector of its controller but the one for administration.
interrupts() { # CONTROLLER, as nvme0
    awk -v name="^$1q" '$NF ~ name && $NF !~ /q0$/ { for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) sum += $i } END { print sum + 0 }' /proc/interrupts
}
