#!/usr/bin/env bash
# Builds a Debian package of q2c: target/debian/q2c_VERSION_ARCH.deb.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$(sed -n '/^\[workspace.package\]/,/^\[/ s/^version *= *"\(.*\)"/\1/p' Cargo.toml)
arch=$(dpkg --print-architecture)
folder=${CARGO_TARGET_DIR:-target}/debian
tree=$folder/tree
rm -rf "$tree"
mkdir -p "$tree/DEBIAN"
DESTDIR=$tree PREFIX=/usr PROFILE=dist scripts/install.sh

# The oldest C library that has all functions that the program asks for.
libc=$(objdump -T "$tree/usr/bin/q2c" | sed -n 's/.*(GLIBC_\([0-9.]*\)).*/\1/p' | sort -V | tail -n 1)
cat >"$tree/DEBIAN/control" <<CONTROL
Package: q2c
Version: $version
Architecture: $arch
Maintainer: the q2c developers <q2c@invalid>
Section: utils
Priority: optional
Installed-Size: $(du -sk "$tree/usr" | cut -f 1)
Depends: libc6 (>= $libc), libgcc-s1
Description: laboratory for the life of a block I/O, from Q (queued) to C (complete)
 q2c finds the best way to wait for I/O on a device (interrupts, polling, hybrid
 polling), compares I/O interfaces, replays traces, says where I/Os spend their
 time, and places polling tasks on SMT cores.
CONTROL
deb=$folder/q2c_${version}_$arch.deb
dpkg-deb --build --root-owner-group "$tree" "$deb"
rm -rf "$tree"
printf '%s\n' "$deb"
