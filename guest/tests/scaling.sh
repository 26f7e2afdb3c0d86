# limit: 400
# Axes of `q2c bench` over a device's hardware queues and requests: what each cell had, what the
# kernel cut, and that all is as it was afterwards.

# The cells of a result, a line each: kind, queues and requests asked, queues and requests had,
# scheduler. Missing values are -.
cells() { # FILE
    tr -d ' \n' <"$1" | awk '
        BEGIN { RS = "\"engine\":" }
        function of(text, name) {
            if (!match(text, "\"" name "\":[^,}]*")) return "-"
            text = substr(text, RSTART + length(name) + 3, RLENGTH - length(name) - 3)
            gsub("\"", "", text)
            return text
        }
        (at = index($0, "\"device\":{\"kind\":")) {
            had = substr($0, at)
            print of(had, "kind"), of(substr($0, 1, at), "hw_queues"), of(substr($0, 1, at), "nr_requests"),
                of(had, "hw_queues"), of(had, "nr_requests"), of(had, "scheduler")
        }' | sort
}
warned() { tr -d ' ' <"/tmp/$1.json" | grep -c "\"id\":\"$2\""; } # NAME, WARNING

# points NAME DEVICE OPTIONS...: the points of one interface and method.
points() {
    local name=$1 device=$2
    shift 2
    run "$name" 0 "/tmp/$name.json" q2c bench "/dev/$device" --engine libaio --method interrupt --seconds 1 --warm-up 0.2 \
        --trials 1 --out "/tmp/runs-$name" --json "$@" || return 1
    cells "/tmp/$name.json" >"/tmp/$name.cells"
}

folder=/sys/kernel/config/nullb/nullb0
make_null() {
    modprobe configfs 2>/dev/null
    grep -q configfs /proc/mounts || mount -t configfs configfs /sys/kernel/config
    modprobe null_blk nr_devices=0 && mkdir $folder || return 1
    for setting in size=64 submit_queues=2 irqmode=0 power=1; do
        echo "${setting#*=}" >"$folder/${setting%%=*}" || return 1
    done
}

on_null() {
    null_disk=$(cd /sys/block && ls -d nullb* | head -n 1)
    poll=0 # null_blk has a queue for polling from Linux 5.17 on
    [ -e $folder/poll_queues ] && poll=1
    if points null-queues "$null_disk" --hw-queues 1,2 --jobs 1..2 --cpus 2,3; then
        expect null-queues "$(cut -d' ' -f 1,2,4 /tmp/null-queues.cells | uniq | tr '\n' ';')" = "null_blk 1 $((1 + poll));null_blk 2 $((2 + poll));" \
            "kind, queues asked and had with that for polling, in four cells"
        expect null-not-cut "$(warned null-queues hw-queues-cut)" = 0 "the queue for polling is not among those asked for"
    fi
    expect null-restored "$(cat $folder/submit_queues), $(ls /sys/block/$null_disk/mq | wc -l)" = "2, $((2 + poll))" "submit_queues afterwards, and queues with that for polling"

    if points one-queue "$null_disk" --hw-queues 2 --nr-requests 4,32 --cpus 2; then
        expect null-requests "$(cut -d' ' -f 3,5 /tmp/one-queue.cells | tr '\n' ';')" = "32 32;4 4;" "requests asked and had"
    fi
    echo 1 >$folder/submit_queues
    if echo mq-deadline >/sys/block/$null_disk/queue/scheduler 2>/dev/null || { modprobe mq-deadline && echo mq-deadline >/sys/block/$null_disk/queue/scheduler; }; then
        points deadline "$null_disk" --cpus 2 && expect deadline-said "$(warned deadline one-queue-scheduler)" -ge 1 "$(cat /tmp/deadline.cells)"
        echo none >/sys/block/$null_disk/queue/scheduler
    else
        skip deadline-said "this kernel has no mq-deadline"
    fi
    q2c bench "/dev/$null_disk" --engine libaio --method interrupt --nr-requests 9999 --seconds 1 --trials 1 --out /tmp/runs-refused --json \
        >/tmp/refused 2>&1
    expect requests-refused "$(grep -c 'no more than the driver' /tmp/refused)" -ge 1 "$(tail -n 1 /tmp/refused)"
    rmdir $folder
    modprobe -r null_blk
}

if make_null 2>/tmp/set-up; then on_null; else skip null_blk "$(tail -n 1 /tmp/set-up)"; fi

q2c bench "/dev/$RAW" --engine libaio --hw-queues 1,2 --seconds 1 --trials 1 --out /tmp/runs-nvme >/tmp/nvme 2>&1
expect nvme-said "$?, $(grep -c 'its driver (nvme) made' /tmp/nvme)" = "5, 1" "$(tail -n 1 /tmp/nvme)"

