# An fsync loop on ext4, recorded at once by blktrace, by BPF and by tracefs: the same I/Os with the
# same operations, places and flags, each from Q to the last completion of its flush sequence. NVMe
# has FUA; virtio has none, so that a flush follows the data.

# Prints the I/Os of a trace as OP SECTOR BYTES FLAGS Q2C, in us, -1 where Q is not known.
ios() { # TRACE
    q2c trace export "$1" --format csv | awk -F, '
        NR == 1 { for (n = 1; n <= NF; n++) at[$n] = n; next }
        $at["complete_ns"] != "" { print $at["op"], $at["sector"], $at["bytes"], $at["flags"], $at["queue_ns"] == "" ? -1 : int(($at["complete_ns"] - $at["queue_ns"]) / 1000) }'
}
key() { cut -d ' ' -f 1-4 "$1" | sort; }
# Prints the I/Os of a second file whose Q both files know.
with_q() { awk '{ key = $1 " " $2 " " $3 " " $4 } NR == FNR { if ($5 >= 0) known[key]; next } $5 >= 0 && key in known' "$1" "$2"; }
mean() { awk -v op="$2" '$1 == op && $5 >= 0 { sum += $5; n++ } END { print int(n ? sum / n : 0) }' "$1"; }

# Records a loop three times at once, and compares what blktrace and BPF saw with what tracefs saw:
# it began last and ended first.
looped() { # NAME, DEVICE, FOLDER
    local name=$1 device=$2 folder=$3 tracer tries=0 by op
    rm -rf /tmp/fsync && mkdir /tmp/fsync
    sync && sleep 1
    blktrace -d "/dev/$device" -D /tmp/fsync -o raw >/tmp/fsync/said 2>&1 &
    tracer=$!
    until ls /tmp/fsync/raw.blktrace.* >/dev/null 2>&1 || [ $tries = 50 ]; do tries=$((tries + 1)) && sleep 0.1; done
    sleep 1
    cat >/tmp/fsync/loop <<EOF
sleep 1
fio --name=loop --filename=$folder/loop --size=1m --rw=write --bs=4k --fsync=1 --ioengine=psync --number_ios=60 --output=/tmp/fsync/fio
sleep 1
EOF
    run "$name" 0 /tmp/fsync/bpf.info q2c trace record "/dev/$device" --by bpf --out /tmp/fsync/bpf.trace -- \
        q2c trace record "/dev/$device" --by tracefs --out /tmp/fsync/tracefs.trace -- sh /tmp/fsync/loop || return 1
    sleep 1
    kill -INT $tracer
    wait $tracer
    run "$name-import" 0 /tmp/fsync/blktrace.info q2c trace import /tmp/fsync/raw --out /tmp/fsync/blktrace.trace || return 1
    (cd /tmp/fsync && blkparse -q -i raw >text && q2c trace import text --out text.trace) >/tmp/fsync/text.info 2>&1
    for by in tracefs bpf blktrace text; do ios /tmp/fsync/$by.trace >/tmp/fsync/$by.ios; done
    key /tmp/fsync/tracefs.ios >/tmp/fsync/wanted
    for by in bpf blktrace text; do
        key /tmp/fsync/$by.ios | comm -23 /tmp/fsync/wanted - >/tmp/fsync/absent
        expect "$name-$by" "$(grep -c . /tmp/fsync/absent)" = 0 "of $(grep -c . /tmp/fsync/wanted) I/Os absent: $(head -n 4 /tmp/fsync/absent | tr '\n' ';')"
    done
    cmp -s /tmp/fsync/blktrace.ios /tmp/fsync/text.ios
    expect "$name-text-is-binary" $? = 0 "the text of blkparse and the binary files: $(diff /tmp/fsync/blktrace.ios /tmp/fsync/text.ios | head -n 4 | tr '\n' ';')"
    expect "$name-flushes" "$(awk '$1 == "flush"' /tmp/fsync/wanted | wc -l) $(awk '$1 == "write"' /tmp/fsync/wanted | wc -l)" != "0 0" "flushes and writes"
    for by in bpf blktrace; do
        awk '{ key = $1 " " $2 " " $3 " " $4 } NR == FNR { wanted[key] = 1; next } key in wanted' /tmp/fsync/wanted /tmp/fsync/$by.ios >/tmp/fsync/$by.same
    done
    # I/Os are compared by those of which both tell Q.
    for by in bpf blktrace; do
        with_q /tmp/fsync/$by.same /tmp/fsync/tracefs.ios >/tmp/fsync/tracefs.$by
        with_q /tmp/fsync/tracefs.ios /tmp/fsync/$by.same >/tmp/fsync/$by.both
        expect "$name-$by-compared" "$(grep -c . /tmp/fsync/$by.both)" -ge 60 "I/Os of which $by and tracefs tell Q"
        for op in flush write; do
            # The tracers stand one behind another at an event; emulated, each takes some 10 us.
            expect "$name-$op-$by" "$(echo "$(mean /tmp/fsync/tracefs.$by $op) $(mean /tmp/fsync/$by.both $op)" | awk '{ off = $1 - $2; print (off < 0 ? -off : off) <= 200 + $1 / 10 ? "near" : "apart" }')" = near \
                "mean Q2C in us: $(mean /tmp/fsync/tracefs.$by $op) by tracefs, $(mean /tmp/fsync/$by.both $op) by $by"
        done
    done
    # Linux 7.3 leaves out Q and G of a write with a flush before it, and numbers its records without them.
    if grep -q 'insert without queue' /tmp/fsync/blktrace.info && ! grep -q ' Q FWF' /tmp/fsync/text; then
        skip "$name-whole" "blktrace of this kernel has no Q of writes with a flush: $(grep -E 'left out' /tmp/fsync/blktrace.info | tr -s ' ')"
        return
    fi
    expect "$name-whole" "$(grep -cE 'never completed|passthrough|without' /tmp/fsync/blktrace.info)" = 0 "$(grep -E 'left out' /tmp/fsync/blktrace.info | tr -s ' ')"
}

looped nvme "$EXT4" /mnt
if modprobe -a virtio_pci virtio_blk 2>/tmp/modprobe && [ -b /dev/vda ]; then
    mkdir -p /tmp/virtio
    if run virtio-made 0 /tmp/made /usr/sbin/mke2fs -q -t ext4 -F /dev/vda && run virtio-mounted 0 /tmp/mounted mount -t ext4 /dev/vda /tmp/virtio; then
        looped virtio vda /tmp/virtio
        umount /tmp/virtio
    fi
    rmmod virtio_blk
else
    skip virtio "this kernel has no virtio disk: $(cat /tmp/modprobe)"
fi
