# The simulator's free balancer against the kernel's: in which states tasks are that nobody places.
# Four tasks stand for polling ones and four for computing ones; to a balancer that is blind to
# polling they are all the same. Where each is follows from sched_switch. The machine has two cores
# with two threads each, and no shared pipeline, so that the simulator's speeds are 1.
# limit: 280

trace=/sys/kernel/tracing
starts=30

# Starts eight spinners, four of each kind in an order drawn by the seed. Sets POLLING and ALL.
spin() { # SEED
    POLLING= ALL=
    for kind in $(awk -v seed="$1" 'BEGIN { srand(seed); p = 4; c = 4; while (p + c) if (rand() * (p + c) < p) { print "p"; p-- } else { print "c"; c-- } }'); do
        /bin/busybox sh -c 'while :; do :; done' &
        ALL="$ALL $!"
        if [ $kind = p ]; then POLLING="$POLLING $!"; fi
    done
}

# Reads a trace, and prints the seconds in each state: colocate, spread, bunch, heap. A task is on the
# CPU that it was switched to last.
states() { # POLLING
    awk -v polling="$1" '
        BEGIN { n = split(polling, list, " "); for (i = 1; i <= n; i++) is_p[list[i]] = 1 }
        function state(   c, a, b, core, even, sides) {
            for (c = 0; c < 4; c++) on[c] = 0
            for (c in at) on[at[c]]++
            core[0] = on[0] + on[1]; core[1] = on[2] + on[3]
            a = core[0] - core[1]; even = a <= 1 && a >= -1
            sides = (on[0] && on[1]) || (on[2] && on[3])
            return even ? (sides ? "spread" : "colocate") : (sides ? "bunch" : "heap")
        }
        match($0, /next_pid=[0-9]+/) {
            pid = substr($0, RSTART + 9, RLENGTH - 9)
            if (!match($0, /\[[0-9]+\]/)) next
            cpu = substr($0, RSTART + 1, RLENGTH - 2) + 0
            if (!match($0, / [0-9]+\.[0-9]+: /)) next
            now = substr($0, RSTART + 1, RLENGTH - 3) + 0
            if (known == n) seconds[state()] += now - before
            before = now
            if (pid in is_p) {
                if (!(pid in at)) known++
                at[pid] = cpu
            }
        }
        END { print seconds["colocate"] + 0, seconds["spread"] + 0, seconds["bunch"] + 0, seconds["heap"] + 0 }' $trace/trace
}

echo nop >$trace/current_tracer
echo 8192 >$trace/buffer_size_kb
# The event changes the kernel's code, which the emulator bears badly while CPUs are busy; so it is
# switched on once, and what is recorded is chosen by another switch.
echo 0 >$trace/tracing_on
echo 1 >$trace/events/sched/sched_switch/enable
: >/tmp/states
for seed in $(seq $starts); do
    spin "$seed"
    sleep 0.5
    echo >$trace/trace
    echo 1 >$trace/tracing_on
    sleep 1
    echo 0 >$trace/tracing_on
    states "$POLLING" >>/tmp/states
    kill -KILL $ALL
    wait $ALL 2>/dev/null
done
echo 0 >$trace/events/sched/sched_switch/enable
echo 1 >$trace/tracing_on
seen=$(awk '{ for (i = 1; i <= 4; i++) s[i] += $i } END { a = s[1] + s[2] + s[3] + s[4]; printf "%.3f %.3f %.3f %.3f", s[1] / a, s[2] / a, s[3] / a, s[4] / a }' /tmp/states)

cat >/tmp/speeds.toml <<'EOF'
compute_beside_compute = 1
compute_beside_polling = 1
polling_beside_compute = 1
polling_beside_polling = 1
EOF
# No background tasks: this compares where tasks start, for a start is over before one moves.
run simulated 0 /tmp/sim.json q2c place sim --cores 2 --threads 2 --compute 4 --polling 4 --speeds /tmp/speeds.toml --starts 1000 --background none --json
simulated=$(awk '
    /"policy": "free"/ { here = 1 }
    here && /"(colocate|spread|bunch|heap)":/ { v = $0; sub(/^[^:]*: /, "", v); sub(/,.*/, "", v); printf "%.3f ", v; n++ }
    n == 4 { exit }' /tmp/sim.json)
distance=$(echo "$seen $simulated" | awk '{ for (i = 1; i <= 4; i++) { d = $i - $(i + 4); sum += d < 0 ? -d : d } printf "%.3f", sum / 2 }')
counted=$(awk '$1 + $2 + $3 + $4 > 0.5' /tmp/states | wc -l)
expect starts "$counted" -ge $starts "with more than half a second each"
expect free-model "$(holds "$distance <= 0.2" && echo near)" = near "total variation $distance; colocate, spread, bunch, heap: seen $seen, simulated $simulated"