if [ -f /q2c/no-module ]; then
    skip ramdisk "$(cat /q2c/no-module)"
    return 0
fi
insmod /q2c/ramdisk_mq.ko size_mb=32 queues=2 depth=64 service_ns=2000000
parameter=/sys/module/ramdisk_mq/parameters/queues
if points ramdisk rdmq0 --hw-queues 1,2 --nr-requests 4,32 --depth 8 --cpus 2; then
    expect ramdisk-cells "$(cut -d' ' -f 1-5 /tmp/ramdisk.cells | tr '\n' ';')" = \
        "ramdisk_mq 1 32 1 32;ramdisk_mq 1 4 1 4;ramdisk_mq 2 32 2 32;ramdisk_mq 2 4 2 4;" "kind, asked, had"
    expect depth-said "$(warned ramdisk depth-cut)" -ge 1 "depth 8 with 4 requests"
    q2c report "$(ls -d /tmp/runs-ramdisk/* | head -n 1)" >/tmp/ramdisk.report
    expect report "$(grep -c '2 hardware queues, nr_requests 32' /tmp/ramdisk.report)" -ge 1 "the terminal's tables"
fi
expect ramdisk-restored "$(cat $parameter), $(ls /sys/block/rdmq0/mq | wc -l), $(cat /sys/block/rdmq0/queue/nr_requests)" = "2, 2, 64" \
    "queues, queues in sysfs, nr_requests"
echo 99 >$parameter 2>/dev/null
expect queues-beyond-cpus "$?, $(cat $parameter)" = "1, 2" "99 queues are refused"

# The columns of the points with stages, by a reader that knows quoted fields: queues and requests
# asked, jobs, bottleneck, sleeps for a request.
stages() { # NAME
    q2c report "$(ls -d /tmp/runs-$1/* | head -n 1)" --csv | awk '
        function fields(line, field,  n, i, c, inside) {
            n = 1
            field[1] = ""
            for (i = 1; i <= length(line); i++) {
                c = substr(line, i, 1)
                if (c == "\"") inside = !inside
                else if (c == "," && !inside) field[++n] = ""
                else field[n] = field[n] c
            }
            return n
        }
        NR == 1 { n = fields($0, head); for (i = 1; i <= n; i++) at[head[i]] = i; next }
        {
            fields($0, f)
            print f[at["hw_queues_asked"]], f[at["nr_requests_asked"]], f[at["jobs"]], f[at["bottleneck"]], f[at["tag_sleeps"]]
        }'
}

# In each cell of queues, requests and jobs there are sleeps for a request where a queue has fewer
# requests than its jobs have in flight, and none where it has more. There most of a request's time
# is spent before it has one, so that Q2G is the bottleneck, and only there. Each job has one I/O in
# flight and waits for a request of its own (a job of libaio waits for one request at a time, whatever
# its depth). The jobs are on CPUs of different queues, where there are two.
rmmod ramdisk_mq
insmod /q2c/ramdisk_mq.ko size_mb=32 queues=2 depth=64 service_ns=20000000
if points grid rdmq0 --hw-queues 1,2 --nr-requests 4,32 --jobs 2,24 --depth 1 --stages --cpus 0,3; then
    stages grid | sort -u >/tmp/grid.stages
    expect grid-cells "$(wc -l </tmp/grid.stages)" = 8 "$(tr '\n' ';' </tmp/grid.stages)"
    while read -r queues requests jobs bottleneck sleeps; do
        name=grid-q$queues-r$requests-j$jobs
        if [ "$requests$jobs" = 424 ]; then
            expect "$name" "$([ "${sleeps:-0}" -gt 0 ] && echo some), $bottleneck" = "some, Q2G" "$sleeps sleeps for a request"
        else
            expect "$name" "$sleeps, $bottleneck" = "0, D2C" "sleeps for a request, bottleneck"
        fi
    done </tmp/grid.stages
fi

# Killed while the settings are changed, and restored.
q2c bench /dev/rdmq0 --engine libaio --method interrupt --hw-queues 1 --nr-requests 8 --seconds 20 --trials 1 --out /tmp/runs-killed \
    >/tmp/killed 2>&1 &
killed=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ "$(cat $parameter)" = 1 ] && break
    sleep 1
done
sleep 1
kill -9 $killed
wait $killed
q2c restore >/tmp/restored 2>&1
expect killed-restored "$(cat $parameter), $(cat /sys/block/rdmq0/queue/nr_requests)" = "2, 64" "after SIGKILL: $(tail -n 1 /tmp/restored)"
rmmod ramdisk_mq
