# Devices that fail or are removed during a run.

# Another topic may have removed the device.
SMALL=$(small_again)

# The controller is removed in the middle of a run.
removed() {
    q2c poll watch "/dev/$SMALL" --out /tmp/removed --seconds 20 --interval 500ms --plain --policy poll >/tmp/removed.out 2>&1 </dev/null &
    pid=$!
    sleep 4
    echo 1 >"/sys/class/nvme/${SMALL%n1}/device/remove"
    wait $pid
}
started=$(cut -d . -f 1 /proc/uptime)
removed
status=$?
took=$(($(cut -d . -f 1 /proc/uptime) - started))
[ $status = 6 ] && [ $took -lt 19 ]
expect removed $? = 0 "exit $status after $took s: $(tail -n 1 /tmp/removed.out)"

# A quarter of a small device cannot be read. (Linux 5.10 keeps longer ranges out of order.)
modprobe null_blk nr_devices=0
mount -t configfs config /sys/kernel/config 2>/dev/null
bad=/sys/kernel/config/nullb/bad
mkdir $bad
echo 1 >$bad/size
echo 1 >$bad/memory_backed
echo +512-1023 >$bad/badblocks
echo 1 >$bad/power
disk=/dev/nullb$(cat $bad/index)
if [ -b /dev/bad ]; then disk=/dev/bad; fi
q2c poll watch "$disk" --out /tmp/eio --seconds 3 --plain --policy poll >/tmp/eio.out 2>&1 </dev/null
expect eio $? = 6 "$(tail -n 1 /tmp/eio.out)"

# The first sectors cannot be read. That is reported as the device's fault, and not as a lack of
# direct I/O.
echo +0-7 >$bad/badblocks
q2c doctor "$disk" >/tmp/first.out 2>&1
expect first-sectors $? = 6 "$(tail -n 1 /tmp/first.out)"
rmdir $bad
modprobe -r null_blk

# The controller is found again on its bus, and removed during a benchmark. q2c says that the device
# is gone, and keeps what was measured before.
back=$(small_again)
q2c bench "/dev/$back" --engine io_uring,libaio --method interrupt --cpus 2,3 --seconds 2 --trials 20 --out /tmp/gone >/tmp/gone.out 2>&1 </dev/null &
pid=$!
tries=0
until grep -q took /tmp/gone.out || [ $tries = 300 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
echo 1 >"/sys/class/nvme/${back%n1}/device/remove"
wait $pid
status=$?
grep -q "the device $back is gone" /tmp/gone.out && grep -q '"complete": false' /tmp/gone/*/result.json && [ $status = 6 ]
expect bench-removed $? = 0 "exit $status: $(tail -n 1 /tmp/gone.out)"
