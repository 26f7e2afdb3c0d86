//! Counts that show how I/Os were really waited for. They decide the effective mode of a method,
//! and are its proof.

mod judge;

use crate::proof::{Evidence, Proof};
use q2c_policy::method::Means;

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
    /// Flags that the engine was set up with; empty for none.
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

/// Voluntary context switches, with what they are divided by.
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
        proof.extend(self.left_evidence());
        proof
    }

    fn left_evidence(&self) -> Option<Evidence> {
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
        let when = |there: bool, evidence: Evidence| there.then_some(evidence);
        let others = [
            when(self.handled > 0, Evidence::SleepsPerIo(per_io(self.slept))),
            self.left_evidence(),
            self.polls_by.map(Evidence::PollsBy),
            when(!flags.is_empty(), Evidence::EngineFlags(flags.clone())),
            when(threads > 0, Evidence::SqpollThreads(threads)),
            when(workers > 0, Evidence::IoWorkers(workers)),
        ];
        proof.extend(others.into_iter().flatten());
        proof
    }
}

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
