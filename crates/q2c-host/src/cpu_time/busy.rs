use super::snapshot::{CpuCounters, CpuTimes, STAT_UNIT};
use q2c_model::{CpuId, Nanos};

/// The kernel counter that a busy time was computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusySource {
    /// The window less idle and iowait of `/proc/stat`.
    ProcStat,
    /// The window less cpuidle residency.
    CpuIdle,
}

impl BusySource {
    /// The source's name, as results print it.
    pub const fn name(self) -> &'static str {
        match self {
            BusySource::ProcStat => "/proc/stat idle",
            BusySource::CpuIdle => "cpuidle residency",
        }
    }
}

/// How one CPU spent a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuBusy {
    /// The CPU's number.
    pub cpu: CpuId,
    /// Time in which the CPU was neither idle nor stolen; at most the window.
    pub busy: Nanos,
    /// Time that the hypervisor gave to others while this CPU had work.
    pub steal: Nanos,
    /// Time in user mode, as `/proc/stat` counts it.
    pub user: Nanos,
    /// The part of `busy` in interrupt handlers, as `/proc/stat` counts it.
    pub irq: Nanos,
    /// The part of `busy` in softirqs (block completions among them), as `/proc/stat` counts it.
    pub softirq: Nanos,
    /// Busy time by the source that was not chosen; `None` where this CPU lacks it.
    pub other: Option<Nanos>,
}

/// How the machine's CPUs spent a window, computed by [`CpuTimes::busy_since`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Busy {
    /// Length of the window.
    pub window: Nanos,
    /// The source of all `busy` times.
    pub source: BusySource,
    /// Uncertainty of each CPU's busy time. That of cpuidle does not cover an idle period that
    /// lasts beyond an end of the window.
    pub resolution: Nanos,
    /// User time of this process and of its ended children; `None` where it could not be read.
    pub own_user: Option<Nanos>,
    /// Every CPU that was online at both ends of the window.
    pub cpus: Vec<CpuBusy>,
}

impl CpuTimes {
    /// How busy the CPUs were between `earlier` and this reading. The source is cpuidle if the
    /// window is shorter than 100 of the 10 ms counts and this machine's driver can be trusted (see
    /// [`crate::cpu_time`]), else `/proc/stat`.
    pub fn busy_since(&self, earlier: &CpuTimes) -> Busy {
        let is_short = self.at - earlier.at < Nanos(STAT_UNIT.0 * 100);
        let mut counters = self.cpus.values().chain(earlier.cpus.values());
        let complete = counters.all(|c| c.cpuidle.is_some());
        let is_trusted = is_short && complete && self.handlers_outside;
        let by_cpuidle = self.busy_since_by(earlier, BusySource::CpuIdle);
        by_cpuidle
            .filter(|_| is_trusted)
            .unwrap_or_else(|| self.busy_by_stat(earlier))
    }

    /// How busy the CPUs were between `earlier` and this reading, by a source of the caller's
    /// choice. `None` if not every CPU has that source.
    pub fn busy_since_by(&self, earlier: &CpuTimes, source: BusySource) -> Option<Busy> {
        let mut busy = self.busy_by_stat(earlier);
        if source == BusySource::CpuIdle {
            for cpu in &mut busy.cpus {
                let by_cpuidle = cpu.other?;
                cpu.other = Some(std::mem::replace(&mut cpu.busy, by_cpuidle));
            }
            busy.source = BusySource::CpuIdle;
            busy.resolution = Nanos::from_micros(1);
        }
        Some(busy)
    }

    fn busy_by_stat(&self, earlier: &CpuTimes) -> Busy {
        let window = self.at - earlier.at;
        let busy = |(&cpu, now): (&CpuId, &CpuCounters)| {
            Some(cpu_busy(cpu, earlier.cpus.get(&cpu)?, now, window))
        };
        Busy {
            window,
            source: BusySource::ProcStat,
            // Each end is up to one count late, so the difference is wrong by at most one count.
            resolution: STAT_UNIT,
            own_user: self.own_user.zip(earlier.own_user).map(|(b, a)| b - a),
            cpus: self.cpus.iter().filter_map(busy).collect(),
        }
    }
}

