#!/bin/sh
# Makes the pattern library again: every pattern is a Parquet trace with its facts in it.
#
#     Q2C=target/release/q2c crates/q2c-trace/patterns/make.sh models FOLDER
#     Q2C=target/release/q2c crates/q2c-trace/patterns/make.sh disk FOLDER DIRECTORY
#     Q2C=target/release/q2c crates/q2c-trace/patterns/make.sh loop|zram|mixed FOLDER DIRECTORY
#
# `models` is the same on every machine. The others are recorded: `disk` and `mixed` on a file of
# 256 MiB that is made in DIRECTORY, `loop` on a loop device over it, `zram` on a zram device of
# 256 MiB. `loop`, `zram` and `mixed` need root, `mixed` needs fio and BPF. Each recording takes the
# disk for a second, after a calibration of some seconds.
set -eu
what=$1 out=$2 dir=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
q2c=$(readlink -f "${Q2C:-q2c}")
terms="recorded by q2c's authors, under q2c's own licence: MIT or Apache-2.0"
today=$(date -u +%Y-%m-%d)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# keep NAME SOURCE DEVICE HOW TRACE: copies a recording into the library with its facts.
keep() {
    "$q2c" trace copy "$5" --first 16000 --out "$out/$1.parquet" --fact "pattern.source=$2" \
        --fact "pattern.device=$3" --fact "pattern.how=$4" --fact "pattern.date=$today" \
        --fact "pattern.terms=$terms" >/dev/null
    echo "$1"
}

# poll NAME SOURCE DEVICE TARGET ARGUMENTS: records classic polling by `q2c tune`, which is stopped
# when it has its recording, since the rest of the run is not needed.
poll() {
    name=$1 source=$2 device=$3 target=$4
    shift 4
    (cd "$work" && exec "$q2c" tune "$target" --cpus 1 --trials 1 --out "runs-$name" "$@" \
        >"$name.log" 2>&1) &
    job=$!
    trace=
    while [ -z "$trace" ] && kill -0 $job 2>/dev/null; do
        sleep 0.2
        trace=$(find "$work/runs-$name" -name 'trace-*.parquet' 2>/dev/null || true)
    done
    kill -INT $job 2>/dev/null || true
    wait $job || true
    [ -n "$trace" ] || { tail -3 "$work/$name.log" >&2; exit 1; }
    keep "$name" "$source" "$device" "q2c tune TARGET --cpus 1 $*: its recording" \
        "$trace"
}

# block NAME SOURCE DEVICE TARGET FIO-ARGUMENTS: records what one fio process does in the block
# layer.
block() {
    name=$1 source=$2 device=$3 target=$4
    shift 4
    fio --name=job --filename="$target" --direct=1 --ioengine=psync --thread --cpus_allowed=1 \
        --time_based --runtime=6 "$@" >"$work/fio.log" 2>&1 &
    job=$!
    sleep 3
    "$q2c" trace record "$target" --pid $job --op read,write --seconds 1 --out "$work/$name.parquet" \
        >/dev/null
    wait $job
    keep "$name" "$source" "$device" "fio --ioengine=psync --direct=1 $*; q2c trace record --pid" \
        "$work/$name.parquet"
}

scratch() {
    file=$dir/q2c-pattern.bin
    head -c 268435456 /dev/urandom >"$file"
    sync "$file"
    trap 'rm -rf "$work" "$file"' EXIT
}

columns="submit_ns=submit,submit_end_ns=submitted,reap_ns=reap"
light="rw=randread,bs=32k,depth=1,jobs=1,cpus=0"
heavy="rw=randread,bs=1m,depth=1,jobs=4,cpus=0"

case $what in
models)
    python3 "$here/models.py" "$work"
    for list in "$work"/*.csv; do
        name=$(basename "$list" .csv)
        "$q2c" trace import "$list" --format csv --unit ns --op read --bs 4k --columns "$columns" \
            --out "$work/$name.parquet" >/dev/null
        keep "$name" "model:$name" "none: drawn from a distribution" \
            "crates/q2c-trace/patterns/models.py" "$work/$name.parquet"
    done
    ;;
disk)
    scratch
    device="virtio-blk disk of a virtual machine, ext4 file"
    for bs in 4k 64k 256k; do
        poll "disk-read-$bs-quiet" disk "$device" "$file" --bs $bs --seconds 0.5
    done
    poll disk-read-4k-light disk "$device" "$file" --bs 4k --seconds 0.5 --background "$light"
    poll disk-read-4k-heavy disk "$device" "$file" --bs 4k --seconds 2 --background "$heavy"
    poll disk-read-64k-light disk "$device" "$file" --bs 64k --seconds 0.5 --background "$light"
    poll disk-read-64k-heavy disk "$device" "$file" --bs 64k --seconds 2 --background "$heavy"
    poll disk-write-4k-quiet disk "$device" "$file" --bs 4k --seconds 0.5 --rw randwrite \
        --allow-write "$file"
    ;;
mixed)
    scratch
    device="virtio-blk disk of a virtual machine, ext4 file; block layer, D2C by interrupt"
    block disk-mixed-4k-quiet disk "$device" "$file" --rw=randrw --rwmixread=70 --bs=4k --size=256m
    block disk-mixed-sizes disk "$device" "$file" --rw=randrw --rwmixread=70 \
        --bssplit=4k/50:16k/30:128k/20 --size=256m
    block disk-mixed-4-threads disk "$device" "$file" --rw=randrw --rwmixread=70 --bs=16k \
        --size=256m --numjobs=4 --cpus_allowed=0-1
    ;;
loop)
    scratch
    loop=$(losetup --find --show --direct-io=on "$file")
    trap 'losetup -d "$loop"; rm -rf "$work" "$file"' EXIT
    device="loop device with direct I/O over an ext4 file on a virtio-blk disk"
    poll loop-read-4k-quiet disk "$device" "$loop" --bs 4k --seconds 0.5
    poll loop-read-64k-quiet disk "$device" "$loop" --bs 64k --seconds 0.5
    poll loop-read-4k-heavy disk "$device" "$loop" --bs 4k --seconds 2 --background "$heavy"
    ;;
zram)
    zram=$(zramctl --find --size 256M --algorithm lzo-rle)
    trap 'zramctl --reset "$zram"; rm -rf "$work"' EXIT
    head -c 134217728 /dev/urandom >"$zram" || true
    device="zram of 256 MiB with data that do not compress"
    poll zram-read-64k-quiet zram "$device" "$zram" --bs 64k --seconds 0.5
    poll zram-read-256k-quiet zram "$device" "$zram" --bs 256k --seconds 0.5
    poll zram-read-256k-heavy zram "$device" "$zram" --bs 256k --seconds 0.5 --background "$heavy"
    ;;
*)
    echo "expected models, disk, mixed, loop or zram, found $what" >&2
    exit 2
    ;;
esac
