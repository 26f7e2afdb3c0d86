//! Counts that show how I/Os were really waited for. They decide the effective mode of a method,
//! and are its proof.

use crate::mode::{EffectiveMode, Evidence, ModeKind, ModeNote, Proof, WaitMode};
use q2c_policy::method::Means;
use q2c_policy::{LaneMethod, Method};

/// Counts over the I/Os of one method, from all its trials together or from an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaitCounts {
    /// I/Os done.
    pub ios: u64,
    /// I/Os that a sleep rule handled in q2c's own threads.
    pub handled: u64,
    /// I/Os that slept by a rule in q2c's own threads.
    pub slept: u64,
    /// I/Os that a sleep rule left to the interrupt.
    pub left_to_interrupt: u64,
    /// Interrupts of the device; `None` when they could not be read.
    pub interrupts: Option<u64>,
    /// Requests that the device completed; `None` when its counters could not be read.
    pub requests: Option<u64>,
    /// True if interrupts and requests include those of background jobs.
    pub others: bool,
    /// Voluntary context switches.
    pub switches: Switches,
    /// Where the engine looked for completions; `None` if unknown.
    pub polls_by: Option<Means>,
    /// Flags that the engine was set up with; empty without flags.
    pub flags: String,
    /// Number of kernel threads that were seen to submit for the jobs.
    pub sqpoll_threads: u32,
    /// Number of kernel threads that executed I/Os which could not be submitted at once.
    pub io_workers: u32,
    /// True if the engine's options ask for a kernel thread that submits.
    pub wants_sqpoll_thread: bool,
    /// True if interrupts and switches must prove that the kernel polls as a method asks.
    pub checks_kernel: bool,
}

/// Voluntary context switches, divided by waits or by I/Os.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Switches {
    /// Per I/O that slept, or per I/O when none slept.
    PerWait(f64),
    /// Per I/O, slept or not.
    PerIo(f64),
}

impl Default for Switches {
    fn default() -> Self {
        Switches::PerIo(0.0)
    }
}

impl Switches {
    fn number(self) -> f64 {
        match self {
            Switches::PerWait(n) | Switches::PerIo(n) => n,
        }
    }

    fn evidence(self) -> Evidence {
        match self {
            Switches::PerWait(n) => Evidence::SwitchesPerWait(n),
            Switches::PerIo(n) => Evidence::SwitchesPerIo(n),
        }
    }
}

/// Completions count as signalled by interrupts from this many interrupts per I/O on.
const MIN_INTERRUPTS_PER_IO: f64 = 0.5;

/// Completions count as polled below this many interrupts per I/O.
const MAX_POLLED_INTERRUPTS_PER_IO: f64 = 0.1;

/// Voluntary switches per I/O that slept, below which the thread did not leave its CPU.
const MIN_SWITCHES_PER_SLEEP: f64 = 0.5;

/// Smallest share of a CPU that each polling thread of an external program uses.
const MIN_POLLING_CPUS: f64 = 0.9;

impl WaitCounts {
    fn per_io(&self, count: u64) -> f64 {
        count as f64 / self.ios.max(1) as f64
    }

    /// The proof for `tune`, with sums over trials. `slept` is the evidence of sleeps.
    pub fn proof_by_sums(&self, slept: Evidence) -> Proof {
        let mut proof = vec![
            Evidence::Ios(self.ios),
            slept,
            Evidence::Interrupts(self.interrupts),
            Evidence::Requests(self.requests),
            Evidence::RingFlags(self.flags.clone()),
            self.switches.evidence(),
        ];
        proof.extend(self.left_to_interrupt_evidence());
        proof
    }

    fn left_to_interrupt_evidence(&self) -> Option<Evidence> {
        let left = self.left_to_interrupt;
        (left > 0).then_some(Evidence::LeftToInterrupt(left))
    }

    /// The proof for `bench`, per I/O. `through` is the way around the block layer, if any.
    pub fn proof_per_io(&self, engine: String, through: Option<String>) -> Proof {
        let per_io = |count: u64| self.per_io(count);
        let mut proof = vec![Evidence::Engine(engine)];
        proof.extend(through.map(Evidence::Through));
        proof.extend([
            Evidence::InterruptsPerIo(self.interrupts.map(per_io)),
            Evidence::RequestsPerIo(self.requests.map(per_io)),
            self.switches.evidence(),
        ]);
        let (flags, threads, workers) = (&self.flags, self.sqpoll_threads, self.io_workers);
        let when = |is_known: bool, evidence: Evidence| is_known.then_some(evidence);
        let optional = [
            when(self.handled > 0, Evidence::SleepsPerIo(per_io(self.slept))),
            self.left_to_interrupt_evidence(),
            self.polls_by.map(Evidence::PollsBy),
            when(!flags.is_empty(), Evidence::EngineFlags(flags.clone())),
            when(threads > 0, Evidence::SqpollThreads(threads)),
            when(workers > 0, Evidence::IoWorkers(workers)),
        ];
        proof.extend(optional.into_iter().flatten());
        proof
    }

