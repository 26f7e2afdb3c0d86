# Puts the results of all guests together. Each kernel has one file of the lines that its guest
# told. Sourced.

# Prints "KIND NAME DETAILS" per check, from a guest's second serial line.
checks_of() { tr -d '\r' <"$1" | sed -n 's/^q2c-guest: \(pass\|fail\|skip\) /\1 /p'; }

# Whether a guest has told a word. There is no pipe here, because grep ends at the first hit. With
# `pipefail` a writer that is killed by the closed pipe would make the word look missing.
told() { grep -aq "^q2c-guest: $2" "$1"; } # FILE, WORD

# Prints the topics of checks that failed, with commas. What failed in the guest itself has no topic.
failed_topics() { sed -n 's/^fail \([^ /]*\)\/.*/\1/p' | grep -vx boot | sort -u | paste -s -d , || true; }

# Prints the checks of a first run, with those that failed in it and passed in the second as skips,
# and the checks that only the second came to. That a topic did not end is told only where it failed.
settle() { # FIRST, SECOND
    awk '
        NR == FNR { if (!($2 in kind) || $1 == "fail") kind[$2] = $1; order[++n] = $0; next }
        { first[$2] }
        $1 == "fail" && ($2 in kind ? kind[$2] == "pass" : $2 ~ "/ends$") {
            sub(/^fail/, "skip"); $0 = $0 "; passed when its topic ran again"
        }
        { print }
        END { for (i = 1; i <= n; i++) { split(order[i], word, " "); if (!(word[2] in first)) print order[i] } }' "$2" "$1"
}

# Prints the details of every check, a table of checks by kernels, the checks that did not pass, and
# the closing line. Fails when a check failed.
print_report() { # FOLDER with NAME.checks files, in the order of NAME...
    local folder=$1
    shift
    for name in "$@"; do sed "s/^/$name /" "$folder/$name.checks"; done | by_topic >"$folder/all"
    printf '\n== what was found\n'
    print_details <"$folder/all"
    printf '\n== guests\n'
    print_table "$@" <"$folder/all"
    sed -n 's/^\([^ ]*\) \(fail\|skip\) \(.*\)/\2 \1 \3/p' "$folder/all"
    cut -d ' ' -f 2 "$folder/all" |
        awk '{ count[$1]++ } END { printf "%d passed, %d failed, %d skipped\n", count["pass"], count["fail"], count["skip"]; exit count["fail"] > 0 }'
}

# Sorts lines "KERNEL KIND TOPIC/CHECK DETAILS" by topic, and keeps their order within a topic.
by_topic() { awk '{ topic = $3; sub(/\/.*/, "", topic); print topic, $0 }' | LC_ALL=C sort -s -k1,1 | cut -d ' ' -f 2-; }

# Prints such lines check by check, in the order in which the checks were first seen.
print_details() {
    awk '
        { if (!($3 in text)) rows[++n] = $3
          details = $0
          sub(/^[^ ]+ [^ ]+ [^ ]+ ?/, "", details)
          text[$3] = text[$3] sprintf("  %-8s %s  %s\n", $1, $2, details) }
        END { for (r = 1; r <= n; r++) printf "%s\n%s", rows[r], text[rows[r]] }'
}

# Prints such lines as a table. Where a check has several results in a kernel, the worst counts.
print_table() { # KERNELS...
    awk -v kernels="$*" '
        { if (!($3 in seen)) { seen[$3] = 1; rows[++n] = $3; if (length($3) > width) width = length($3) } if (!(($3, $1) in cell) || $2 < cell[$3, $1]) cell[$3, $1] = $2 }
        END {
            columns = split(kernels, kernel, " ")
            printf "%-*s", width, "check"
            for (c = 1; c <= columns; c++) printf "  %-8s", kernel[c]
            print ""
            for (r = 1; r <= n; r++) {
                printf "%-*s", width, rows[r]
                for (c = 1; c <= columns; c++) { v = cell[rows[r], kernel[c]]; printf "  %-8s", v == "" ? "-" : v }
                print ""
            }
        }'
}
