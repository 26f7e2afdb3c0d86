use super::facts::DoctorFacts;
use super::finding::Finding;
use super::remedy::{Remedy, RemedySetting};
use crate::attr;

/// Microseconds. Exit latencies up to this are small compared with the time of the fastest device.
const SHALLOW: u64 = 10;

pub(super) fn states(facts: &DoctorFacts) -> Option<Finding> {
    let states = &facts.machine.idle_states;
    if states.is_empty() {
        return Some(Finding::unknown(
            "no cpuidle states",
            "how deep an idle CPU sleeps is set elsewhere and cannot be told",
        ));
    }
    let off = switched_off(facts);
    let open = states.iter().filter(|(name, _)| !off.contains(name));
    let Some((deepest, latency)) = open.max_by_key(|(_, latency)| *latency) else {
        return Some(Finding::pass(
            "every idle state is switched off",
            "an idle CPU spins",
        ));
    };
    let deepest_state = format!("deepest state {deepest}, {latency} us to leave it");
    Some(if *latency <= SHALLOW {
        Finding::pass(deepest_state, "waking up costs little")
    } else {
        Finding::warn(
            deepest_state,
            "a sleeping CPU wakes late: interrupts and hybrid polling look worse than on a busy machine",
        )
        .mend(switch_off(facts))
    })
}

fn switch_off(facts: &DoctorFacts) -> Remedy {
    let cpus = facts.online().iter();
    let states = cpus.flat_map(|&cpu| attr::entries(&facts.roots.cpu(cpu, "cpuidle")));
    let deep = states.filter(|state| {
        let latency = attr::value::<u64>(&state.join("latency"));
        let open = attr::text(&state.join("disable")).is_some_and(|off| off == "0");
        open && latency.is_some_and(|latency| latency > SHALLOW)
    });
    let settings = deep.map(|state| RemedySetting::new(state.join("disable"), "1"));
    let line = format!("cpupower idle-set --disable-by-latency {SHALLOW}");
    Remedy::Set(settings.collect(), facts.run_line(&line))
}

/// Names of the states that are switched off on every CPU.
fn switched_off(facts: &DoctorFacts) -> Vec<String> {
    let folder = |cpu| attr::entries(&facts.roots.cpu(cpu, "cpuidle"));
    let off = |cpu| {
        let states = folder(cpu).into_iter();
        let off = states.filter(|s| attr::text(&s.join("disable")).is_some_and(|v| v != "0"));
        off.filter_map(|s| attr::text(&s.join("name"))).collect()
    };
    let mut cpus = facts.online().iter().map(|&cpu| off(cpu));
    let first: Vec<String> = cpus.next().unwrap_or_default();
    cpus.fold(first, |both, one: Vec<String>| {
        both.into_iter().filter(|name| one.contains(name)).collect()
    })
}

pub(super) fn governor(facts: &DoctorFacts) -> Option<Finding> {
    let spin_ns = facts.sys("module/haltpoll/parameters/guest_halt_poll_ns");
    let Some(governor) = facts.machine.idle_governor.as_deref() else {
        return Some(Finding::unknown(
            "no cpuidle governor",
            "who chooses idle states cannot be told",
        ));
    };
    Some(match (governor, spin_ns.as_deref()) {
        ("menu" | "teo", _) => Finding::pass(governor, "it guesses each idle time and takes the state that fits"),
        ("haltpoll", Some("0")) => Finding::pass("haltpoll, which does not spin here", "an idle CPU halts at once"),
        ("haltpoll", ns) => Finding::warn(
            format!("haltpoll, up to {} ns", ns.unwrap_or("an unknown number of")),
            "an idle CPU of this guest spins before it halts: interrupts look faster, and the host pays the CPU",
        )
        .mend(facts.set_sys("0", "module/haltpoll/parameters/guest_halt_poll_ns")),
        (other, _) => Finding::warn(
            other,
            "it steps through the states by rule of thumb: wake-ups depend on what ran before",
        ),
    })
}

pub(super) fn accounting(facts: &DoctorFacts) -> Option<Finding> {
    if facts.command_line("nohz").is_some_and(|v| v == "off") {
        return Some(Finding::invalidates(
            &["cpu", "kiops-per-core"],
            "nohz=off on the kernel command line",
            "idle time in /proc/stat is counted by ticks: work between ticks is missed, and KIOPS/core is wrong",
        ).mend(Remedy::boot("remove nohz=off from the kernel command line and reboot")));
    }
    let driver = facts.machine.idle_driver.as_deref().unwrap_or("none");
    Some(Finding::pass(
        format!("tickless idle, cpuidle driver {driver}"),
        "busy CPU comes from /proc/stat idle, exact to 10 ms per CPU and window",
    ))
}
