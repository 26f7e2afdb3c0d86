# NVMe commands that bypass the block layer: `q2c bench` on a namespace's block device and character
# device, and the engines' contract tests.

ng=ng${RAW#nvme}

if ! kernel_at_least 5.19; then
    run too-old 2 /tmp/old q2c bench "/dev/$RAW" --engine io_uring_cmd --seconds 1 --trials 1 --out /tmp/bench || return 0
    expect too-old "$(grep -c 'io_uring_cmd is absent here.*5.13.*5.19' /tmp/old)" = 1 "$(tail -n 1 /tmp/old)"
    benched beside "$RAW" --engine io_uring,io_uring_cmd --method interrupt || return 0
    expect_mode_in_three others-run beside io_uring interrupt interrupt 5000 500 5000
    expect left-out-with-the-reason "$(grep -c '"reason".*io_uring_cmd is absent' /tmp/beside.result)" = 1 "in the result"
    return 0
fi

# Prints the IOPS of the first point of a result, as a whole number.
iops() { awk -F': ' 'index($0, "\"iops\":") { here = 1 } here && /"median"/ { print int($2); exit }' "$1"; }

# With the block device as target, its character device is found, and both kinds of interface are in
# one run.
benched both "$RAW" --engine io_uring,io_uring_cmd --method interrupt,poll --depth 1 || return 0
expect says-where "$(grep -c "NVMe commands go to /dev/$ng, the character device of /dev/$RAW" /tmp/both.json)" = 1 "on stderr"
expect proves-where "$(grep -c "\"through\": \"/dev/$ng, past the block layer\"" /tmp/both.result)" = 2 "in both points"
expect_mode_in_three interrupts both io_uring_cmd interrupt interrupt 5000 500 5000
expect_mode polls both io_uring_cmd poll 'poll (iopoll)' 1 0 100
expect_mode block-device-too both io_uring poll 'poll (iopoll)' 1 0 100

# With the character device as target, interrupts are counted, too. Opening it sends the device a
# few commands that end by interrupt.
before=$(interrupts "${RAW%n1}")
benched polled "$ng" --method poll --depth 4 || return 0
irqs=$(($(interrupts "${RAW%n1}") - before))
ios=$(iops /tmp/polled.result)
expect iops "$ios" -gt 100 "polled, depth 4: $ios IOPS"
expect no-interrupts "$irqs" -le 20 "$irqs interrupts in the whole run, $ios IOPS"
before=$(interrupts "${RAW%n1}")
benched waited "$ng" --method interrupt || return 0
irqs=$(($(interrupts "${RAW%n1}") - before))
ios=$(iops /tmp/waited.result)
expect an-interrupt-each "$irqs" -ge "$ios" "$irqs interrupts, $ios IOPS for one second and the warm-up"
benched alone "$ng" --engine io_uring,io_uring_cmd --method interrupt || return 0
expect commands-alone "$(grep -c '"reason".*takes NVMe commands alone' /tmp/alone.result)" = 1 "io_uring on /dev/$ng"

# For writing, the rules of the block device hold.
write() { q2c bench "$@" --engine io_uring_cmd --method poll --rw randwrite --cpus 2,3 --seconds "${seconds:-1}" --warm-up 0.5 --trials 1 --out /tmp/bench; }
refused() { # NAME, WORDS, ARGUMENTS...
    local name=$1 words=$2
    shift 2
    run "$name" 5 "/tmp/$name" write "$@" && expect "$name" "$(grep -c "$words" "/tmp/$name")" = 1 "$(tail -n 1 "/tmp/$name")"
}
mounted=ng${EXT4#nvme}
refused write-needs-leave 'add --allow-write' "/dev/$ng"
refused mounted-is-refused 'is mounted at /mnt' "/dev/$mounted" --allow-write "/dev/$mounted"
refused mounted-by-block-name 'is mounted at /mnt' "/dev/$EXT4" --allow-write "/dev/$EXT4"
sleep 100 <"/dev/$RAW" &
holder=$!
run shared-reader-is-fine 0 /tmp/write write "/dev/$ng" --allow-write "/dev/$ng"
kill $holder
expect written "$(head -c 67108864 "/dev/$RAW" | tr -d '\0' | head -c 4096 | wc -c)" = 4096 "the block device has what commands wrote"

# While commands write, the block device is held open: a second run is refused on both of them. The
# first one goes on for as long as both refusals may take on a busy machine.
seconds=15 write "/dev/$ng" --allow-write "/dev/$ng" >/tmp/first 2>&1 &
first=$!
tries=0
until grep -q 'run folder' /tmp/first || [ $tries = 100 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
refused held-by-commands 'exclusive use' "/dev/$ng" --allow-write "/dev/$ng"
refused held-by-block-name 'exclusive use' "/dev/$RAW" --allow-write "/dev/$RAW"
wait $first
expect first-writer-ends $? = 0 "$(tail -n 1 /tmp/first)"

# The contract tests of all engines run on this one. Written data is read back through the block
# device.
Q2C_NO_SKIP=1 Q2C_TEST_ENGINE=io_uring_cmd Q2C_TEST_NG=/dev/$ng Q2C_TEST_NG_BLOCK=/dev/$RAW /q2c/contract --test-threads=1 >/tmp/contract 2>&1
status=$?
tail -n 40 /tmp/contract
expect contract $status = 0 "$(grep '^test result' /tmp/contract)"

# Without SPDK, q2c names what is missing and unbinds nothing.
run spdk-absent 2 /tmp/spdk q2c bench "/dev/$RAW" --engine spdk --method poll --out /tmp/bench &&
    expect spdk-absent "$(grep -c 'spdk is absent here: spdk_nvme_perf is not on PATH.*driver nvme; q2c unbinds nothing' /tmp/spdk)" = 1 "$(tail -n 1 /tmp/spdk)"
expect still-there "$(basename "$(readlink "/sys/class/nvme/${RAW%n1}/device/driver")")" = nvme "the controller's driver"
