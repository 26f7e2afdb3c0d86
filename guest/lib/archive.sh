# Reads Debian's archive through a private apt configuration, which has its own sources and lists
# and installs nothing. Sourced.
#
# The servers are those of this machine's own Debian entries; only the suites differ.

readonly archive=$cache/apt
readonly keyring=/usr/share/keyrings/debian-archive-keyring.gpg
readonly lists_hours=20 # lists younger than this are used as they are

private_apt() {
    local tool=$1
    shift
    LC_ALL=C "$tool" -o Dir::Etc::SourceList="$archive/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$archive/lists" -o Dir::Cache="$archive/cache" -o Acquire::Languages=none \
        -o Acquire::Retries=3 -o APT::Sandbox::User="$(id -un)" -o APT::Architectures=amd64 -o APT::Architecture=amd64 \
        -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false "$@"
}

# Prints the address of this machine's entry with the label given (Debian or Debian-Security); empty
# for none.
machine_address() {
    LC_ALL=C apt-get indextargets --format '$(LABEL) $(ORIGIN) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        awk -v label="$1" '$1 == label && $2 == "Debian" { print $3; exit }'
}

# The release that a suite belongs to: trixie for trixie-backports.
release_of() { echo "${1%%-*}"; }

# Prints all suites that guest/kernels names, and the releases that they belong to.
all_suites() {
    local suite
    table guest/kernels | awk '{ print $2 }' | tr , '\n' | while read -r suite; do
        echo "$suite"
        release_of "$suite"
    done | sort -u
}

# Prints the source lines of these suites.
source_lines() {
    local suite label address
    all_suites | while read -r suite; do
        case $suite in *-security) label=Debian-Security ;; *) label=Debian ;; esac
        address=$(machine_address "$label")
        if [ -n "$address" ]; then echo "deb [signed-by=$keyring] $address $suite main"; fi
    done
}

refresh_archive() {
    say "reading the archive's package lists"
    private_apt apt-get update -qq -o APT::Update::Error-Mode=any </dev/null >&2 && touch "$archive/fresh"
}

have_lists() { compgen -G "$archive/lists/*_Packages*" >/dev/null; }

# Makes the archive ready for queries. Old lists are used when the archive cannot be reached. On
# failure prints the reason.
open_archive() {
    command -v apt-get >/dev/null || { echo "no apt on this machine"; return 1; }
    [ -r "$keyring" ] || { echo "no Debian archive keyring ($keyring; package debian-archive-keyring)"; return 1; }
    mkdir -p "$archive/lists/partial" "$archive/cache/archives/partial"
    source_lines >"$archive/sources.new"
    [ -s "$archive/sources.new" ] || { echo "apt has no Debian archive among its sources, or no lists (apt-get update)"; return 1; }
    if ! cmp -s "$archive/sources.new" "$archive/sources.list"; then
        mv "$archive/sources.new" "$archive/sources.list"
        rm -f "$archive/fresh"
    fi
    if [ -n "$(find "$archive/fresh" -mmin -$((lists_hours * 60)) 2>/dev/null)" ]; then return; fi
    if refresh_archive; then return; fi
    have_lists || { echo "the archive's package lists cannot be read"; return 1; }
    say "not all package lists could be read; going on with those that are here"
}

# Prints all packages whose whole name matches. The version is part of a kernel's name, and the
# newest comes first.
packages_named() { private_apt apt-cache search --names-only "^$1\$" | awk '{ print $1 }' | sort -rV; }

# Prints a field of a package's newest version: Version, SHA256, Depends ...
package_field() { private_apt apt-cache show --no-all-versions "$1" | sed -n "s/^$2: //p" | head -n 1; }

# Unpacks packages into a folder.
unpack_packages() {
    local folder=$1 deb
    shift
    mkdir -p "$folder/debs" "$folder/root"
    (cd "$folder/debs" && private_apt apt-get download -qq "$@" </dev/null >&2) || return 1
    for deb in "$folder"/debs/*.deb; do dpkg -x "$deb" "$folder/root" || return 1; done
    rm -r "$folder/debs"
}