fn cpu_busy(cpu: CpuId, before: &CpuCounters, now: &CpuCounters, window: Nanos) -> CpuBusy {
    let steal = now.steal - before.steal;
    let cpuidle = now.cpuidle.zip(before.cpuidle).map(|(b, a)| b - a);
    CpuBusy {
        cpu,
        busy: window - (now.idle - before.idle) - steal,
        steal,
        user: now.user - before.user,
        irq: now.irq - before.irq,
        softirq: now.softirq - before.softirq,
        other: cpuidle.map(|idle| window - idle - steal),
    }
}

impl Busy {
    fn sum(&self, time_of: impl Fn(&CpuBusy) -> Nanos) -> Nanos {
        self.cpus.iter().map(time_of).sum()
    }

    /// Busy time, summed over all CPUs.
    pub(crate) fn total(&self) -> Nanos {
        self.sum(|c| c.busy)
    }

    /// The number of busy CPUs: total busy time divided by the window. KIOPS/core is computed from
    /// it. `None` for an empty window.
    pub fn cpus_busy(&self) -> Option<f64> {
        ratio(self.total(), self.window.as_secs_f64())
    }

    /// Average number of CPUs on which other programs ran in user mode. Kernel time is left out, so
    /// that no cost of this process's I/O is counted. `None` where this process's own time could
    /// not be read, or for an empty window.
    pub fn other_programs(&self) -> Option<f64> {
        let other_user = self.sum(|c| c.user) - self.own_user?;
        ratio(other_user, self.window.as_secs_f64())
    }

    /// Softirq time of all CPUs divided by their busy time, 0..=1; `None` when no CPU was busy.
    /// Where the kernel samples by ticks (no `CONFIG_IRQ_TIME_ACCOUNTING`) it is an estimate that
    /// misses work which keeps clear of the tick.
    pub fn softirq_share(&self) -> Option<f64> {
        Some(ratio(self.sum(|c| c.softirq), self.total().as_secs_f64())?.min(1.0))
    }

    /// Stolen time divided by the window of all CPUs together, 0..=1; `None` for an empty window.
    pub fn steal_share(&self) -> Option<f64> {
        let all_cpus = self.window.as_secs_f64() * self.cpus.len() as f64;
        ratio(self.sum(|c| c.steal), all_cpus)
    }
}

