"""Slurm itself: its version, and how it treats arrays and jobs that are to come back."""

import re
from collections.abc import Iterator, Mapping

from anynet_study.dispatch.doctor.finding import Finding
from anynet_study.dispatch.slurm.ask import ask

#: Fewer seconds than this between SIGTERM and SIGKILL may be too few to save a run.
SHORT_KILL_WAIT = 20


def probe_slurm() -> Iterator[Finding]:
    """From one call of scontrol."""
    told = ask("scontrol", "show", "config")
    if not told.works:
        advice = "launch.cluster = local works without; for Slurm, go to its login node"
        yield Finding("Slurm", f"none here: {told.error or 'scontrol fails'}", advice, "note")
        return
    config = parse_config(told.text)
    yield Finding("Slurm", config.get("SLURM_VERSION", "of an unknown version"))
    yield from (probe(config) for probe in PROBES)


def parse_config(text: str) -> dict[str, str]:
    """The settings that `scontrol show config` lists."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _number(config: Mapping[str, str], name: str) -> int | None:
    found = re.match(r"\d+", config.get(name, ""))
    return int(found[0]) if found else None


def _unknown(check: str) -> Finding:
    return Finding(check, "not told", level="note")


def arrays(config: Mapping[str, str]) -> Finding:
    size = _number(config, "MaxArraySize")
    if size is None:
        return _unknown("MaxArraySize")
    if size == 0:
        return Finding("MaxArraySize", "0: no arrays", "launch submits job by job: slower", "note")
    return Finding("MaxArraySize", str(size), "launch splits arrays there" if size < 1001 else "")


def job_count(config: Mapping[str, str]) -> Finding:
    count = _number(config, "MaxJobCount")
    if count is None:
        return _unknown("MaxJobCount")
    advice = "what finds no room is for a later launch; longer jobs: launch.job_minutes"
    return Finding("MaxJobCount", f"{count} jobs of all users", advice)


def preemption(config: Mapping[str, str]) -> Finding:
    kind, mode = config.get("PreemptType", ""), config.get("PreemptMode", "")
    if kind.endswith("none") or mode in ("", "OFF"):
        return Finding("preemption", "off")
    found = f"{mode} ({kind.rpartition('/')[2]})"
    if "CANCEL" in mode:
        advice = "preempted jobs do not come back: launch again when status says so"
        return Finding("preemption", found, advice, "note")
    if "SUSPEND" in mode:
        return Finding("preemption", found, "suspended jobs keep their memory: mind mem_gb", "note")
    return Finding("preemption", found, "preempted jobs come back and go on from a checkpoint")


def requeue(config: Mapping[str, str]) -> Finding:
    allowed = _number(config, "JobRequeue")
    if allowed is None:
        return _unknown("JobRequeue")
    if allowed:
        return Finding("JobRequeue", "yes: jobs come back after a node fails")
    return Finding("JobRequeue", "not by default", "launch asks for it; otherwise launch again")


def kill_wait(config: Mapping[str, str]) -> Finding:
    seconds = _number(config, "KillWait")
    if seconds is None:
        return _unknown("KillWait")
    if seconds >= SHORT_KILL_WAIT:
        return Finding("KillWait", f"{seconds} s to save on scancel")
    advice = "a short launch.checkpoint_seconds loses less where that is too little"
    return Finding("KillWait", f"{seconds} s to save on scancel", advice, "note")


def memory(config: Mapping[str, str]) -> Finding:
    """Jobs that do not ask for memory get all of a node's where nothing else is set."""
    counted = "MEMORY" in config.get("SelectTypeParameters", "").upper()
    limits = [config.get(name, "UNLIMITED") for name in ("DefMemPerNode", "DefMemPerCPU")]
    if counted and all(limit in ("UNLIMITED", "0") for limit in limits):
        advice = "set launch.slurm.mem_gb, or one job takes a whole node's memory"
        return Finding("memory", "counted, without a default", advice, "problem")
    return Finding("memory", "counted, with a default" if counted else "not counted")


def wckey(config: Mapping[str, str]) -> Finding:
    enforced = "wckey" in config.get("AccountingStorageEnforce", "").lower()
    if enforced:
        return Finding("wckey", "required", "set launch.slurm.wckey to one of yours", "problem")
    tracked = config.get("TrackWCKey", "No").lower() in ("yes", "1")
    return Finding("wckey", "tracked, not required" if tracked else "not used")


PROBES = (arrays, job_count, preemption, requeue, kill_wait, memory, wckey)
