#!/usr/bin/env bash
# A real Slurm of one node on this machine, for tests: Debian, as root, without systemd or cgroups.
#
#   export SLURM_CONF=$(.ci/slurm.sh)   # install if needed, start, wait until the node is idle
#   .ci/slurm.sh stop                   # end it; its queue is forgotten
#   .ci/slurm.sh is-up                  # exit code 0 if it is
#
# Prints the path of slurm.conf, and nothing else, on standard output. Starting it again while it
# runs changes nothing. It keeps no accounts, so `sacct` is refused, as on many sites.
set -euo pipefail
source "$(dirname "$0")/quietly.sh"

home=${TMPDIR:-/tmp}/anynet-slurm
export SLURM_CONF=$home/slurm.conf
export PATH=$PATH:/usr/sbin

say() { echo "slurm: $*" >&2; }

# The controller answers and the node takes jobs, now or when it is done with what it runs.
is_up() {
    [[ -e $SLURM_CONF && $(timeout 10 sinfo --noheader --format=%t 2>&1) =~ ^(idle|mix|alloc|comp)$ ]]
}

install() {
    local daemon missing=false
    for daemon in munged slurmctld slurmd sbatch; do
        command -v "$daemon" >/dev/null || missing=true
    done
    $missing || return 0
    local apt=(apt-get -q -o DPkg::Lock::Timeout=300)
    quietly "${apt[@]}" update
    DEBIAN_FRONTEND=noninteractive quietly "${apt[@]}" install --yes --no-install-recommends \
        slurmctld slurmd slurm-client munge
}

start_munge() {
    munge --no-input 2>/dev/null | unmunge >/dev/null 2>&1 && return
    mkdir -p /run/munge
    chown munge: /run/munge
    quietly runuser --user munge -- /usr/sbin/munged --force
    touch "$home/munge_is_ours"
}

configure() {
    local node memory
    node=$(hostname --short)
    memory=$(awk '/^MemTotal/ {print int($2 / 1024 * 0.9)}' /proc/meminfo) # in MiB
    cat >"$SLURM_CONF" <<CONF
ClusterName=anynet
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation=$home/state
SlurmdSpoolDir=$home/spool
SlurmctldPidFile=$home/slurmctld.pid
SlurmdPidFile=$home/slurmd.pid
SlurmctldLogFile=$home/slurmctld.log
SlurmdLogFile=$home/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
JobRequeue=1
KillWait=5
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$memory
PartitionName=main Nodes=$node Default=YES MaxTime=INFINITE State=UP
CONF
}

start() {
    if is_up; then
        say "already running"
        echo "$SLURM_CONF"
        return
    fi
    ((EUID == 0)) || { say "must be started as root"; exit 1; }
    install
    stop
    mkdir -p "$home"/{state,spool}
    chmod 755 "$home" # any user may read slurm.conf
    configure
    start_munge
    quietly slurmctld
    quietly slurmd
    for _ in {1..60}; do
        if is_up; then
            say "up"
            echo "$SLURM_CONF"
            return
        fi
        sleep 0.5
    done
    say "the node did not come up"
    tail -n 30 "$home"/slurm*.log >&2
    exit 1
}

# Ends the process of a pid file if it still is the daemon that wrote it.
end() {
    local daemon=$1 pid_file=$2 pid
    [[ -e $pid_file ]] || return 0
    pid=$(<"$pid_file")
    [[ $(cat "/proc/$pid/comm" 2>/dev/null) == "$daemon" ]] || return 0
    kill "$pid"
    for _ in {1..40}; do
        [[ -e /proc/$pid ]] || return 0
        sleep 0.25
    done
    kill -KILL "$pid"
}

stop() {
    if is_up; then
        scancel --quiet --user=root || true
        for _ in {1..40}; do
            [[ -n $(squeue --noheader) ]] || break
            sleep 0.25
        done
    fi
    end slurmd "$home/slurmd.pid"
    end slurmctld "$home/slurmctld.pid"
    if [[ -e $home/munge_is_ours ]]; then
        end munged /run/munge/munged.pid
    fi
    rm -rf "$home"
}

case ${1:-start} in
    start) start ;;
    stop) stop ;;
    is-up) is_up ;;
    *)
        echo "usage: $0 [start|stop|is-up]" >&2
        exit 2
        ;;
esac