    /// The mode that really ran when the method `asked` was asked for.
    pub fn mode(&self, asked: &Method) -> WaitMode {
        if self.wants_sqpoll_thread && self.sqpoll_threads == 0 {
            return self.poll_mode().with_note(ModeNote::NoHelper);
        }
        match asked {
            Method::Lane(LaneMethod::Interrupt) => WaitMode::from_kind(ModeKind::Interrupt),
            Method::Lane(LaneMethod::Hybrid(_)) => match self.polls_by {
                Some(means) if self.checks_kernel && self.ignored_polling(means) => {
                    WaitMode::new(self.rule_mode().kind, Some(Means::Memory))
                        .with_note(ModeNote::Interrupted(means))
                }
                _ => self.rule_mode(),
            },
            _ => match self.polls_by.filter(|means| means.asks_device()) {
                Some(means) if self.checks_kernel => self.kernel_poll_mode(asked, means),
                _ => self.requested_poll_mode(asked),
            },
        }
    }

    /// True if most waits ended before the thread left its CPU. False if switches are not per wait.
    pub fn stayed_on_cpu(&self) -> bool {
        matches!(self.switches, Switches::PerWait(n) if n < MIN_SWITCHES_PER_SLEEP)
    }

    /// The same counts for a device that also served other jobs, whose `others` I/Os had at most
    /// one interrupt each. The number of interrupts is kept if it shows how these I/Os were waited
    /// for: hardly any at all, or many more than the other jobs can have caused. Else it becomes
    /// unknown, and so does the number of requests.
    #[must_use]
    pub fn with_other_jobs(self, others: u64) -> Self {
        let least_own = self.interrupts.map(|total| total.saturating_sub(others));
        let interrupts = match (self.interrupts, least_own) {
            (Some(total), _) if self.per_io(total) < MAX_POLLED_INTERRUPTS_PER_IO => Some(total),
            (_, Some(least)) if self.per_io(least) >= MIN_INTERRUPTS_PER_IO => Some(least),
            _ => None,
        };
        WaitCounts {
            interrupts,
            requests: None,
            ..self
        }
    }

    fn poll_mode(&self) -> WaitMode {
        WaitMode::new(ModeKind::Poll, self.polls_by)
    }

    /// The mode of a method that should sleep by a rule in q2c's own threads.
    fn rule_mode(&self) -> WaitMode {
        if self.slept == 0 {
            let left_share = self.per_io(self.left_to_interrupt);
            if left_share < MIN_INTERRUPTS_PER_IO {
                return self.poll_mode().with_note(ModeNote::NeverSlept);
            }
            let hybrid = WaitMode::new(ModeKind::Hybrid, self.polls_by);
            return hybrid.with_note(ModeNote::LeftToInterrupt(left_share));
        }
        WaitMode {
            note: self.stayed_on_cpu().then_some(ModeNote::StayedOnCpu),
            ..WaitMode::new(ModeKind::Hybrid, self.polls_by)
        }
    }

    /// The mode of a method that polled. A kernel thread that submits is part of the mode.
    fn requested_poll_mode(&self, asked: &Method) -> WaitMode {
        match ModeKind::from_method(asked) {
            kind @ (ModeKind::Sqpoll | ModeKind::SqpollIopoll) => {
                WaitMode::new(kind, self.polls_by)
            }
            _ => self.poll_mode(),
        }
    }

    /// The mode of a method that asks for `means`, which the kernel may silently ignore.
    fn kernel_poll_mode(&self, asked: &Method, means: Means) -> WaitMode {
        let ignored = || WaitMode::from_kind(ModeKind::Interrupt).with_note(ModeNote::PollIgnored);
        let unproved = |note| WaitMode::from_kind(ModeKind::NotProved).with_note(note);
        let left_cpu = self.switches.number() >= MIN_SWITCHES_PER_SLEEP;
        let by_call = matches!(asked, Method::HybridKernel(_));
        let sleeps = by_call || means.sleeps();
        let counted = self.interrupts.is_some();
        match (self.came_by_interrupt(), left_cpu) {
            // A call that does not poll can only wait for the interrupt, even if the interrupt
            // often comes before the thread has left its CPU.
            (Some(true), _) if means == Means::Call => ignored(),
            (Some(true), true) => ignored(),
            (Some(true), false) => WaitMode::new(ModeKind::Poll, Some(Means::Memory))
                .with_note(ModeNote::Interrupted(means)),
            // Several I/Os shared an interrupt, so there are fewer interrupts than I/Os, and the
            // threads slept while they waited.
            (None, true) if !sleeps && counted => ignored(),
            (None, true) if !sleeps => unproved(ModeNote::Neither),
            (None, true) if by_call && !counted => unproved(ModeNote::InterruptsUnread),
            (_, true) if sleeps => WaitMode::new(kernel_sleep_kind(asked), self.polls_by),
            (_, false) if sleeps => self.poll_mode().with_note(ModeNote::NeverSlept),
            _ => self.requested_poll_mode(asked),
        }
    }

