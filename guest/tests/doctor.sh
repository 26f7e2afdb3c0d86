# q2c doctor tells what this kernel and these devices can do.

run runs 0 /tmp/doctor q2c doctor --json "/dev/$RAW" || return 0
verdict_is() { # CHECK, VERDICT
    expect "$1" "$(doctor_word /tmp/doctor "$1" verdict)" = "$2" "$(doctor_word /tmp/doctor "$1" found)"
}
verdict_is poll-queues pass
verdict_is io-uring pass
if kernel_at_least 5.19; then verdict_is hybrid-kernel invalidates; else verdict_is hybrid-kernel pass; fi
if kernel_at_least 6.13; then verdict_is hybrid-uring pass; else verdict_is hybrid-uring invalidates; fi
if kernel_at_least 6.1; then verdict_is defer-taskrun pass; else verdict_is defer-taskrun warn; fi
verdict_is smt warn
verdict_is tsc warn

modprobe null_blk nr_devices=1 poll_queues=0
run unpolled-device 0 /tmp/doctor q2c doctor --json /dev/nullb0 &&
    expect unpolled-device "$(doctor_word /tmp/doctor poll-queues verdict)" = invalidates "$(doctor_word /tmp/doctor poll-queues found)"
modprobe -r null_blk
