use super::task::stat_times;
use crate::{Roots, attr};
use q2c_model::{CpuId, Exit, Fault, Nanos, OrFault};
use q2c_result::Warning;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

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
    /// True if cpuidle residency excludes the handler of the interrupt that ends an idle state.
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
        let before = ORIGIN.elapsed();
        let mut times = CpuTimes::read_at(roots, Nanos::ZERO)?;
        let middle = (before + ORIGIN.elapsed()) / 2;
        times.at = Nanos(u64::try_from(middle.as_nanos()).unwrap_or(u64::MAX));
        Ok(times)
    }

    /// The counters of a simulated machine at `at`. `spent` gives, for each CPU from 0, the times
    /// of threads and of interrupts since the start. All threads are this process's.
    pub fn simulated(at: Nanos, spent: impl Iterator<Item = [Nanos; 2]>) -> CpuTimes {
        let counters = |[threads, irq]: [Nanos; 2]| CpuCounters {
            idle: at - threads - irq,
            user: threads,
            irq,
            ..CpuCounters::default()
        };
        let counters = spent.map(counters);
        let cpus: BTreeMap<CpuId, CpuCounters> = (0..).map(CpuId).zip(counters).collect();
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
            let expected = "lines `cpuN user nice system idle iowait ...`";
            let text = format!("{tried}: expected {expected}, found none");
            return Err(Fault::new(Exit::Environment, text));
        }
        for (cpu, counters) in &mut cpus {
            counters.cpuidle = residency(roots, *cpu);
        }
        let driver = attr::text(&roots.sys("devices/system/cpu/cpuidle/current_driver"));
        let own_times = stat_times(&roots.proc("self"));
        Ok(CpuTimes {
            at,
            cpus,
            own_user: own_times.map(|[user, _, children]| user + children),
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
    let counters = CpuCounters {
        idle: time(3)? + time(4).unwrap_or_default(),
        user: time(0)? + time(1)?,
        steal: time(7).unwrap_or_default(),
        irq: time(5).unwrap_or_default(),
        softirq: time(6).unwrap_or_default(),
        cpuidle: None,
    };
    Some((cpu, counters))
}

/// The residency of a CPU, summed over all its states; `None` if it has no states or the time of
/// one cannot be read.
fn residency(roots: &Roots, cpu: CpuId) -> Option<Nanos> {
    let states = attr::entries(&roots.cpu(cpu, "cpuidle"));
    let time = |state: &PathBuf| attr::value(&state.join("time")).map(Nanos::from_micros);
    let times = states.iter().map(time);
    times.sum::<Option<Nanos>>().filter(|_| !states.is_empty())
}

/// True if a driver enters its states with interrupts masked, by MWAIT or firmware calls. The
/// handler then runs after the state was left. Other drivers (haltpoll, acpi_idle in C1, none) may
/// halt with interrupts enabled.
fn masks_interrupts(driver: &str) -> bool {
    ["intel_idle", "psci_idle", "pseries_idle", "powernv_idle"].contains(&driver)
}

/// Number of busy CPUs at rest above which measurements count as disturbed.
pub const QUIET_CPUS: f64 = 0.2;
/// Largest number of looks that [`idle_busy_cpus`] takes. It stops after a look that found at most
/// [`QUIET_CPUS`] busy CPUs.
pub const REST_LOOKS: usize = 5;
/// Advice about other work on the machine.
pub const STOP_OTHERS: &str = "stop the other load (top shows it) and run again";

/// Number of busy CPUs while the caller does nothing. It is the smallest of several looks of length
/// `interval`, because another program may run for a moment. `None` when it cannot be read.
pub fn idle_busy_cpus(roots: &Roots, interval: Duration) -> Option<f64> {
    let mut min_busy = f64::INFINITY;
    for _ in 0..REST_LOOKS {
        let begin = CpuTimes::read(roots).ok()?;
        std::thread::sleep(interval);
        let end = CpuTimes::read(roots).ok()?;
        min_busy = min_busy.min(end.busy_since(&begin).cpus_busy()?);
        if min_busy <= QUIET_CPUS {
            break;
        }
    }
    Some(min_busy)
}

/// Warns that `cpus` were busy before anything was `done` (such as "measured"). `means` says what
/// that does to the figures. `None` for a quiet machine.
#[must_use]
pub fn busy_before(cpus: f64, done: &str, means: &str) -> Option<Warning> {
    (cpus > QUIET_CPUS).then(|| {
        let busy_cpus =
            format!("{cpus:.2} CPUs were busy with other work before anything was {done}");
        Warning::new("busy-at-rest", busy_cpus, means, STOP_OTHERS)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_warned_of_by_its_number() {
        assert_eq!(busy_before(0.2, "measured", "it matters"), None);
        let warning = busy_before(1.9, "measured", "it matters").unwrap();
        assert_eq!(warning.id.as_str(), "busy-at-rest");
        let expected = "1.90 CPUs were busy with other work before anything was measured";
        assert_eq!(warning.found, expected);
    }
}
