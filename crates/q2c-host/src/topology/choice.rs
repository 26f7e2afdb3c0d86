use super::{Border, Topology, cpu_order};
use crate::block::{Interrupts, TargetDisk};
use crate::{Roots, cpu_list};
use itertools::Itertools;
use q2c_model::{CpuId, Exit, Fault, OrFault};

/// The CPUs that this process may run on, by ascending number. Every command takes the CPUs of its
/// threads from an `AllowedCpus`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedCpus(Vec<CpuId>);

/// The order in which CPUs are taken when the user named none.
#[derive(Clone, Copy, Debug)]
pub enum UnnamedCpus<'a> {
    /// Takes CPUs from the last to the first, because the first CPUs have most of the kernel's own
    /// work. The CPUs given here, which take most of a device's interrupts, come last, in the same
    /// order. This order is for a few threads whose latencies should not be disturbed.
    AwayFrom(&'a [CpuId]),
    /// Every core before any SMT sibling, the device's NUMA node first, as [`cpu_order`] says. This
    /// order is for curves over the number of jobs.
    ByTopology {
        /// The cores, siblings and nodes of the machine.
        topology: &'a Topology,
        /// NUMA node of the device; `None` where it is not known.
        node: Option<u32>,
        /// The CPU that comes before all others, if short trials have chosen one.
        first: Option<CpuId>,
    },
}

/// The CPUs that were chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChosenCpus {
    /// Thread n takes the n-th CPU; beyond the last, the order starts again.
    pub cpus: Vec<CpuId>,
    /// The order in words.
    pub words: String,
    /// Numbers of jobs at which the order goes on to CPUs of another kind. Empty except for an
    /// order by topology.
    pub borders: Vec<Border>,
}

impl AllowedCpus {
    /// The CPUs that the kernel lets this process run on.
    pub fn read() -> Result<Self, Fault> {
        let cpus = q2c_sys::thread::allowed_cpus();
        let cpus = cpus.or_fault(Exit::Environment, "find the CPUs that q2c may run on")?;
        Ok(AllowedCpus::from_sorted(cpus))
    }

    /// These CPUs, which must be in ascending order.
    pub fn from_sorted(cpus: Vec<CpuId>) -> Self {
        AllowedCpus(cpus)
    }

    /// The number of CPUs that may be used.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Chooses the CPUs of the threads that submit I/O. All commands choose by this rule:
    ///
    /// 1. CPUs that the user named are taken in the order in which they were named. Each must be
    ///    allowed. For an order by topology, each may be named only once: a CPU that is named
    ///    twice would count as two in a curve over jobs.
    /// 2. When the user named none, all allowed CPUs are taken in the order that `unnamed` says.
    pub fn choose(
        &self,
        named: Option<&[CpuId]>,
        unnamed: UnnamedCpus<'_>,
    ) -> Result<ChosenCpus, Fault> {
        let Some(named) = named else {
            return Ok(self.choose_unnamed(unnamed));
        };
        let each_once = matches!(unnamed, UnnamedCpus::ByTopology { .. });
        for (at, &cpu) in named.iter().enumerate() {
            self.check(cpu)?;
            if each_once && named[..at].contains(&cpu) {
                let text = format!("use {cpu} twice: name each CPU once");
                return Err(Fault::new(Exit::Usage, text));
            }
        }
        Ok(ChosenCpus {
            cpus: named.to_vec(),
            words: "as asked".to_owned(),
            ..ChosenCpus::default()
        })
    }

    /// Checks that this process may run on `cpu`.
    pub fn check(&self, cpu: CpuId) -> Result<(), Fault> {
        if self.0.contains(&cpu) {
            return Ok(());
        }
        let allowed = self.0.iter().map(|cpu| cpu.0).join(", ");
        let text =
            format!("use {cpu}: q2c may run on CPUs {allowed} here; name some of them with --cpus");
        Err(Fault::new(Exit::Usage, text))
    }

    /// A CPU for a thread beside the measured ones: the last allowed CPU that is not `busy`, if
    /// possible one that is not `avoided`. `None` when every allowed CPU is busy.
    pub fn spare(&self, busy: &[CpuId], avoided: &[CpuId]) -> Option<CpuId> {
        let mut free = self.0.iter().rev().filter(|cpu| !busy.contains(cpu));
        let spare = free.clone().next();
        free.find(|cpu| !avoided.contains(cpu)).or(spare).copied()
    }

