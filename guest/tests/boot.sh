# Checks that the guest has everything that the other topics need.

expect cpus "$(nproc)" = 4 "$(nproc) CPUs"
expect siblings "$(cat /sys/devices/system/cpu/cpu0/topology/thread_siblings_list)" = 0-1 "SMT siblings of CPU 0"
expect drives "$(echo "$RAW $EXT4 $SMALL $SLOW" | wc -w)" = 4 "raw $RAW, ext4 $EXT4, small $SMALL, slow $SLOW"
expect btf "$(ls /sys/kernel/btf/vmlinux)" = /sys/kernel/btf/vmlinux "type information for BPF"
expect kprobes "$(ls /sys/kernel/tracing/kprobe_events)" = /sys/kernel/tracing/kprobe_events "kprobe events"
for name in RAW EXT4 SMALL SLOW; do
    eval "device=\$$name"
    expect "polls-$(echo $name | tr A-Z a-z)" "$(cat /sys/block/$device/queue/io_poll)" = 1 \
        "$device: io_poll=1, poll_queues=$(cat /sys/module/nvme/parameters/poll_queues), $(ls /sys/block/$device/mq | wc -l) hardware queues"
done
expect ext4 "$(awk '$2 == "/mnt" { print $3 }' /proc/mounts)" = ext4 "/mnt on $EXT4"
