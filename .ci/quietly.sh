# shellcheck shell=bash
# Sourced: `quietly COMMAND...` prints what a command said only if it failed.
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
