# q2c tune from calibration to report on the NVMe device, its modes held against what the device counted.

run runs 0 /tmp/tune.out q2c tune "/dev/$RAW" --seconds 0.3 --trials 1 --out /tmp/tune || return 0
folder=$(echo /tmp/tune/*-tune)
pass runs "$(ls "$folder" | tr '\n' ' ')"
sed -n '/method and policy/,$p' /tmp/tune.out

# Without an invariant TSC all times come from the kernel's clock.
expect tsc "$(sed -n 's/.*"tsc_invariant": \([a-z]*\).*/\1/p' "$folder/result.json")" = false "result.json"
q2c trace info "$folder/trace-4096.parquet" >/tmp/info 2>&1
expect clock "$(grep -c CLOCK_MONOTONIC /tmp/info)" = 1 "$(grep -i clock /tmp/info)"

# "no ring flags", or the names of those that the kernel took.
flags=$(modes "$folder/result.json" | cut -f 6 | sort -u)
if kernel_at_least 6.1; then wanted=1; else wanted=0; fi
expect defer-taskrun "$(echo "$flags" | grep -c DEFER_TASKRUN)" = $wanted "ring flags: $flags"

# A method has the interrupts that its name says it has.
modes "$folder/result.json" | while IFS="$(printf '\t')" read -r asked was ios irqs switches _; do
    facts="$was; $ios I/Os, $irqs interrupts, $switches switches per I/O"
    case $asked in
        interrupt) [ "$was" = interrupt ] && [ "$irqs" -ge $((ios * 8 / 10)) ] ;;
        *) case $was in
            *"still interrupts"* | *"on the ring"* | *"without leaving the CPU"*) [ "$irqs" -ge $((ios * 8 / 10)) ] ;;
            *) [ "$irqs" -le $((ios / 100)) ] ;;
        esac ;;
    esac && [ "$ios" -gt 0 ]
    expect "mode-${asked%%:*}" $? = 0 "$facts"
done
