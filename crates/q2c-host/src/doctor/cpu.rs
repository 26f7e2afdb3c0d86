//! Checks of the CPUs: their clocks, cores and idle states, and what else runs on them.

use super::facts::DoctorFacts;
use super::finding::{Finding, Remedy, RemedySetting};
use crate::cpu_time::QUIET_CPUS;
use crate::{attr, cpu_list};
use q2c_model::CpuId;

const EPP: &str = "cpufreq/energy_performance_preference";

pub(super) fn governor(facts: &DoctorFacts) -> Option<Finding> {
    let Some(governor) = &facts.machine.governor else {
        let means = "the frequency is set elsewhere (firmware or hypervisor) and cannot be told";
        return Some(Finding::unknown("no cpufreq driver", means));
    };
    if let Some(clock) = fixed_clock(facts) {
        let finding = format!("{governor}, and every CPU is held at {clock} kHz");
        let means = "the frequency cannot follow the load";
        return Some(Finding::pass(finding, means));
    }
    let finding = Finding::pass_or_warn(
        governor == "performance",
        governor,
        "the frequency does not follow the load",
        "the frequency follows the load: methods that sleep run at lower clocks than those that poll",
    );
    Some(finding.mend(facts.set_cpus("performance", "cpufreq/scaling_governor", &[EPP])))
}

/// The only frequency, in kHz, that the limits of all CPUs allow; `None` when they allow more than
/// one.
fn fixed_clock(facts: &DoctorFacts) -> Option<String> {
    let [mins, maxs] =
        ["min", "max"].map(|end| facts.cpu_values(&format!("cpufreq/scaling_{end}_freq")));
    let clock = mins.first()?.clone();
    let complete = mins.len() == facts.online().len() && maxs.len() == mins.len();
    (complete && mins.iter().chain(&maxs).all(|f| *f == clock)).then_some(clock)
}

/// The hint by which the processor itself chooses its clock. Not every governor overrules it.
pub(super) fn preference(facts: &DoctorFacts) -> Option<Finding> {
    let mut hints = facts.cpu_values(EPP);
    hints.sort();
    hints.dedup();
    let finding = Finding::pass_or_warn(
        matches!(hints.first()?.as_str(), "performance" | "0") && hints.len() == 1,
        hints.join(", "),
        "the processor keeps its clock up",
        "the processor saves energy by its own choice: the clock falls between requests, and CPUs may differ",
    );
    Some(finding.mend(facts.set_cpus("performance", EPP, &[])))
}

pub(super) fn boost(facts: &DoctorFacts) -> Option<Finding> {
    let (is_on, off) = [
        ("devices/system/cpu/intel_pstate/no_turbo", "0", "1"),
        ("devices/system/cpu/cpufreq/boost", "1", "0"),
    ]
    .into_iter()
    .find_map(|(file, on, off)| Some((facts.sys(file)? == on, facts.set_sys(off, file))))?;
    let finding = Finding::pass_or_warn(
        !is_on,
        if is_on { "boost is on" } else { "boost is off" },
        "all cores keep one clock",
        "the clock falls as more cores work: a fall over many jobs may be the clock's",
    );
    Some(finding.mend(off))
}

pub(super) fn smt(facts: &DoctorFacts) -> Option<Finding> {
    Some(match facts.machine.threads_per_core {
        None => {
            Finding::unknown("the kernel does not tell", "whether jobs share a core is not known")
        }
        Some(1) => Finding::pass("one thread per core", "jobs do not share a core"),
        Some(n) if have_own_cores(facts) => {
            let cpus = cpu_list::show(&facts.jobs);
            Finding::pass(
                format!("{n} threads per core; the jobs' CPUs {cpus} are on cores of their own"),
                "jobs do not share a core with each other; other tasks may run on the siblings",
            )
        }
        Some(n) => Finding::warn(
            format!("{n} threads per core"),
            "jobs placed on siblings share a core: a polling one slows its neighbour, and core counts are half",
        )
        .mend(facts.manual_remedy("off", "/sys/devices/system/cpu/smt/control")),
    })
}

