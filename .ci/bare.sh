#!/usr/bin/env bash
# Runs a command as on a machine that nobody prepared, without what this one has installed.
#
#   .ci/bare.sh FOLDER COMMAND [ARGUMENT ...]
#
# There is no Slurm, no compiler, no browser, no WordNet, and no network. The command runs in FOLDER,
# as a user who is not root, with a home that cannot be written, umask 077, LANG=C, one CPU, no AVX-512,
# and TMPDIR on another file system. Variables in BARE_KEEP are kept, and no others.
#
# Needs root, util-linux and iproute2. Mounts and the network are those of this command (namespaces):
# nothing changes outside but the owner of FOLDER. All that is said here is checked before it begins.
set -euo pipefail

user=nobody
programs=(s{run,batch,cancel,control,info,queue,acct,acctmgr} 'slurm*' 'munge*' 'mariadb*'
    cc c89 c99 c++ 'cpp*' '*gcc*' '*g++*' '*clang*' tcc nvcc ptxas 'chrom*' 'google-chrome*' 'firefox*' wn)

# In a file system in memory: what is deleted of /usr, an empty home, and what the command makes.
prepare() {
    local layer=$1
    mount -t tmpfs -o mode=711 tmpfs "$layer"
    mkdir "$layer"/{usr,work,home,temporary,pyenv}
    chmod 1777 "$layer/temporary"
    mount -t overlay -o "lowerdir=/usr,upperdir=$layer/usr,workdir=$layer/work" overlay /usr
    (
        shopt -s nullglob
        for name in "${programs[@]}"; do
            # shellcheck disable=SC2086,SC2206 # names are patterns
            rm -f /usr/bin/$name /usr/sbin/$name /usr/local/bin/$name
        done
    )
    rm -rf /usr/share/wordnet
    # Of root's home nothing is there but Pythons.
    if [[ -d $HOME/.pyenv/versions ]]; then
        mount --bind "$HOME/.pyenv/versions" "$layer/pyenv"
        mount -t tmpfs -o mode=755 tmpfs "$HOME"
        mkdir -p "$HOME/.pyenv/versions"
        mount --bind "$layer/pyenv" "$HOME/.pyenv/versions"
    else
        mount -t tmpfs -o mode=755 tmpfs "$HOME"
    fi
    ip link set lo up
}

# What is wrong with this machine, if anything: run as the user.
faults() {
    local name
    for name in s{run,batch,queue,control,info,acct,cancel} munge cc gcc c++ g++ cpp clang chromium google-chrome wn; do
        command -v "$name"
    done
    [[ ! -e /usr/share/wordnet ]] || echo "WordNet"
    ((EUID != 0)) || echo "root"
    [[ ! -w $HOME ]] || echo "a home that can be written"
    [[ $(umask) == 0077 ]] || echo "umask $(umask)"
    [[ $(nproc) == 1 ]] || echo "$(nproc) CPUs"
    [[ $(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ') == lo ]] || echo "a network"
    [[ $(stat -c %d "$TMPDIR") != $(stat -c %d .) ]] || echo "TMPDIR on the same file system"
    [[ -w . && -w $TMPDIR ]] || echo "a folder that cannot be written"
}

case $1 in
    --within)
        layer=$2 folder=$3
        prepare "$layer"
        cd "$folder"
        kept=()
        for name in ${BARE_KEEP-}; do kept+=("$name=${!name}"); done
        first_cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
        umask 077
        exec setpriv --reuid "$user" --regid nogroup --clear-groups --bounding-set -all --inh-caps -all \
            taskset -c "$first_cpu" env -i "${kept[@]}" HOME="$layer/home" USER="$user" LANG=C \
            PATH="${BARE_PATH:+$BARE_PATH:}/usr/local/bin:/usr/bin:/bin" TMPDIR="$layer/temporary" \
            ATEN_CPU_CAPABILITY=avx2 "$0" --checked "${@:4}"
        ;;
    --checked)
        wrong=$(faults)
        if [[ -n $wrong ]]; then
            echo "not a machine that nobody prepared: $wrong" >&2
            exit 1
        fi
        "${@:2}" # not as the first process, whose signals and children differ
        ;;
    *)
        layer=$(mktemp -d)
        trap 'rmdir "$layer"' EXIT
        chown -R "$user:nogroup" "$1"
        unshare --mount --net --pid --ipc --fork --kill-child --mount-proc \
            "$(realpath "$0")" --within "$layer" "$(realpath "$1")" "${@:2}"
        ;;
esac
