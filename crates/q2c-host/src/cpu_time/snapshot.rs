use super::task::user_and_system;
use crate::{Roots, attr};
use q2c_model::{CpuId, Exit, Fault, Nanos, OrFault};
use std::collections::BTreeMap;
use std::time::Instant;

/// The time that one count in `/proc/stat` stands for: USER_HZ is 100 on every architecture in use.
pub(super) const STAT_UNIT: Nanos = Nanos::from_millis(10);

/// The counters of all CPUs at one moment. Two readings give the busy time between them:
/// [`CpuTimes::busy_since`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuTimes {
    /// The moment of the reading. Readings to be compared must be dated by one clock.
    pub(super) at: Nanos,
    pub(super) cpus: BTreeMap<CpuId, CpuCounters>,
    /// User time of this process, all threads together, and of its children that have ended; `None`
    /// where it cannot be read.
    pub(super) own_user: Option<Nanos>,
    /// Whether the handler of the interrupt that ends an idle state runs outside of the cpuidle
    /// residency.
    pub(super) handlers_outside: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuCounters {
    /// idle + iowait of `/proc/stat`.
    pub idle: Nanos,
    /// Time in user mode, that of niced tasks included.
    pub user: Nanos,
    /// Time that the hypervisor gave to others.
    pub steal: Nanos,
    pub irq: Nanos,
    pub softirq: Nanos,
    /// Sum of the residencies of all cpuidle states; `None` where they cannot be read.
    pub cpuidle: Option<Nanos>,
}

impl CpuTimes {
    /// Reads the counters, and dates them by the process's monotonic clock at the middle of the
    /// reading.
    pub fn read(roots: &Roots) -> Result<CpuTimes, Fault> {
        static ORIGIN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
        let origin = *ORIGIN;
        let before = origin.elapsed();
        let mut times = CpuTimes::read_at(roots, Nanos::ZERO)?;
        let middle = (before + origin.elapsed()) / 2;
        times.at = Nanos(u64::try_from(middle.as_nanos()).unwrap_or(u64::MAX));
        Ok(times)
    }

    /// The counters of a simulated machine at `at`: what threads and interrupts took of each CPU
    /// since the begin. All threads are this process's.
    pub fn simulated(at: Nanos, spent: impl Iterator<Item = [Nanos; 2]>) -> CpuTimes {
        let counters = |(cpu, [threads, irq]): (u32, [Nanos; 2])| {
            let counters = CpuCounters {
                idle: at - threads - irq,
                user: threads,
                irq,
                ..CpuCounters::default()
            };
            (CpuId(cpu), counters)
        };
        let cpus: BTreeMap<CpuId, CpuCounters> = (0..).zip(spent).map(counters).collect();
        CpuTimes {
            at,
            own_user: Some(cpus.values().map(|cpu| cpu.user).sum()),
            cpus,
            handlers_outside: false,
        }
    }

    /// Reads the counters and dates them `at`.
    pub(crate) fn read_at(roots: &Roots, at: Nanos) -> Result<CpuTimes, Fault> {
        let path = roots.proc("stat");
        let tried = format!("read the CPU times in {}", path.display());
        let text = std::fs::read_to_string(&path).or_fault(Exit::Environment, &tried)?;
        let mut cpus: BTreeMap<_, _> = text.lines().filter_map(stat_line).collect();
        if cpus.is_empty() {
            let text = format!(
                "{tried}: expected lines `cpuN user nice system idle iowait ...`, found none"
            );
            return Err(Fault::new(Exit::Environment, text));
        }
        for (cpu, counters) in &mut cpus {
            counters.cpuidle = residency(roots, *cpu);
        }
        let driver = attr::text(&roots.sys("devices/system/cpu/cpuidle/current_driver"));
        Ok(CpuTimes {
            at,
            cpus,
            own_user: user_and_system(&roots.proc("self"))
                .map(|[user, _, children]| Nanos(user.0 + children.0)),
            handlers_outside: driver.is_some_and(|d| masks_interrupts(&d)),
        })
    }
}

/// Parses `cpuN user nice system idle iowait irq softirq steal guest ...`. The line `cpu` is the
/// sum of the others and is left out.
fn stat_line(line: &str) -> Option<(CpuId, CpuCounters)> {
    let mut columns = line.split_whitespace();
    let cpu = CpuId(columns.next()?.strip_prefix("cpu")?.parse().ok()?);
    let counts: Vec<u64> = columns.map_while(|w| w.parse().ok()).collect();
    let time = |at: usize| counts.get(at).map(|n| Nanos(n * STAT_UNIT.0));
    let idle = time(3)? + time(4).unwrap_or_default();
    Some((
        cpu,
        CpuCounters {
            idle,
            user: time(0)? + time(1)?,
            steal: time(7).unwrap_or_default(),
            irq: time(5).unwrap_or_default(),
            softirq: time(6).unwrap_or_default(),
            cpuidle: None,
        },
    ))
}

/// The residency of a CPU, summed over all its states; `None` unless there are states and each
/// tells its time.
fn residency(roots: &Roots, cpu: CpuId) -> Option<Nanos> {
    let states = attr::entries(&roots.cpu(cpu, "cpuidle"));
    let time =
        |state: &std::path::PathBuf| attr::value(&state.join("time")).map(Nanos::from_micros);
    let sum = states
        .iter()
        .try_fold(Nanos::ZERO, |sum, state| Some(sum + time(state)?));
    sum.filter(|_| !states.is_empty())
}

/// Whether a driver enters its states with interrupts masked, by MWAIT or firmware calls, so that
/// the handler runs after the state was left. Other drivers (haltpoll, acpi_idle in C1, none) may
/// halt with interrupts open.
fn masks_interrupts(driver: &str) -> bool {
    ["intel_idle", "psci_idle", "pseries_idle", "powernv_idle"].contains(&driver)
}