    fn choose_unnamed(&self, order: UnnamedCpus<'_>) -> ChosenCpus {
        match order {
            UnnamedCpus::AwayFrom(interrupted) => {
                let mut cpus: Vec<CpuId> = self.0.iter().rev().copied().collect();
                cpus.sort_by_key(|cpu| interrupted.contains(cpu));
                ChosenCpus {
                    cpus,
                    words: "from the last to the first, CPUs with interrupts last".to_owned(),
                    ..ChosenCpus::default()
                }
            }
            UnnamedCpus::ByTopology {
                topology,
                node,
                first,
            } => self.add_unplaced(cpu_order(topology, node, &self.0, first)),
        }
    }

    /// Appends allowed CPUs that sysfs does not list: the kernel lets this process run on them,
    /// too.
    fn add_unplaced(&self, mut order: ChosenCpus) -> ChosenCpus {
        let mut unplaced = self.0.clone();
        unplaced.retain(|cpu| !order.cpus.contains(cpu));
        if !unplaced.is_empty() {
            let shown = cpu_list::show(&unplaced);
            order.words = if order.cpus.is_empty() {
                format!("{shown} by number, as sysfs tells no topology")
            } else {
                let before = order.words;
                format!("{before}; then {shown}, of which sysfs does not tell")
            };
            order.cpus.extend(unplaced);
        }
        order
    }

    /// At most `max_count` CPUs worth a short trial. `interrupted` take a device's interrupts, the
    /// busiest first. After `preferred` and the first allowed one of these come up to three CPUs,
    /// one each that shares a core, a socket or nothing with the busiest, then the other allowed
    /// CPUs.
    pub fn candidates(
        &self,
        topology: &Topology,
        preferred: CpuId,
        interrupted: &[CpuId],
        max_count: usize,
    ) -> Vec<CpuId> {
        let near = interrupted.first().and_then(|&cpu| topology.cpu(cpu));
        let distance = |cpu: CpuId| match (near, topology.cpu(cpu)) {
            (Some(near), Some(other)) if near.siblings.contains(&other.id) => 0,
            (Some(near), Some(other)) if near.package == other.package => 1,
            _ => 2,
        };
        let interrupted = interrupted.iter().filter(|&cpu| self.0.contains(cpu));
        let mut candidates = vec![preferred];
        candidates.extend(interrupted.take(1).filter(|&&cpu| cpu != preferred));
        // First a CPU at each distance, then the others by number.
        for wanted in (0..3).map(Some).chain(self.0.iter().map(|_| None)) {
            let fits = |cpu: CpuId| wanted.is_none_or(|wanted| wanted == distance(cpu));
            let mut allowed = self.0.iter().copied();
            let next = allowed.find(|&cpu| fits(cpu) && !candidates.contains(&cpu));
            candidates.extend(next);
        }
        candidates.truncate(max_count);
        candidates
    }
}

impl ChosenCpus {
    /// The CPUs of the first `threads` threads; empty when no CPU may be used.
    pub fn first(&self, threads: usize) -> Vec<CpuId> {
        self.cpus.iter().copied().cycle().take(threads).collect()
    }

    /// The same CPUs, `cpu` before all others.
    #[must_use]
    pub fn beginning_with(mut self, cpu: CpuId) -> Self {
        self.cpus.retain(|other| *other != cpu);
        self.cpus.insert(0, cpu);
        self
    }

    /// Moves the CPU of a single job's helper thread to the second place: the job takes the first
    /// CPU, its helper the second, and the others follow.
    #[must_use]
    pub fn with_helper(mut self, helper: CpuId) -> Self {
        self.cpus.retain(|cpu| *cpu != helper);
        self.cpus.insert(self.cpus.len().min(1), helper);
        self.words += &format!(", the submitting thread's {helper} second");
        self
    }
}

/// The CPU that took most interrupts so far, for each disk. Disks whose interrupts cannot be read
/// are left out.
pub fn interrupted_cpus<'a>(
    roots: &Roots,
    disks: impl IntoIterator<Item = &'a TargetDisk>,
) -> Vec<CpuId> {
    let busiest = |disk| Some(*Interrupts::read(roots, disk).ok()?.busiest().first()?);
    disks.into_iter().filter_map(busiest).collect()
}

#[cfg(test)]
mod tests;
