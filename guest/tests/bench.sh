# q2c bench: the effective mode of each interface and method on this kernel, proved by the device's
# interrupts and the jobs' context switches.

benched fast "$RAW" --engine io_uring,libaio,pvsync2 --method interrupt,poll || return 0
for engine in io_uring libaio pvsync2; do
    expect_mode_in_three "$engine-interrupt" fast "$engine" interrupt interrupt 5000 500 5000
done
expect_mode io_uring-polls-the-device fast io_uring poll 'poll (iopoll)' 1 0 100
if kernel_at_least 5.19; then
    expect_mode hipri-is-ignored-and-told fast pvsync2 poll 'interrupt, poll-ignored' 5000 100 5000
    expect hipri-warned "$(grep -c '"mode-ignored"' /tmp/fast.result)" = 1 "the warning says so"
else
    expect_mode hipri-polls fast pvsync2 poll 'poll (call)' 1 0 100
fi

benched slow "$SLOW" --engine io_uring,pvsync2 --method poll,hybrid-uring,hybrid-kernel || return 0
before=$(cat "/sys/block/$SLOW/queue/io_poll_delay" 2>/dev/null)
if kernel_at_least 5.19; then
    expect kernel-hybrid-left-out "$(grep -c 'hybrid-kernel needs Linux 4.10 to 5.18' /tmp/slow.result)" -ge 1 "with the reason"
else
    expect_mode kernel-hybrid-sleeps slow pvsync2 hybrid-kernel 'hybrid-kernel (call)' 1 500 5000
    expect_mode kernel-classic slow pvsync2 poll 'poll (call)' 1 0 100
    expect poll-delay-restored "$before" = -1 "io_poll_delay"
fi
if kernel_at_least 6.13; then
    expect_mode uring-hybrid-sleeps slow io_uring hybrid-uring 'hybrid-uring (*)' 1 500 5000
else
    expect uring-hybrid-refused "$(grep -c 'HYBRID_IOPOLL' /tmp/slow.result)" -ge 1 "$(grep -m 1 'HYBRID_IOPOLL' /tmp/slow.result)"
fi
