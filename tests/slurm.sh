#!/usr/bin/env bash
# A real Slurm of one node on this machine, with accounts, for tests: Debian, as root, without
# systemd or cgroups.
#
#   export SLURM_CONF=$(tests/slurm.sh)   # install if needed, start, wait until the node is idle
#   tests/slurm.sh stop                   # end it; its queue and accounts are forgotten
#   tests/slurm.sh is-up                  # exit code 0 if it is
#
# Prints the path of slurm.conf, and nothing else, on standard output. Starting it again while it
# runs changes nothing. All of it lies in $ANYNET_SLURM_HOME (default: anynet-slurm in $TMPDIR or
# /tmp) and at five ports from $ANYNET_SLURM_PORT on (default 16817), so that several can live side
# by side: all but the first need both variables.
#
# It is stingy where sites are: arrays have 11 tasks at most, jobs in the partition `low` are
# requeued for those in `high` (and for no others: `main`, where the jobs of other tests are, is no
# tier above it), and the QOS `two` takes two jobs of a user. `no-accounts/slurm.conf` beside
# slurm.conf is the same cluster seen from a site that refuses `sacct`. Without cgroups no limit on
# memory is enforced, and there are more CPUs than real ones, so that jobs need not wait for those
# of another test; the one GPU is only a name.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=.ci/quietly.sh
source "$here/../.ci/quietly.sh"

home=${ANYNET_SLURM_HOME:-${TMPDIR:-/tmp}/anynet-slurm}
port=${ANYNET_SLURM_PORT:-16817}
cluster=anynet
password=not-a-secret # the database listens on this machine only, and lives as long as a test
export SLURM_CONF=$home/slurm.conf
export PATH=$PATH:/usr/sbin
munge_is_ours=/run/munge/anynet-study

say() { echo "slurm: $*" >&2; }

# The controller and the accounts answer, and the node takes jobs, now or when it is done with what
# it runs.
is_up() {
    [[ -e $SLURM_CONF && $(timeout 10 sinfo --noheader --format=%t 2>&1) =~ ^(idle|mix|alloc|comp) ]] &&
        [[ $(timeout 10 sacctmgr --noheader --parsable2 show cluster format=controlport 2>&1) == "$port" ]]
}

install() {
    local daemon missing=false
    for daemon in munged slurmctld slurmd sbatch slurmdbd mariadbd; do
        command -v "$daemon" >/dev/null || missing=true
    done
    $missing || return 0
    debian slurmctld slurmd slurm-client munge slurmdbd mariadb-server
}

# Waits until a command succeeds, for half a minute at most.
until_true() {
    for _ in {1..150}; do
        "$@" >/dev/null 2>&1 && return
        sleep 0.2
    done
    say "in vain, for half a minute: $*"
    tail -n 30 "$home"/*.log >&2
    return 1
}

munge_works() { munge --no-input | unmunge; }

start_munge() {
    munge_works >/dev/null 2>&1 && return
    mkdir -p /run/munge
    chown munge: /run/munge
    quietly runuser --user munge -- /usr/sbin/munged --force
    touch "$munge_is_ours"
}

sql() { mariadb --no-defaults --socket="$home/db/socket" "$@"; }

# Nothing is to outlive a crash, so nothing is flushed.
start_database() {
    mkdir -p "$home/db"
    chown mysql: "$home/db"
    quietly mariadb-install-db --no-defaults --user=mysql --datadir="$home/db/data" \
        --skip-test-db --auth-root-authentication-method=socket
    setsid mariadbd --no-defaults --user=mysql --datadir="$home/db/data" \
        --socket="$home/db/socket" --pid-file="$home/db/pid" --port=$((port + 3)) \
        --bind-address=127.0.0.1 --skip-name-resolve --innodb-lock-wait-timeout=900 \
        --innodb-flush-log-at-trx-commit=0 --skip-innodb-doublewrite \
        >"$home/mariadbd.log" 2>&1 </dev/null &
    until_true sql --execute "select 1"
    sql --execute "create user slurm@127.0.0.1 identified by '$password';
        grant all on slurm_acct_db.* to slurm@127.0.0.1; create database slurm_acct_db"
}

start_accounts() {
    (
        umask 077
        cat >"$home/slurmdbd.conf" <<CONF
AuthType=auth/munge
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$((port + 2))
SlurmUser=root
PidFile=$home/slurmdbd.pid
LogFile=$home/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$((port + 3))
StorageUser=slurm
StoragePass=$password
StorageLoc=slurm_acct_db
CONF
    )
    quietly slurmdbd
    until_true sacctmgr --immediate --noheader show cluster
    quietly sacctmgr --immediate add cluster "$cluster" # before the controller comes
    quietly sacctmgr --immediate add qos two set MaxSubmitJobsPerUser=2
    quietly sacctmgr --immediate add account studies
    quietly sacctmgr --immediate add user root account=studies defaultaccount=studies qos=normal,two
}

configure() {
    local node memory accounts
    node=$(hostname --short)
    memory=$(awk '/^MemTotal/ {print int($2 / 1024 * 0.9)}' /proc/meminfo) # in MiB
    accounts="AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$((port + 2))
AccountingStorageEnforce=associations,limits,qos"
    cat >"$SLURM_CONF" <<CONF
ClusterName=$cluster
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
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
KillWait=3
OverTimeLimit=0
MaxArraySize=11
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PriorityType=priority/multifactor
JobAcctGatherType=jobacct_gather/linux
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0,bf_interval=1
SlurmdParameters=config_overrides
GresTypes=gpu
$accounts
NodeName=$node NodeAddr=127.0.0.1 CPUs=4 RealMemory=$memory Gres=gpu:1
PartitionName=main Nodes=$node Default=YES MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=OFF
PartitionName=low Nodes=$node MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE
PartitionName=high Nodes=$node MaxTime=INFINITE State=UP PriorityTier=2 PreemptMode=OFF
CONF
    echo "Name=gpu File=/dev/null" >"$home/gres.conf"
    mkdir -p "$home/no-accounts"
    cp "$home/gres.conf" "$home/no-accounts"
    grep --invert-match ^AccountingStorage "$SLURM_CONF" >"$home/no-accounts/slurm.conf"
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
    start_database
    start_accounts
    quietly slurmctld
    quietly slurmd
    until_true is_up
    say "up"
    echo "$SLURM_CONF"
}

# Ends the process of a pid file at once, if it still is the daemon that wrote it: nothing of it is
# to be kept.
end() {
    local daemon=$1 pid_file=$2 pid
    [[ -e $pid_file ]] || return 0
    pid=$(<"$pid_file")
    [[ $(cat "/proc/$pid/comm" 2>/dev/null) == "$daemon" ]] || return 0
    kill -KILL "$pid"
    while [[ -e /proc/$pid ]]; do sleep 0.1; done
}

stop() {
    if is_up; then
        scancel --quiet --user=root || true
        for _ in {1..100}; do
            [[ -n $(squeue --noheader) ]] || break
            sleep 0.1
        done
    fi
    end slurmd "$home/slurmd.pid"
    end slurmctld "$home/slurmctld.pid"
    end slurmdbd "$home/slurmdbd.pid"
    end mariadbd "$home/db/pid"
    if [[ -e $munge_is_ours ]] && ! pgrep --exact "slurm.*d" >/dev/null; then
        end munged /run/munge/munged.pid
        rm -f "$munge_is_ours"
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
