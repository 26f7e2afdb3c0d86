# The emulated machine. Sourced.
#
# 4 CPUs, two threads per core; two NVMe devices, one empty, one with ext4. No hypervisor is used: time in it says nothing.

# Runs the machine until it powers off; standard input, output and error are qemu's.
run_machine() { # KERNEL FOLDER, IMAGE, WORK, KERNEL ARGUMENTS, QEMU ARGUMENTS...
    local kernel=$1 image=$2 work=$3 words=$4
    shift 4
    make_disks "$work"
    qemu-system-x86_64 -accel tcg,thread=multi -cpu max,vendor=GenuineIntel,-monitor -smp 4,sockets=1,cores=2,threads=2 -m 1536 \
        -nodefaults -no-user-config -no-reboot -display none \
        -kernel "$kernel/vmlinuz" -initrd "$image" -append "console=ttyS0 quiet loglevel=4 panic=-1 tsc=reliable $words" \
        -drive "file=$work/raw.img,format=raw,if=none,id=raw,cache=unsafe" \
        -device nvme,serial=q2c-raw,drive=raw,max_ioqpairs=8 \
        -drive "file=$work/ext4.img,format=raw,if=none,id=ext4,cache=unsafe" \
        -device nvme,serial=q2c-ext4,drive=ext4,max_ioqpairs=8 "$@"
}

make_disks() { # WORK
    truncate -s 0 "$1/raw.img" "$1/ext4.img"
    truncate -s 1G "$1/raw.img"
    truncate -s 512M "$1/ext4.img"
    PATH=$PATH:/usr/sbin:/sbin mke2fs -q -t ext4 -F "$1/ext4.img"
}
