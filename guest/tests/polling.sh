# What the kernel itself does with polled I/O, as fio and the interrupt counters show it. q2c's
# results in other topics must agree with it.

by_fio "$RAW" --ioengine=pvsync2
[ "$IRQS" -ge $((IOS * 9 / 10)) ] && [ "$IOS" -gt 100 ]
expect pvsync2-interrupts $? = 0 "$told_by_fio"

by_fio "$RAW" --ioengine=pvsync2 --hipri
if kernel_at_least 5.19; then
    [ "$IRQS" -ge $((IOS * 9 / 10)) ] && [ "$IOS" -gt 100 ]
    expect pvsync2-hipri-does-not-poll $? = 0 "$told_by_fio"
else
    [ "$IRQS" = 0 ] && [ "$CTX" -lt $((IOS / 10)) ] && [ "$IOS" -gt 100 ]
    expect pvsync2-hipri-polls $? = 0 "$told_by_fio"
    by_fio "$SLOW" --ioengine=pvsync2 --hipri
    classic=$CPU
    echo 0 >"/sys/block/$SLOW/queue/io_poll_delay"
    by_fio "$SLOW" --ioengine=pvsync2 --hipri
    echo -1 >"/sys/block/$SLOW/queue/io_poll_delay"
    [ "$IRQS" = 0 ] && [ "$CTX" -ge $((IOS / 2)) ] && [ "$CPU" -lt $((classic * 9 / 10)) ] && [ "$IOS" -gt 100 ]
    expect pvsync2-hybrid-sleeps $? = 0 "$told_by_fio; classic: $classic % CPU"
fi

by_fio "$RAW" --ioengine=io_uring --hipri
[ "$IRQS" = 0 ] && [ "$CTX" -lt $((IOS / 10)) ] && [ "$IOS" -gt 100 ]
expect uring-iopoll-polls $? = 0 "$told_by_fio"

# Since Linux 7.1 a polled ring takes commands for a device without poll queues, and interrupts
# complete them. q2c has to say what really ran.
if kernel_at_least 7.1; then
    controller=$(basename "$(readlink -f "/sys/class/nvme/${RAW%n1}/device")")
    rebind() { # POLL-QUEUES
        echo "$1" >/sys/module/nvme/parameters/poll_queues
        echo "$controller" >/sys/bus/pci/drivers/nvme/unbind
        echo "$controller" >/sys/bus/pci/drivers/nvme/bind
        tries=0
        until [ -b "/dev/$RAW" ] || [ $tries = 100 ]; do
            sleep 0.1
            tries=$((tries + 1))
        done
    }
    rebind 0
    if benched unpolled "ng${RAW#nvme}" --engine io_uring_cmd --method poll; then
        mode=$(cat /tmp/unpolled.modes)
        expect commands-do-not-poll "$(grep -c iopoll /tmp/unpolled.modes)" = 0 "$mode"
        expect commands-are-interrupted "$(cut -f 4 /tmp/unpolled.modes)" -ge 900 "$mode"
    fi
    rebind 2
    expect poll-queues-are-back "$(cat "/sys/block/$RAW/queue/io_poll")" = 1 "io_poll of $RAW"
fi