/// True if jobs' CPUs are named and no two of them are on one core.
fn have_own_cores(facts: &DoctorFacts) -> bool {
    let jobs = &facts.jobs;
    let is_alone = |&job: &CpuId| {
        let core = facts.topology.cpu(job);
        core.is_some_and(|core| jobs.iter().filter(|j| core.siblings.contains(j)).count() == 1)
    };
    !jobs.is_empty() && jobs.iter().all(is_alone)
}

pub(super) fn isolated(facts: &DoctorFacts) -> Option<Finding> {
    let [isolated, tickless] = ["isolated", "nohz_full"].map(|name| {
        let text = facts.sys(&format!("devices/system/cpu/{name}"));
        let cpus = text.and_then(|t| cpu_list::parse(&t)).unwrap_or_default();
        (!cpus.is_empty()).then(|| cpu_list::show(&cpus))
    });
    if isolated.is_none() && tickless.is_none() {
        let means = "every CPU takes ticks and other tasks: pinned jobs share theirs when the machine is busy";
        return Some(Finding::pass("no CPU is isolated", means));
    }
    let shown = |cpus: Option<String>| cpus.unwrap_or_else(|| "none".to_owned());
    let (isolated, tickless) = (shown(isolated), shown(tickless));
    Some(Finding::warn(
        format!("isolcpus: {isolated}; nohz_full: {tickless}"),
        "CPUs differ: jobs on and off the isolated ones are not comparable, and the machine's idle baseline is uneven",
    ))
}

/// Checks the load of the last minute. A high load passes if the CPUs have since been found quiet.
/// In whole-machine CPU, work of other programs counts as that of the jobs.
pub(super) fn load(facts: &DoctorFacts) -> Option<Finding> {
    let text = facts.proc("loadavg")?;
    let one_minute: f64 = text.split_whitespace().next()?.parse().ok()?;
    let quiet = facts.idle_busy_cpus.is_some_and(|busy| busy <= QUIET_CPUS);
    Some(Finding::pass_or_warn(
        one_minute < 0.5 || quiet,
        format!("load of the last minute: {one_minute:.2}"),
        if one_minute < 0.5 {
            "nothing else runs"
        } else {
            "what ran has ended"
        },
        "something else runs: it takes CPU from jobs and counts as theirs in whole-machine CPU",
    ))
}

pub(super) fn at_rest(facts: &DoctorFacts) -> Option<Finding> {
    let busy = facts.idle_busy_cpus?;
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
    let columns = attr::field(&text, "cpu ")?.split_whitespace();
    let counts: Vec<u64> = columns.map_while(|word| word.parse().ok()).collect();
    // Columns: user nice system idle iowait irq softirq steal. The guest columns after them are
    // part of user.
    let (steal, total) = (*counts.get(7)?, counts.iter().take(8).sum::<u64>());
    let percent = 100.0 * steal as f64 / total.max(1) as f64;
    Some(Finding::pass_or_warn(
        percent < 0.5,
        format!("{percent:.2} % of all CPU time since boot was stolen"),
        "the hypervisor gave the CPUs when they were wanted",
        "other guests take this machine's CPUs: tails and sleeps grow at their whim",
    ))
}

/// Microseconds. Exit latencies up to this are small compared with the time of the fastest device.
const SHALLOW_US: u64 = 10;

pub(super) fn idle_states(facts: &DoctorFacts) -> Option<Finding> {
    let states = &facts.machine.idle_states;
    if states.is_empty() {
        let means = "how deep an idle CPU sleeps is set elsewhere and cannot be told";
        return Some(Finding::unknown("no cpuidle states", means));
    }
    let disabled = switched_off(facts);
    let enabled = states.iter().filter(|(name, _)| !disabled.contains(name));
    let Some((deepest, latency)) = enabled.max_by_key(|(_, latency)| *latency) else {
        let finding = "every idle state is switched off";
        return Some(Finding::pass(finding, "an idle CPU spins"));
    };
    let finding = Finding::pass_or_warn(
        *latency <= SHALLOW_US,
        format!("deepest state {deepest}, {latency} us to leave it"),
        "waking up costs little",
        "a sleeping CPU wakes late: interrupts and hybrid polling look worse than on a busy machine",
    );
    Some(finding.mend(switch_off(facts)))
}

