use super::facts::DoctorFacts;
use super::finding::Finding;
use super::remedy::Remedy;
use crate::cpu_list;
use crate::cpu_time::QUIET_CPUS;

const PREFERENCE: &str = "cpufreq/energy_performance_preference";

pub(super) fn governor(facts: &DoctorFacts) -> Option<Finding> {
    let Some(governor) = &facts.machine.governor else {
        return Some(Finding::unknown(
            "no cpufreq driver",
            "the frequency is set elsewhere (firmware or hypervisor) and cannot be told",
        ));
    };
    if let Some(clock) = fixed_clock(facts) {
        return Some(Finding::pass(
            format!("{governor}, and every CPU is held at {clock} kHz"),
            "the frequency cannot follow the load",
        ));
    }
    Some(match governor.as_str() {
        "performance" => Finding::pass("performance", "the frequency does not follow the load"),
        other => Finding::warn(
            other,
            "the frequency follows the load: methods that sleep run at lower clocks than those that poll",
        )
        .mend(facts.set_cpus("performance", "cpufreq/scaling_governor", &[PREFERENCE])),
    })
}

/// The only frequency, in kHz, that the limits of all CPUs allow; `None` when they allow more than
/// one.
fn fixed_clock(facts: &DoctorFacts) -> Option<String> {
    let [least, most] =
        ["min", "max"].map(|end| facts.of_cpus(&format!("cpufreq/scaling_{end}_freq")));
    let first = least.first()?.clone();
    let complete = least.len() == facts.online().len() && most.len() == least.len();
    (complete && least.iter().chain(&most).all(|f| *f == first)).then_some(first)
}

/// The hint by which the processor itself chooses its clock. Not every governor overrules it.
pub(super) fn preference(facts: &DoctorFacts) -> Option<Finding> {
    let mut hints = facts.of_cpus(PREFERENCE);
    hints.sort();
    hints.dedup();
    let hint_list = hints.join(", ");
    Some(match hints.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => return None,
        ["performance" | "0"] => Finding::pass(hint_list, "the processor keeps its clock up"),
        _ => Finding::warn(
            hint_list,
            "the processor saves energy by its own choice: the clock falls between requests, and CPUs may differ",
        )
        .mend(facts.set_cpus("performance", PREFERENCE, &[])),
    })
}

pub(super) fn boost(facts: &DoctorFacts) -> Option<Finding> {
    const INTEL: &str = "devices/system/cpu/intel_pstate/no_turbo";
    const OTHERS: &str = "devices/system/cpu/cpufreq/boost";
    let read_switch = |file: &str, on: &str, off: &str| {
        let value = facts.sys(file)?;
        Some((value == on, facts.set_sys(off, file)))
    };
    let others = || read_switch(OTHERS, "1", "0");
    let (on, off): (bool, Remedy) = read_switch(INTEL, "0", "1").or_else(others)?;
    Some(if on {
        Finding::warn(
            "boost is on",
            "the clock falls as more cores work: a fall over many jobs may be the clock's",
        )
        .mend(off)
    } else {
        Finding::pass("boost is off", "all cores keep one clock")
    })
}

pub(super) fn smt(facts: &DoctorFacts) -> Option<Finding> {
    Some(match facts.machine.threads_per_core {
        None => Finding::unknown("the kernel does not tell", "whether jobs share a core is not known"),
        Some(1) => Finding::pass("one thread per core", "jobs do not share a core"),
        Some(n) if apart(facts) => Finding::pass(
            format!("{n} threads per core; the jobs' CPUs {} are on cores of their own", cpu_list::show(&facts.jobs)),
            "jobs do not share a core with each other; other tasks may run on the siblings",
        ),
        Some(n) => Finding::warn(
            format!("{n} threads per core"),
            "jobs placed on siblings share a core: a polling one slows its neighbour, and core counts are half",
        )
        .mend(facts.by_hand("off", "/sys/devices/system/cpu/smt/control")),
    })
}

