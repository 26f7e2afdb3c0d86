# Results of all guests: one file per kernel, as the guest told them. Sourced.

# From a guest's second serial line: "KIND NAME DETAILS" per check.
checks_of() { tr -d '\r' <"$1" | sed -n 's/^q2c-guest: \(pass\|fail\|skip\) /\1 /p'; }

told() { tr -d '\r' <"$1" | grep -q "^q2c-guest: $2"; } # FILE, WORD

# A table, check by kernel, then what was not passed, then the closing line. Fails when a check failed.
print_report() { # FOLDER with NAME.checks files, in the order of NAME...
    local folder=$1
    shift
    printf '\n== guests\n'
    for name in "$@"; do sed "s/^/$name /" "$folder/$name.checks"; done | print_table "$@"
    for name in "$@"; do sed -n "s/^\(fail\|skip\) \(.*\)/\1 $name \2/p" "$folder/$name.checks"; done
    for name in "$@"; do cat "$folder/$name.checks"; done |
        awk '{ count[$1]++ } END { printf "%d passed, %d failed, %d skipped\n", count["pass"], count["fail"], count["skip"]; exit count["fail"] > 0 }'
}

# Lines "KERNEL KIND CHECK DETAILS"; rows in the order in which checks were first seen.
print_table() { # KERNELS...
    awk -v kernels="$*" '
        { if (!($3 in seen)) { seen[$3] = 1; rows[++n] = $3; if (length($3) > width) width = length($3) } cell[$3, $1] = $2 }
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