fn switch_off(facts: &DoctorFacts) -> Remedy {
    let cpus = facts.online().iter();
    let states = cpus.flat_map(|&cpu| attr::entries(&facts.roots.cpu(cpu, "cpuidle")));
    let deep = states.filter(|state| {
        let latency = attr::value::<u64>(&state.join("latency"));
        let is_enabled = attr::text(&state.join("disable")).is_some_and(|off| off == "0");
        is_enabled && latency.is_some_and(|latency| latency > SHALLOW_US)
    });
    let settings = deep.map(|state| RemedySetting::new(state.join("disable"), "1"));
    let line = format!("cpupower idle-set --disable-by-latency {SHALLOW_US}");
    Remedy::Set(settings.collect(), facts.run_line(&line))
}

/// Names of the states that are switched off on every CPU.
fn switched_off(facts: &DoctorFacts) -> Vec<String> {
    let off = |&cpu: &CpuId| -> Vec<String> {
        let states = attr::entries(&facts.roots.cpu(cpu, "cpuidle")).into_iter();
        let off = states.filter(|s| attr::text(&s.join("disable")).is_some_and(|v| v != "0"));
        off.filter_map(|s| attr::text(&s.join("name"))).collect()
    };
    let in_both = |mut common: Vec<String>, names: Vec<String>| {
        common.retain(|name| names.contains(name));
        common
    };
    let by_cpu = facts.online().iter().map(off);
    by_cpu.reduce(in_both).unwrap_or_default()
}

pub(super) fn idle_governor(facts: &DoctorFacts) -> Option<Finding> {
    const GUEST_POLL: &str = "module/haltpoll/parameters/guest_halt_poll_ns";
    let spin_ns = facts.sys(GUEST_POLL);
    let Some(governor) = facts.machine.idle_governor.as_deref() else {
        let means = "who chooses idle states cannot be told";
        return Some(Finding::unknown("no cpuidle governor", means));
    };
    Some(match (governor, spin_ns.as_deref()) {
        ("menu" | "teo", _) => {
            let means = "it guesses each idle time and takes the state that fits";
            Finding::pass(governor, means)
        }
        ("haltpoll", Some("0")) => {
            Finding::pass("haltpoll, which does not spin here", "an idle CPU halts at once")
        }
        ("haltpoll", ns) => Finding::warn(
            format!("haltpoll, up to {} ns", ns.unwrap_or("an unknown number of")),
            "an idle CPU of this guest spins before it halts: interrupts look faster, and the host pays the CPU",
        )
        .mend(facts.set_sys("0", GUEST_POLL)),
        (other, _) => Finding::warn(
            other,
            "it steps through the states by rule of thumb: wake-ups depend on what ran before",
        ),
    })
}

pub(super) fn idle_accounting(facts: &DoctorFacts) -> Option<Finding> {
    if facts.command_line("nohz").is_some_and(|v| v == "off") {
        let finding = Finding::invalidates(
            &["cpu", "kiops-per-core"],
            "nohz=off on the kernel command line",
            "idle time in /proc/stat is counted by ticks: work between ticks is missed, and KIOPS/core is wrong",
        );
        let remedy = Remedy::boot("remove nohz=off from the kernel command line and reboot");
        return Some(finding.mend(remedy));
    }
    let driver = facts.machine.idle_driver.as_deref().unwrap_or("none");
    Some(Finding::pass(
        format!("tickless idle, cpuidle driver {driver}"),
        "busy CPU comes from /proc/stat idle, exact to 10 ms per CPU and window",
    ))
}
