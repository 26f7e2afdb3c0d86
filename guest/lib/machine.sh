# The emulated machine. Sourced.
#
# It has 4 CPUs, two threads per core, and four NVMe devices, known by their serial numbers: q2c-raw
# is empty, q2c-ext4 has a file system, q2c-small is empty and may be removed, q2c-slow stores
# nothing and always answers after 4 ms. A virtio disk is there for those that load its driver; it has
# a cache and no FUA. No hypervisor is used, so kernels boot anywhere, and times
# in a guest say nothing about real devices. A kernel that knows of a hypervisor waits for spin locks
# without a queue and without its events, so it is not told. An idle CPU must halt: if it waited by
# MONITOR, it would keep a CPU of the host busy.

# Runs the machine until it powers off; standard input, output and error are qemu's.
run_machine() { # KERNEL FOLDER, IMAGE, WORK, KERNEL ARGUMENTS, QEMU ARGUMENTS...
    local kernel=$1 image=$2 work=$3 words=$4 disks=() name
    shift 4
    make_disks "$work" || return 1
    for name in raw ext4 small; do
        disks+=(-drive "file=$work/$name.img,format=raw,if=none,id=$name,cache=unsafe"
            -device "nvme,id=nvme-$name,serial=q2c-$name,drive=$name,max_ioqpairs=8")
    done
    disks+=(-drive "file=$work/virtio.img,format=raw,if=none,id=virtio,cache=unsafe" -device virtio-blk-pci,drive=virtio)
    disks+=(-blockdev driver=null-co,node-name=slow,size=1073741824,latency-ns=4000000,read-zeroes=on
        -device nvme,id=nvme-slow,serial=q2c-slow,drive=slow,max_ioqpairs=8)
    qemu-system-x86_64 -accel tcg,thread=multi -cpu max,vendor=GenuineIntel,-monitor,-hypervisor \
        -smp 4,sockets=1,cores=2,threads=2 -m 1536 -nodefaults -no-user-config -no-reboot -display none \
        -kernel "$kernel/vmlinuz" -initrd "$image" \
        -append "console=ttyS0 quiet loglevel=4 panic=-1 tsc=reliable $words" "${disks[@]}" "$@"
}

make_disks() { # WORK
    rm -f "$1"/{raw,ext4,small,virtio}.img
    truncate -s 1G "$1/raw.img" && truncate -s 512M "$1/ext4.img" && truncate -s 64M "$1/small.img" "$1/virtio.img" &&
        PATH=$PATH:/usr/sbin:/sbin mke2fs -q -t ext4 -F "$1/ext4.img"
}
