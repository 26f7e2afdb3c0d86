#!/usr/bin/env bash
# Boots every kernel of guest/kernels, runs guest/tests in it and prints what passed.
#
#   guest/test.sh [--kernel NAME] [--topic NAME,...] [--long]
#
# With --long topics do what takes longer: more cycles, all file systems.
# A topic with a check that failed runs once more; the script ends with 1 when a check failed twice.
# A kernel that cannot be fetched is one skip, or with CI=true one
# failure.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. guest/lib/host.sh
. guest/lib/report.sh

readonly boot_seconds=180    # a guest that has not told that it is up by then is stopped
readonly off_seconds=30      # one that has told its end and has not powered off by then, too
guest_seconds=2400          # and one that has not told its end
silent_seconds=700          # and one that tells nothing for so long: no topic may take longer, but with --long

usage() { echo "usage: guest/test.sh [--kernel NAME] [--topic NAME,...] [--long]" >&2; exit 2; }

kernels=$(table guest/kernels | awk '{ print $1 }')
topics=
long=
while [ $# -gt 0 ]; do
    case $1 in
        --kernel) kernels=${2:?}; shift ;;
        --topic) topics=${2:?}; shift ;;
        --long) long=q2c.long guest_seconds=20000 silent_seconds=10000 ;;
        *) usage ;;
    esac
    shift
done

work=$(mktemp -d)
machine= retried=
trap 'if [ -n "$machine" ]; then kill "$machine" 2>/dev/null || true; fi; rm -rf "$work"' EXIT
logs=${CARGO_TARGET_DIR:-target}/guest
mkdir -p "$logs"

# Writes the one check of a kernel that cannot be fetched.
absent() { # NAME, REASON
    local kind=skip
    if [ "${CI:-}" = true ]; then kind=fail; fi
    echo "$kind boot/kernel $2" >"$work/$1.checks"
}

# The topics that a kernel runs: those asked for, else those of its row; empty for all.
topics_but() { # TOPIC,...
    (cd guest/tests && ls -- *.sh) | sed 's/[.]sh$//' | grep -vxF "$(tr , '\n' <<<"$1")" | paste -s -d ,
}
topics_of() { # NAME
    local asked
    asked=${topics:-$(table guest/kernels | awk -v name="$1" '$1 == name { print $5 }')}
    case $asked in
        -*) if [ -z "$long" ]; then topics_but "${asked//-/}"; fi ;;
        *) echo "$asked" ;;
    esac
}

# Whether a guest has to be stopped from outside. One was seen that ran on to the limit.
is_stuck() { # NAME, SECONDS SINCE ITS BOOT
    local results=$logs/$1.results silent
    silent=$(($(date +%s) - $(stat -c %Y "$results")))
    if ! told "$results" up; then
        [ "$2" -gt "$boot_seconds" ]
    elif told "$results" end; then
        [ "$silent" -gt "$off_seconds" ]
    else
        [ "$silent" -gt "$silent_seconds" ]
    fi
}

# Boots one kernel and waits for its end. Returns 1 when it did not come up.
boot() { # NAME, FOLDER (with WORK/module.cpio)
    local name=$1 folder=$2 begun=$SECONDS up=
    say "$name: booting $(cat "$folder/version")"
    cat "$folder/modules.cpio" "$tools" "$work/own.cpio" "$work/module.cpio" >"$work/image"
    rm -f "$logs/$name".{log,results,qemu}
    touch "$logs/$name".{log,results}
    timeout -k 5 "$guest_seconds" bash -c '. guest/lib/machine.sh; run_machine "$@"' bash \
        "$folder" "$work/image" "$work" "q2c.kernel=$name q2c.topics=$(topics_of "$name") $long" \
        -serial "file:$logs/$name.log" -serial "file:$logs/$name.results" </dev/null >"$logs/$name.qemu" 2>&1 &
    machine=$!
    while kill -0 "$machine" 2>/dev/null; do
        if [ -z "$up" ] && told "$logs/$name.results" up; then
            up=$((SECONDS - begun))
            say "$name: up after $up s"
        fi
        if is_stuck "$name" $((SECONDS - begun)); then
            say "$name: stopped after $((SECONDS - begun)) s; the last it told: $(tail -n 1 "$logs/$name.results")"
            kill "$machine"
            break
        fi
        sleep 0.5
    done
    wait "$machine" || true
    machine=
    told "$logs/$name.results" up
}

# Whether a guest ended because a CPU ran into the breakpoint that the kernel had in the place of a
# jump while it changed it, after the change was over. Emulated CPUs may see an instruction that late;
# it has nothing to do with what the guest tests.
met_old_breakpoint() { grep -aq 'Oops: int3' "$logs/$1.log"; } # NAME

# Boots a kernel, and once more, for the topics that were left, where the emulator ended it; that is one
# skip in the report.
boot_whole() { # NAME, FOLDER
    local results=$logs/$1.results topics=$topics
    boot "$@" || return
    retried=
    if met_old_breakpoint "$1" && ! told "$results" end; then
        retried="an emulated CPU ran into a breakpoint that the kernel had taken away (Oops: int3); booted again"
        say "$1: $retried"
        finished "$results" >"$work/$1.finished"
        topics=$(unfinished "$1" | paste -s -d ,)
        boot "$@" || return
        cat "$results" >>"$work/$1.finished"
        mv "$work/$1.finished" "$results"
    fi
}

