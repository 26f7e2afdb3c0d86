# limit: 600
# One polling path per comparison: on a device with poll queues `poll` and sleep rules poll the
# device, and no device interrupts; `interrupt` beside them is interrupted once for each I/O. The path
# can be asked for by name.

if ! [ "$(cat "/sys/block/$SLOW/queue/io_poll")" = 1 ]; then
    skip polls "$SLOW has no poll queues on this kernel"
    return 0
fi
min='hybrid:min:ratio=70%,period=10ms'

# Prints the median miss rate of a method in a result of `q2c bench`, in percent, as a whole number.
misses() { # FILE, METHOD
    awk -v method="\"method\": \"$2\"" '
        index($0, method) { here = 1 }
        here && /"miss_rate":/ { inside = 1 }
        here && inside && /"median":/ { sub(/.*: /, ""); print int($0 * 100 + 0.5); exit }' "$1"
}

# The device answers after 4 ms. The first look after a sleep of 1 ms does not find the completion,
# also where that look asks the device: it does not stay there until the completion, in which case
# all I/Os would be misses. On a busy host some sleeps last longer. After a sleep of 30 ms it always
# finds it.
benched paths "$SLOW" --engine io_uring --method "interrupt,poll,hybrid:fixed:1ms,hybrid:fixed:30ms,$min" || return 0
expect_mode_in_three interrupt paths io_uring interrupt interrupt 5000 500 5000
expect_mode poll paths io_uring poll 'poll (iopoll)' 1 0 100
expect_mode fixed paths io_uring hybrid:fixed:sleep=1ms 'hybrid (iopoll)' 1 500 5000
expect_mode fixed-too-long paths io_uring hybrid:fixed:sleep=30ms 'hybrid (iopoll)' 1 500 5000
expect_mode min paths io_uring "$min" 'hybrid (iopoll)' 1 500 5000
short=$(misses /tmp/paths.result hybrid:fixed:sleep=1ms)
long=$(misses /tmp/paths.result hybrid:fixed:sleep=30ms)
expect misses-of-a-long-sleep "${long:-none}" = 100 "sleeps of 30 ms on a device of 4 ms: ${long:-none} % missed"
expect misses-of-a-short-sleep "${short:-100}" -le 80 "sleeps of 1 ms on a device of 4 ms: ${short:-none} % missed"
expect one-path "$(grep -c '"two-paths"' /tmp/paths.result)" = 0 "no warning of two paths"

# Interrupts per 1000 I/Os of a point.
interrupts_of() { awk -F'\t' -v e="$2" -v m="$3" '$1 == e && $2 == m { print $4 }' "/tmp/$1.modes"; }

# By name: the ring, whose device interrupts, and IOPOLL, with interrupts on a ring beside.
benched named "$SLOW" --engine io_uring:ring,io_uring:iopoll --method interrupt,poll,hybrid:fixed:1ms || return 0
expect_mode ring-poll named io_uring:ring poll 'poll (ring)' 5000 0 100
expect_mode ring-hybrid named io_uring:ring hybrid:fixed:sleep=1ms 'hybrid (ring)' 5000 500 5000
expect_mode iopoll-poll named io_uring:iopoll poll 'poll (iopoll)' 1 0 100
expect_mode iopoll-hybrid named io_uring:iopoll hybrid:fixed:sleep=1ms 'hybrid (iopoll)' 1 500 5000
expect_mode_in_three iopoll-interrupt named io_uring:iopoll interrupt interrupt 5000 500 5000
for point in 'io_uring:ring poll' 'io_uring:ring hybrid:fixed:sleep=1ms' 'io_uring:iopoll interrupt'; do
    irqs=$(interrupts_of named "${point% *}" "${point#* }")
    expect "interrupts-$(echo "$point" | tr ' :=' '---')" "${irqs:-0}" -ge 500 "$point: ${irqs:-no} interrupts per 1000 I/Os"
done

# A rule that leaves I/Os to the interrupt decides so at their submission: from 40.5 us on `ehp` leaves
# all of them. They are interrupted, and it is told.
benched left "$SLOW" --engine io_uring --method hybrid:ehp || return 0
expect left-to-interrupt "$(grep -c '"left-to-interrupt"' /tmp/left.result)" -ge 1 "$(cut -f 2-4 /tmp/left.modes)"

# Watching goes from method to method in one run of one thread.
run watched 0 /tmp/watch.json q2c poll watch "/dev/$SLOW" --policy poll --policy fixed:1ms --policy interrupt \
    --every 3s --seconds 9 --interval 1s --json --cpu 2 --out /tmp/watch || return 0
summary /tmp/watch.json >/tmp/watch.result
# Prints for each method: method, means, interrupts per 1000 I/Os.
watched() {
    awk '
        function value() { v = $0; sub(/^[^:]*: "?/, "", v); sub(/"?,?$/, "", v); return v }
        /"intervals": \[/ { exit }
        /"method": "/ { method = value() }
        /"kind":/ { kind = value() }
        /"means":/ { means = value() }
        /"interrupts_per_io":/ { print method "\t" kind "\t" means "\t" int(value() * 1000) }' /tmp/watch.result
}
watched | tee /tmp/watch.modes
line() { awk -F'\t' -v m="$1" 'index($1, m) == 1 { print $2, $3; exit }' /tmp/watch.modes; }
irqs() { awk -F'\t' -v m="$1" 'index($1, m) == 1 { print $4; exit }' /tmp/watch.modes; }
expect watch-poll "$(line poll)" = 'poll iopoll' "$(irqs poll) interrupts per 1000 I/Os"
expect watch-hybrid "$(line hybrid)" = 'hybrid iopoll' "$(irqs hybrid) interrupts per 1000 I/Os"
expect watch-polls-without-interrupts "$(($(irqs poll) + $(irqs hybrid)))" -le 60 "a change of method is in the first interval"
expect watch-interrupt "$(irqs interrupt)" -ge 500 "$(irqs interrupt) interrupts per 1000 I/Os"

# The contract tests of the engine with two paths, on a file of a device that is polled.
Q2C_NO_SKIP=1 Q2C_TEST_ENGINE=io_uring:iopoll Q2C_TEST_FOLDER=/mnt /q2c/contract --test-threads=1 >/tmp/contract 2>&1
status=$?
tail -n 40 /tmp/contract
expect contract $status = 0 "$(grep '^test result' /tmp/contract)"
