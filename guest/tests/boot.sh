# The guest is what the other topics take for granted.

expect cpus "$(nproc)" = 4 "$(nproc) CPUs"
expect siblings "$(cat /sys/devices/system/cpu/cpu0/topology/thread_siblings_list)" = 0-1 "SMT siblings of CPU 0"
expect btf "$(ls /sys/kernel/btf/vmlinux)" = /sys/kernel/btf/vmlinux "type information for BPF"
expect kprobes "$(ls /sys/kernel/tracing/kprobe_events)" = /sys/kernel/tracing/kprobe_events "kprobe events"
for device in nvme0n1 nvme1n1; do
    expect "$device-polls" "$(cat /sys/block/$device/queue/io_poll)" = 1 \
        "io_poll=1, poll_queues=$(cat /sys/module/nvme/parameters/poll_queues), $(ls /sys/block/$device/mq | wc -l) hardware queues"
done
expect ext4 "$(awk '$2 == "/mnt" { print $3 }' /proc/mounts)" = ext4 "ext4 on nvme1n1"
