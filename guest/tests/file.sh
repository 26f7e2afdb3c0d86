# A file in ext4, and its trace: a workload is watched, and a trace is made, read and simulated.

run watch 0 /tmp/watch q2c poll watch --scratch 32m --out /mnt/runs --seconds 3 --interval 500ms --plain --policy interrupt --json &&
    summary /tmp/watch >/tmp/watched &&
    expect watch "$(grep -c '"end_s"' /tmp/watched)" -ge 4 "$(grep -c '"end_s"' /tmp/watched) intervals; $(grep '"kind"' /tmp/watched | sort | uniq -c | tr -s ' ')"
expect leaves-nothing "$(ls -A /mnt/runs | wc -l)" = 0 "files left by watch: $(ls -A /mnt/runs | tr '\n' ' ')"

run tune 0 /tmp/tune.out q2c tune --scratch 32m --out /mnt/runs --bs 64k --seconds 0.2 --trials 1 || return 0
trace=$(echo /mnt/runs/*-tune/trace-65536.parquet)
run trace-info 0 /tmp/info q2c trace info "$trace" && pass trace-info "$(head -n 3 /tmp/info)"
run simulate 0 /tmp/sim q2c poll sim "$trace" --cost "$(dirname "$trace")/calibration.json" --policy mean &&
    pass simulate "$(grep -m 1 mean /tmp/sim)"
