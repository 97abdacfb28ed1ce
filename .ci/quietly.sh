# shellcheck shell=bash
# Sourced.

# Prints what a command said only if it failed.
quietly() {
    local said status
    said=$(mktemp)
    status=0
    "$@" >"$said" 2>&1 </dev/null || status=$?
    if ((status != 0)); then
        echo "failed ($status): $*" >&2
        tail -n 100 "$said" >&2
    fi
    rm -f "$said"
    return "$status"
}

# Installs Debian packages.
debian() {
    local apt=(apt-get -q -o DPkg::Lock::Timeout=300)
    quietly "${apt[@]}" update
    DEBIAN_FRONTEND=noninteractive quietly "${apt[@]}" install --yes --no-install-recommends "$@"
}
