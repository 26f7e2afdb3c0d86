//! Decides from counts in which mode a method really ran.

use super::{Switches, WaitCounts};
use crate::mode::{EffectiveMode, ModeKind, ModeNote, WaitMode};
use crate::proof::Evidence;
use q2c_policy::method::Means;
use q2c_policy::{LaneMethod, Method};

/// Interrupts per I/O from which completions count as signalled by interrupts.
const MIN_INTERRUPTS_PER_IO: f64 = 0.5;

/// Interrupts per I/O below which completions count as not signalled by interrupts.
const MAX_POLLED_INTERRUPTS_PER_IO: f64 = 0.1;

/// Voluntary switches per I/O that slept, below which the thread did not leave its CPU.
const MIN_SWITCHES_PER_SLEEP: f64 = 0.5;

/// Smallest share of a CPU that each polling thread of an external program uses.
const MIN_POLLING_CPUS: f64 = 0.9;

impl WaitCounts {
    /// The mode that really ran when the method `asked` was asked for.
    pub fn mode(&self, asked: &Method) -> WaitMode {
        if self.wants_sqpoll_thread && self.sqpoll_threads == 0 {
            return self.poll_mode().with_note(ModeNote::NoHelper);
        }
        match asked {
            Method::Lane(LaneMethod::Interrupt) => WaitMode::from_kind(ModeKind::Interrupt),
            Method::Lane(LaneMethod::Hybrid(_)) => match self.polls_by {
                Some(means) if self.checks_kernel && self.was_interrupted(means) => {
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
        let surely = self.interrupts.map(|total| total.saturating_sub(others));
        let interrupts = match (self.interrupts, surely) {
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
            let left = self.per_io(self.left_to_interrupt);
            if left < MIN_INTERRUPTS_PER_IO {
                return self.poll_mode().with_note(ModeNote::NeverSlept);
            }
            let hybrid = WaitMode::new(ModeKind::Hybrid, self.polls_by);
            return hybrid.with_note(ModeNote::LeftToInterrupt(left));
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
        let read = self.interrupts.is_some();
        match (self.interrupted(), left_cpu) {
            // A call that does not poll can only wait for the interrupt, even if the interrupt
            // often comes before the thread has left its CPU.
            (Some(true), _) if means == Means::Call => ignored(),
            (Some(true), true) => ignored(),
            (Some(true), false) => WaitMode::new(ModeKind::Poll, Some(Means::Memory))
                .with_note(ModeNote::Interrupted(means)),
            // Several I/Os shared an interrupt, so there are fewer interrupts than I/Os, and the
            // threads slept while they waited.
            (None, true) if !sleeps && read => ignored(),
            (None, true) if !sleeps => unproved(ModeNote::Neither),
            (None, true) if by_call && !read => unproved(ModeNote::InterruptsUnread),
            (_, true) if sleeps => WaitMode::new(slept_in_kernel(asked), self.polls_by),
            (_, false) if sleeps => self.poll_mode().with_note(ModeNote::NeverSlept),
            _ => self.requested_poll_mode(asked),
        }
    }

    /// True if interrupts came although the device should have been polled by these means.
    fn was_interrupted(&self, means: Means) -> bool {
        means.asks_device() && self.interrupted() == Some(true)
    }

    /// Whether completions came by interrupts; `None` when the counts do not show it. Devices merge
    /// interrupts at depth, so only hardly any interrupts prove polling.
    ///
    /// Each I/O that a rule left to the interrupt accounts for one, and each request of others may
    /// account for one. The rest are interrupts of polled I/Os. If there are others, whose
    /// interrupts may be fewer than their requests, nothing proves that there was no such rest.
    fn interrupted(&self) -> Option<bool> {
        let polled = self.ios.saturating_sub(self.left_to_interrupt);
        let others = if self.others {
            self.requests?.saturating_sub(self.ios)
        } else {
            0
        };
        let expected = self.left_to_interrupt + others;
        match self.interrupts?.saturating_sub(expected) as f64 / polled.max(1) as f64 {
            n if n >= MIN_INTERRUPTS_PER_IO && polled > 0 => Some(true),
            n if n < MAX_POLLED_INTERRUPTS_PER_IO && !self.others => Some(false),
            _ => None,
        }
    }
}

fn slept_in_kernel(asked: &Method) -> ModeKind {
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
mod tests;
