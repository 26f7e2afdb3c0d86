# q2c restore puts back a setting that a killed run left changed. The journal is written here in its
# documented format: one line per change, by a process that has ended.

setting() { # FILE IN THE QUEUE'S FOLDER, VALUE LEFT
    local object old journal=/tmp/journal pid
    object=$(readlink -f "/sys/block/$RAW/queue/$1")
    old=$(cat "$object")
    sh -c 'exit 0' &
    pid=$!
    wait $pid
    mkdir -p $journal
    printf '{"event":"change","seq":0,"boot_id":"%s","pid":%s,"start_time":1,"object":"%s","old":"%s","written":"%s"}\n' \
        "$(cat /proc/sys/kernel/random/boot_id)" $pid "$object" "$old" "$2" >$journal/$pid-1-0.jsonl
    echo "$2" >"$object"
    expect "$1-changed" "$(cat "$object")" = "$2" "$old before"
    run "$1-restored" 0 /tmp/restored q2c restore --journal $journal &&
        expect "$1-restored" "$(cat "$object")" = "$old" "$(cat /tmp/restored)"
    expect "$1-done" "$(ls $journal | grep -c jsonl)" = 0 "no journal is left"
}

setting nomerges 2
if ! kernel_at_least 6.4; then
    setting io_poll_delay 0
    setting io_poll_delay 25
fi