fn ratio(part: Nanos, total_seconds: f64) -> Option<f64> {
    (total_seconds > 0.0).then(|| part.as_secs_f64() / total_seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Roots;
    use crate::tree::SysProcTree;

    /// CPU times from a fake tree of two CPUs. Each has idle, iowait and steal counts, and the
    /// residencies of two idle states in microseconds.
    fn read(driver: &str, cpus: [(u64, u64, u64, [u64; 2]); 2]) -> CpuTimes {
        let tree = SysProcTree::new("");
        let mut stat = String::from("cpu  1 2 3 4 5 6 7 8 9 10");
        for (n, (idle, iowait, steal, states)) in cpus.into_iter().enumerate() {
            // The interrupt counts follow the idle ones, so that they move in a window.
            let (irq, softirq) = (idle / 10, idle / 5);
            stat += &format!("\\ncpu{n} 900 0 900 {idle} {iowait} {irq} {softirq} {steal} 0 0");
            for (i, time) in states.into_iter().enumerate() {
                let state = format!("sys/devices/system/cpu/cpu{n}/cpuidle/state{i}");
                tree.add(&format!("{state}/time = {time}"));
            }
        }
        tree.add(&format!("proc/stat = {stat}\\nintr 5 0"));
        let cpuidle = "sys/devices/system/cpu/cpuidle";
        tree.add(&format!("{cpuidle}/current_driver = {driver}"));
        CpuTimes::read_at(&tree.roots(), Nanos::ZERO).unwrap()
    }

    fn window(driver: &str, length: Nanos) -> Busy {
        let before = read(driver, [(100, 10, 0, [5, 1_000]), (200, 0, 4, [0, 7])]);
        let mut after = read(driver, [(130, 15, 0, [105, 301_000]), (200, 0, 14, [0, 7])]);
        after.at = length;
        after.busy_since(&before)
    }

    #[test]
    fn long_windows_use_proc_stat() {
        // CPU 0: 35 counts idle = 350 ms of 2 s. CPU 1: no idle, 10 counts (100 ms) stolen.
        let busy = window("intel_idle", Nanos::from_millis(2_000));
        assert_eq!(busy.source, BusySource::ProcStat);
        let busy_ms: Vec<u64> = busy.cpus.iter().map(|c| c.busy.0 / 1_000_000).collect();
        assert_eq!(busy_ms, [1_650, 1_900]);
        assert_eq!(busy.sum(|c| c.steal), Nanos::from_millis(100));
        assert!((busy.cpus_busy().unwrap() - 1.775).abs() < 1e-12);
        // CPU 0: 13 - 10 counts of irq, 26 - 20 of softirq.
        let interrupts = (busy.cpus[0].irq, busy.cpus[0].softirq);
        assert_eq!(interrupts, (Nanos::from_millis(30), Nanos::from_millis(60)));
        assert!((busy.softirq_share().unwrap() - 0.06 / 3.55).abs() < 1e-12);
        assert!((busy.steal_share().unwrap() - 0.1 / 4.0).abs() < 1e-12);
        // By cpuidle CPU 0 slept 100 + 300 000 us.
        let other = Nanos::from_micros(2_000_000 - 300_100);
        assert_eq!(busy.cpus[0].other, Some(other));
    }

    /// In 2 s all programs ran for 3 s in user mode: this process for 0.3 s, its child for 0.2 s.
    #[test]
    fn user_time_that_is_not_ours_is_that_of_other_programs() {
        let tree = SysProcTree::new("");
        let roots = tree.roots();
        let read = |[user, nice, own_user, child]: [u64; 4], at: u64| {
            tree.add(&format!(
                "proc/stat = cpu0 {user} {nice} 70 10 0 0 0 0 0 0
                 proc/self/stat = 7 (a) b) R 1 7 7 0 -1 0 0 0 0 0 {own_user} 30 {child} 0 20 0"
            ));
            CpuTimes::read_at(&roots, Nanos::from_millis(at)).unwrap()
        };
        let (before, after) = (read([100, 50, 20, 5], 0), read([200, 250, 50, 25], 2_000));
        assert_eq!(after.busy_since(&before).other_programs(), Some(1.25));
        std::fs::remove_file(roots.proc("self/stat")).unwrap();
        let unread = CpuTimes::read_at(&roots, Nanos::from_millis(4_000)).unwrap();
        assert_eq!(unread.busy_since(&after).other_programs(), None);
    }

    #[test]
    fn short_windows_use_cpuidle_where_it_can_be_trusted() {
        let trusted = window("intel_idle", Nanos::from_millis(500));
        assert_eq!(trusted.source, BusySource::CpuIdle);
        assert_eq!(trusted.cpus[0].busy, Nanos::from_micros(500_000 - 300_100));
        assert_eq!(trusted.cpus[0].other, Some(Nanos::from_millis(150)));
        let halting = window("haltpoll", Nanos::from_millis(500));
        assert_eq!(halting.source, BusySource::ProcStat);
        assert_eq!(halting.resolution, STAT_UNIT);
    }

    #[test]
    fn a_spinning_thread_is_seen_on_the_live_machine() {
        let roots = Roots::live();
        let before = CpuTimes::read(&roots).unwrap();
        let start = std::time::Instant::now();
        while start.elapsed().as_millis() < 300 {}
        let now = CpuTimes::read(&roots).unwrap();
        let busy = now.busy_since_by(&before, BusySource::ProcStat).unwrap();
        // At least the time of one CPU, less the rounding of the counts and the time that was
        // stolen or preempted.
        let max_busy = busy.total() + busy.sum(|c| c.steal) + busy.resolution;
        assert!(max_busy >= Nanos::from_millis(280), "{busy:?}");
        assert!(busy.total() <= Nanos(busy.window.0 * busy.cpus.len() as u64));
    }
}