# Prints what a guest told of the topics whose end it told.
finished() { # RESULTS
    awk '{ sub(/\r$/, "") }
        NR == FNR { if ($2 == "time") ended[$3]; next }
        { topic = $3; sub(/\/.*/, "", topic) }
        topic in ended' "$1" "$1"
}

# Prints the topics whose end a guest did not tell.
unfinished() { # NAME
    local asked
    asked=$(topics_of "$1")
    if [ -z "$asked" ]; then asked=$(topics_but ""); fi
    tr , '\n' <<<"$asked" | while read -r topic; do
        if ! told "$logs/$1.results" "time $topic "; then echo "$topic"; fi
    done
}

# Collects the checks of a guest that came up. If the guest ended before its tests did, each topic
# that was not finished has one failed check more; it runs again, unless the kernel gave up.
collect() { # NAME, FOLDER
    local name=$1 ended
    {
        echo "pass boot/kernel $(cat "$2/version")"
        if [ -n "$retried" ]; then echo "skip boot/first-run $retried"; fi
        checks_of "$logs/$name.results"
        if ! told "$logs/$name.results" end; then
            ended="the guest ended before its tests did: $(last_words "$name")"
            case $ended in
                *"Kernel panic"*) echo "fail boot/end $ended" ;;
                *) unfinished "$name" | while read -r topic; do echo "fail $topic/ends $ended"; done ;;
            esac
        fi
    } >"$work/$name.checks"
}

last_words() { # NAME
    if grep -aq 'Kernel panic' "$logs/$1.log"; then
        grep -a -m 1 'Kernel panic' "$logs/$1.log" | tr -d '\r'
    elif [ -s "$logs/$1.qemu" ]; then
        tail -n 1 "$logs/$1.qemu"
    else
        echo "it powered off or was stopped; log: $logs/$1.log"
    fi
}

test_kernel() { # NAME
    local name=$1 package folder begun=$SECONDS reason="no package of its row in guest/kernels is in the archive" booted=
    while read -r package; do
        if ! folder=$(alone have_kernel "$package"); then
            reason="$package: $folder"
        elif ! module_layer "$work/module.cpio" "$package" "$(suite_of "$name")"; then
            echo "fail boot/module kmod/ramdisk_mq does not build for $package" >"$work/$name.checks"
            return
        # A busy host may have held up the first try.
        elif boot_whole "$name" "$folder" || boot_whole "$name" "$folder"; then
            collect "$name" "$folder"
            say "$name: took $((SECONDS - begun)) s"
            return
        else
            reason="$package did not come up: $(last_words "$name")"
            booted=1
        fi
        say "$name: $reason"
    done < <(kernel_candidates "$name")
    if [ -n "$booted" ]; then echo "fail boot/kernel $reason" >"$work/$name.checks"; else absent "$name" "$reason"; fi
}

# Checks that compare times may fail because the host was busy. The topics of checks that failed run
# once more, in a guest of their own. A check that passes then counts as skipped, and tells how it failed.
repeat_failed() { # NAME
    local name=$1 topics
    topics=$(failed_topics <"$work/$name.checks")
    if [ -z "$topics" ]; then return; fi
    say "$name: runs $topics once more, where checks failed"
    mv "$work/$name.checks" "$work/$name.first"
    mv "$logs/$name.results" "$logs/$name.first.results"
    test_kernel "$name"
    settle "$work/$name.first" "$work/$name.checks" >"$work/$name.settled"
    mv "$work/$name.settled" "$work/$name.checks"
}

# Fails where no kernel can be fetched at all, and prints the reason.
ready() {
    if [ "$(uname -m)" != x86_64 ]; then
        echo "guests are x86-64 and hold the q2c built here; this machine is $(uname -m)"
        return 1
    fi
    alone open_archive
}

# Whether one of these topics is asked for.
is_asked() { # TOPIC...
    local topic
    if [ -z "$topics" ]; then return; fi
    for topic in "$@"; do
        case ,$topics, in *,"$topic",*) return ;; esac
    done
    return 1
}

# Prints NAME=PATH of the program of an integration test. With what `make test` has built there is
# nothing left to do here.
test_program() { # NAME, CRATE
    cargo test --locked --workspace --test "$1" --no-run --message-format json </dev/null |
        sed -n 's|.*/'"$2"'/Cargo.toml".*"name":"'"$1"'".*"executable":"\([^"]*\)".*|'"$1"'=\1|p'
}

program=$(guest_program)
tools=$(alone tools_layer)
programs=("q2c=$program")
# The engines' contract tests, and trials of placements.
if is_asked passthrough paths; then programs+=("$(test_program contract q2c-engine)"); fi
if is_asked place; then programs+=("$(test_program placements q2c-place)"); fi
own_layer "$work/own.cpio" "${programs[@]}"
alone prune_cache
if reason=$(ready); then
    for name in $kernels; do test_kernel "$name"; done
    for name in $kernels; do repeat_failed "$name"; done
else
    for name in $kernels; do absent "$name" "$reason"; done
fi
# shellcheck disable=SC2086
print_report "$work" $kernels
