#!/usr/bin/env bash
# Starts a shell in a guest that has q2c, fio and the devices of the tests.
#
#   guest/shell.sh [NAME of guest/kernels]
#
# GUEST_PROGRAMS names more programs of this machine to copy into the guest. Ctrl-a x ends the
# machine at once.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. guest/lib/host.sh

name=${1:-5.10}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

program=$(guest_program)
tools=$(alone tools_layer)
own_layer "$work/own.cpio" "q2c=$program"
reason=$(alone open_archive) || { say "$reason"; exit 1; }
read -r package < <(kernel_candidates "$name") || { say "no kernel $name in guest/kernels and the archive"; exit 1; }
folder=$(alone have_kernel "$package") || { say "$package: $folder"; exit 1; }
module_layer "$work/module.cpio" "$package" "$(suite_of "$name")"
say "booting $(cat "$folder/version")"
cat "$folder/modules.cpio" "$tools" "$work/own.cpio" "$work/module.cpio" >"$work/image"
run_machine "$folder" "$work/image" "$work" "q2c.kernel=$name q2c.shell" -serial mon:stdio -serial null
