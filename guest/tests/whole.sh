# q2c trace record sees large reads wholly. io_uring first submits a read that may not wait; a read
# that would have to be split ends at once, and is queued again by a thread that may wait. Often
# the new bio has the address of the one that ended.

if ! modprobe null_blk nr_devices=1 submit_queues=4 gb=1; then
    skip null-blk "this kernel has no null_blk"
    return 0
fi

# Prints a number of a recording's JSON: told NAME WORD
told_number() {
    awk -F': ' -v word="\"$2\"" '{ sub(/^ +/, "", $1) } $1 == word { sub(/,$/, "", $2); print $2; found = 1; exit } END { if (!found) print 0 }' "/tmp/$1.info"
}

# The requests that a read of 512 KiB needs.
most=$(cat /sys/block/nullb0/queue/max_sectors_kb)
parts=$(((512 + most - 1) / most))
for depth in 1 16; do
    name=depth-$depth
    run $name 0 /tmp/$name.info q2c trace record /dev/nullb0 --op read --min-size 512 --out /tmp/$name.trace --json -- \
        fio --name=large --filename=/dev/nullb0 --direct=1 --rw=randread --bs=512k --iodepth=$depth --ioengine=io_uring --number_ios=1000 --readonly --output=/tmp/$name.fio || continue
    lost=$(told_number $name lost)
    records=$(told_number $name records)
    words="1000 reads of 512 KiB at depth $depth, $parts parts each: $records records, $lost lost, $(told_number $name "never had a request") without a request, $(told_number $name "completion without queue") without Q"
    # Newer kernels leave out a program at some events; see docs/capture.md.
    expect $name-lost "$lost" -le $((parts * 10)) "$words"
    expect $name-records "$records" -ge $((parts * 990)) "$words"
    expect $name-full "$(told_number $name "lost: too many in flight")" -eq 0 "$words"
done
modprobe -r null_blk