/// Whether jobs' CPUs are named and no two of them are on one core.
fn apart(facts: &DoctorFacts) -> bool {
    let lone = |job: &q2c_model::CpuId| {
        let cpu = facts.topology.cpu(*job)?;
        let on_core = facts.jobs.iter().filter(|j| cpu.siblings.contains(j));
        Some(on_core.count() == 1)
    };
    !facts.jobs.is_empty() && facts.jobs.iter().all(|j| lone(j) == Some(true))
}

pub(super) fn isolated(facts: &DoctorFacts) -> Option<Finding> {
    let list = |name: &str| {
        let text = facts.sys(&format!("devices/system/cpu/{name}"));
        let text = text.filter(|t| t != "(null)");
        text.and_then(|t| cpu_list::parse(&t)).unwrap_or_default()
    };
    let (isolated, tickless) = (list("isolated"), list("nohz_full"));
    if isolated.is_empty() && tickless.is_empty() {
        return Some(Finding::pass(
            "no CPU is isolated",
            "every CPU takes ticks and other tasks: pinned jobs share theirs when the machine is busy",
        ));
    }
    let (isolated, tickless) = (shown(&isolated), shown(&tickless));
    Some(Finding::warn(
        format!("isolcpus: {isolated}; nohz_full: {tickless}"),
        "CPUs differ: jobs on and off the isolated ones are not comparable, and the machine's idle baseline is uneven",
    ))
}

fn shown(cpus: &[q2c_model::CpuId]) -> String {
    match cpus {
        [] => "none".to_owned(),
        some => cpu_list::show(some),
    }
}

/// The load of the last minute, which is of the past: where the CPUs were measured to be quiet
/// since, it disturbs nothing. Work of others counts as that of the jobs in whole-machine CPU.
pub(super) fn load(facts: &DoctorFacts) -> Option<Finding> {
    let text = facts.proc("loadavg")?;
    let one_minute: f64 = text.split_whitespace().next()?.parse().ok()?;
    let load_average = format!("load of the last minute: {one_minute:.2}");
    let quiet = facts.busy_at_rest.is_some_and(|busy| busy <= QUIET_CPUS);
    Some(match (one_minute < 0.5, quiet) {
        (true, _) => Finding::pass(load_average, "nothing else runs"),
        (false, true) => Finding::pass(load_average, "what ran has ended"),
        (false, false) => Finding::warn(
            load_average,
            "something else runs: it takes CPU from jobs and counts as theirs in whole-machine CPU",
        ),
    })
}

pub(super) fn at_rest(facts: &DoctorFacts) -> Option<Finding> {
    let busy = facts.busy_at_rest?;
    let cpus = facts.online().len();
    let busy_cpus = format!("{busy:.2} of {cpus} CPUs are busy while q2c does nothing");
    Some(if busy <= QUIET_CPUS {
        Finding::pass(busy_cpus, "the CPUs are free for jobs")
    } else {
        Finding::invalidates(
            &["latency", "cpu", "kiops-per-core"],
            busy_cpus,
            "other work takes CPUs from jobs: stop it (top shows it) before anything is measured",
        )
    })
}

pub(super) fn steal(facts: &DoctorFacts) -> Option<Finding> {
    let text = facts.proc("stat")?;
    let line = text.lines().find_map(|l| l.strip_prefix("cpu "))?;
    let columns = line.split_whitespace();
    let counts: Vec<u64> = columns.map_while(|w| w.parse().ok()).collect();
    // Columns: user nice system idle iowait irq softirq steal. The guest columns after them are
    // part of user.
    let (steal, total) = (*counts.get(7)?, counts.iter().take(8).sum::<u64>());
    let percent = 100.0 * steal as f64 / total.max(1) as f64;
    let stolen_share = format!("{percent:.2} % of all CPU time since boot was stolen");
    Some(if percent < 0.5 {
        Finding::pass(
            stolen_share,
            "the hypervisor gave the CPUs when they were wanted",
        )
    } else {
        Finding::warn(
            stolen_share,
            "other guests take this machine's CPUs: tails and sleeps grow at their whim",
        )
    })
}
