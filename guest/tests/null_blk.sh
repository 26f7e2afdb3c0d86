# A second driver with poll queues, where the kernel's null_blk has them; and the requests that a hardware
# queue has by default, which the sources give as 64 for null_blk and 1024 for NVMe, the queue's depth.

# One slot of an NVMe queue always stays free, so that 1024 entries are 1023 requests.
echo none >"/sys/block/$RAW/queue/scheduler"
expect requests-nvme "$(cat "/sys/block/$RAW/queue/nr_requests")" = 1023 "by default, $RAW"
modprobe null_blk nr_devices=1 gb=1
echo none >/sys/block/nullb0/queue/scheduler
expect requests-null-blk "$(cat /sys/block/nullb0/queue/nr_requests), $(cat /sys/module/null_blk/parameters/hw_queue_depth)" = "64, 64" \
    "by default, and the depth of its hardware queue"
modprobe -r null_blk
if ! modinfo null_blk | grep -q poll_queues; then
    skip polls "this kernel's null_blk has no poll_queues"
    return 0
fi
modprobe null_blk nr_devices=1 submit_queues=4 poll_queues=2 gb=1
expect polls "$(cat /sys/block/nullb0/queue/io_poll)" = 1 "io_poll of nullb0 with poll_queues=2"
run doctor 0 /tmp/doctor q2c doctor --json /dev/nullb0 &&
    expect doctor "$(doctor_word /tmp/doctor poll-queues verdict)" = pass "$(doctor_word /tmp/doctor poll-queues found)"
run watch 0 /tmp/watch q2c poll watch /dev/nullb0 --out /tmp/null --seconds 2 --interval 500ms --plain --policy poll --json &&
    summary /tmp/watch >/tmp/watched &&
    expect watch "$(grep -c '"end_s"' /tmp/watched)" -ge 2 "$(grep '"kind"' /tmp/watched | sort | uniq -c | tr -s ' ')"
modprobe -r null_blk
