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