    /// True if interrupts came although the device should have been polled by these means.
    fn ignored_polling(&self, means: Means) -> bool {
        means.asks_device() && self.came_by_interrupt() == Some(true)
    }

    /// True if completions came by interrupts; `None` if the counts do not show it. Devices merge
    /// interrupts at depth, so only hardly any interrupts prove polling.
    ///
    /// Each I/O that a rule left to the interrupt had an interrupt, and each request of other jobs
    /// may have had one. All further interrupts are those of polled I/Os. Other jobs may have fewer
    /// interrupts than requests, so beside them no count proves that polled I/Os had none.
    fn came_by_interrupt(&self) -> Option<bool> {
        let polled = self.ios.saturating_sub(self.left_to_interrupt);
        let other_requests = if self.others {
            self.requests?.saturating_sub(self.ios)
        } else {
            0
        };
        let expected = self.left_to_interrupt + other_requests;
        match self.interrupts?.saturating_sub(expected) as f64 / polled.max(1) as f64 {
            per_io if per_io >= MIN_INTERRUPTS_PER_IO && polled > 0 => Some(true),
            per_io if per_io < MAX_POLLED_INTERRUPTS_PER_IO && !self.others => Some(false),
            _ => None,
        }
    }
}

fn kernel_sleep_kind(asked: &Method) -> ModeKind {
    match ModeKind::from_method(asked) {
        kind @ (ModeKind::HybridUring | ModeKind::HybridKernel) => kind,
        _ => ModeKind::HybridInKernel,
    }
}

impl EffectiveMode {
    /// The effective mode of an external program with a user-space driver, each of whose jobs used
    /// `cpus` CPUs. Its device sends the kernel no interrupt, so the CPU time of its threads shows
    /// if they poll. `through` is the way that I/Os took around the block layer.
    pub fn from_program_cpus(asked: Method, cpus: f64, through: Option<String>) -> Self {
        let evidence = [
            Evidence::CpusPerJob(cpus),
            Evidence::NoWarmUp,
            Evidence::WorstJobsPercentiles,
        ];
        let through = through.map(Evidence::Through);
        EffectiveMode {
            asked,
            mode: if cpus >= MIN_POLLING_CPUS {
                WaitMode::new(ModeKind::Poll, Some(Means::UserSpaceDriver))
            } else {
                WaitMode::from_kind(ModeKind::NotProved).with_note(ModeNote::CpusPerJob(cpus))
            },
            proof: through.into_iter().chain(evidence).collect(),
        }
    }
}

#[cfg(test)]
mod judge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    fn counts() -> WaitCounts {
        WaitCounts {
            ios: 1_000,
            handled: 1_000,
            slept: 250,
            interrupts: Some(900),
            polls_by: Some(Means::Ring),
            switches: Switches::PerIo(0.5),
            ..WaitCounts::default()
        }
    }

    #[test]
    fn counts_are_given_as_sums_or_per_io() {
        let sums = vec![
            Evidence::Ios(1_000),
            Evidence::Slept(250),
            Evidence::Interrupts(Some(900)),
            Evidence::Requests(None),
            Evidence::RingFlags(String::new()),
            Evidence::SwitchesPerWait(2.0),
        ];
        let per_wait = WaitCounts {
            switches: Switches::PerWait(2.0),
            ..counts()
        };
        assert_eq!(per_wait.proof_by_sums(Evidence::Slept(250)), sums);
        let per_io = vec![
            Evidence::Engine("io_uring".to_owned()),
            Evidence::InterruptsPerIo(Some(0.9)),
            Evidence::RequestsPerIo(None),
            Evidence::SwitchesPerIo(0.5),
            Evidence::SleepsPerIo(0.25),
            Evidence::PollsBy(Means::Ring),
        ];
        assert_eq!(counts().proof_per_io("io_uring".to_owned(), None), per_io);
    }

    #[test]
    fn facts_that_are_there_are_part_of_the_proof() {
        let counts = WaitCounts {
            flags: "SQPOLL".to_owned(),
            sqpoll_threads: 2,
            io_workers: 1,
            ..counts()
        };
        let through = "/dev/ng0n1".to_owned();
        let proof = counts.proof_per_io("io_uring:sqpoll".to_owned(), Some(through));
        for wanted in [
            Evidence::Through("/dev/ng0n1".to_owned()),
            Evidence::EngineFlags("SQPOLL".to_owned()),
            Evidence::SqpollThreads(2),
            Evidence::IoWorkers(1),
        ] {
            assert!(proof.contains(&wanted), "{wanted:?}");
        }
    }
}
