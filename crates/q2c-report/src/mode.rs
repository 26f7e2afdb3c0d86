//! The mode in which a method really ran, in words.

use crate::phrase::{joined, listed};
use q2c_policy::method::Means;
use q2c_result::mode::{EffectiveMode, Evidence, ModeKind, ModeNote, WaitMode};
use std::collections::BTreeSet;

/// A mode in words: `poll (ring)`, `interrupt: the kernel ignored the request to poll`.
#[must_use]
pub fn label(mode: &WaitMode) -> String {
    let kind = kind_label(mode.kind);
    let means = mode.means.map(|means| format!(" ({means})"));
    let text = format!("{kind}{}", means.unwrap_or_default());
    let Some(note) = &mode.note else {
        return text;
    };
    match note {
        ModeNote::Failed(reason) => format!("{kind}: {reason}"),
        ModeNote::PollIgnored => format!("{kind}: the kernel ignored the request to poll"),
        ModeNote::Interrupted(asked) => {
            let means_text = mode.means.map_or("", |means| means.text());
            format!("{kind} ({means_text}; the device raised interrupts, {asked} was ignored)")
        }
        ModeNote::Neither => format!("{kind}: neither polling nor interrupts"),
        ModeNote::InterruptsUnread => {
            format!("{kind}: interrupts could not be read, and a wait for them leaves the CPU, too")
        }
        ModeNote::CpusPerJob(cpus) => {
            format!("{kind}: each job used {cpus:.2} CPUs, and polling takes a whole one")
        }
        ModeNote::NeverSlept => format!("{text}, no sleep"),
        ModeNote::LeftToInterrupt(share) => {
            let percent = share * 100.0;
            format!("{text}, no sleep: the rule left {percent:.0} % to the interrupt")
        }
        ModeNote::StayedOnCpu if mode.kind == ModeKind::Interrupt => {
            format!("{text}, most waits ended without leaving the CPU")
        }
        ModeNote::StayedOnCpu => {
            format!("{text}, most sleeps ended without leaving the CPU")
        }
        ModeNote::NoHelper => format!("{text} without its kernel thread"),
    }
}

fn kind_label(kind: ModeKind) -> &'static str {
    match kind {
        ModeKind::NotRun => "not run",
        ModeKind::NotProved => "not proved",
        ModeKind::AtRest => "at rest",
        ModeKind::HybridInKernel => "hybrid in the kernel",
        other => other.text(),
    }
}

/// The mode that ran, compared with the mode that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModeMatch {
    AsAsked,
    /// As asked, in a way that is worth knowing: `poll` was `poll (ring)`.
    ByOtherMeans,
    Differs,
}

pub(crate) fn mode_match(effective: &EffectiveMode) -> ModeMatch {
    let WaitMode { kind, means, note } = &effective.mode;
    let is_plain = note.is_none() && means.is_none();
    match (ModeKind::from_method(&effective.asked) == *kind, is_plain) {
        (false, _) => ModeMatch::Differs,
        (true, true) => ModeMatch::AsAsked,
        (true, false) => ModeMatch::ByOtherMeans,
    }
}

/// Explains the brackets in the names of these modes; empty if none has brackets.
pub(crate) fn legend<'a>(modes: impl Iterator<Item = &'a WaitMode>) -> String {
    let means: BTreeSet<Means> = modes.filter_map(|mode| mode.means).collect();
    let explanation = |means| format!("({means}): {}.", means_meaning(means));
    joined(means.into_iter().map(explanation), " ")
}

fn means_meaning(means: Means) -> &'static str {
    match means {
        Means::Ring => "jobs look into the completion ring; the device still interrupts",
        Means::IoPoll => "the kernel asks the device, which does not interrupt",
        Means::IoPollHybrid => "the kernel sleeps, then asks the device",
        Means::HelperIoPoll => "jobs look into the ring, a kernel thread asks the device",
        Means::HelperIoPollHybrid => {
            "jobs look into the ring, a kernel thread sleeps, then asks the device"
        }
        Means::IoGetevents => "jobs call io_getevents, which returns at once",
        Means::Call => "the kernel asks the device within the call that does the I/O",
        Means::Memory => "jobs look into q2c's own memory, as the device is simulated",
        Means::UserSpaceDriver => "a driver outside the kernel asks the device",
    }
}

/// Name and value of each piece of a proof, in the order of the names: `I/Os 1200, device
/// interrupts 3`.
pub(crate) fn proof_text(proof: &[Evidence]) -> String {
    let mut pieces: Vec<(&str, String)> = proof.iter().map(name_and_value).collect();
    pieces.sort();
    listed(pieces.iter().map(|(name, value)| format!("{name} {value}")))
}

fn name_and_value(evidence: &Evidence) -> (&'static str, String) {
    const SLEPT: &str = "I/Os that slept";
    let or_unread =
        |count: &Option<u64>| count.map_or("could not be read".to_owned(), |n| n.to_string());
    let rate = |n: &f64| format!("{n:.3}");
    let or_uncounted = |n: &Option<f64>| n.as_ref().map_or("not counted".to_owned(), rate);
    match evidence {
        Evidence::Ios(n) => ("I/Os", n.to_string()),
        Evidence::Slept(n) => (SLEPT, n.to_string()),
        Evidence::SleptByProbe { slept, polled } => {
            (SLEPT, format!("{slept} of {polled} seen by a probe"))
        }
        Evidence::SleptUnseen(cause) => (SLEPT, format!("not seen: {cause}")),
        Evidence::Interrupts(count) => ("device interrupts", or_unread(count)),
        Evidence::Requests(count) => ("device requests", or_unread(count)),
        Evidence::RingFlags(text) => ("ring flags", text.clone()),
        Evidence::SwitchesPerWait(n) => ("voluntary switches per slept I/O, or per I/O", rate(n)),
        Evidence::Engine(text) => ("engine", text.clone()),
        Evidence::Through(text) => ("through", text.clone()),
        Evidence::InterruptsPerIo(n) => ("device_interrupts_per_io", or_uncounted(n)),
        Evidence::RequestsPerIo(n) => ("device_requests_per_io", or_uncounted(n)),
        Evidence::SwitchesPerIo(n) => ("voluntary_switches_per_io", rate(n)),
        Evidence::SleepsPerIo(n) => ("sleeps_per_io", rate(n)),
        Evidence::LeftToInterrupt(n) => ("I/Os left to the interrupt", n.to_string()),
        Evidence::PollsBy(means) => ("polls_by", means.to_string()),
        Evidence::EngineFlags(text) => ("flags", text.clone()),
        Evidence::SqpollThreads(n) => ("sqpoll_threads", n.to_string()),
        Evidence::IoWorkers(n) => ("io_workers", n.to_string()),
        Evidence::CpusPerJob(cpus) => ("cpus_per_job", format!("{cpus:.2}")),
        Evidence::NoWarmUp => ("warm_up", "none; not looked at for a trend".to_owned()),
        Evidence::WorstJobsPercentiles => ("percentiles", "the worst job's".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_in_words() {
        let by = |kind, means| WaitMode::new(kind, Some(means));
        for (mode, wanted) in [
            (WaitMode::from_kind(ModeKind::Interrupt), "interrupt"),
            (by(ModeKind::Poll, Means::IoPoll), "poll (iopoll)"),
            (
                by(ModeKind::HybridKernel, Means::Call),
                "hybrid-kernel (call)",
            ),
            (
                by(ModeKind::Poll, Means::Memory).with_note(ModeNote::Interrupted(Means::IoPoll)),
                "poll (memory; the device raised interrupts, iopoll was ignored)",
            ),
            (
                by(ModeKind::Hybrid, Means::IoPoll).with_note(ModeNote::LeftToInterrupt(0.996)),
                "hybrid (iopoll), no sleep: the rule left 100 % to the interrupt",
            ),
            (
                WaitMode::from_kind(ModeKind::NotRun)
                    .with_note(ModeNote::Failed("no memory".to_owned())),
                "not run: no memory",
            ),
        ] {
            assert_eq!(label(&mode), wanted);
        }
    }

    #[test]
    fn what_was_asked_is_held_against_what_was() {
        let match_of = |asked: &str, mode: WaitMode| {
            mode_match(&EffectiveMode {
                asked: asked.parse().unwrap(),
                mode,
                proof: Default::default(),
            })
        };
        let poll = || WaitMode::new(ModeKind::Poll, Some(Means::Ring));
        assert_eq!(
            match_of("interrupt", WaitMode::from_kind(ModeKind::Interrupt)),
            ModeMatch::AsAsked
        );
        assert_eq!(match_of("poll", poll()), ModeMatch::ByOtherMeans);
        let slept = WaitMode::new(ModeKind::Hybrid, Some(Means::Ring));
        assert_eq!(
            match_of("hybrid:min:70%,10ms", slept.clone()),
            ModeMatch::ByOtherMeans
        );
        assert_eq!(match_of("hybrid-uring", slept), ModeMatch::Differs);
        assert_eq!(
            match_of("poll", WaitMode::from_kind(ModeKind::Interrupt)),
            ModeMatch::Differs
        );
    }

    #[test]
    fn a_proof_is_told_in_the_order_of_its_names() {
        let (slept, polled) = (9, 10);
        let proof = [
            Evidence::Requests(None),
            Evidence::SleptByProbe { slept, polled },
            Evidence::Ios(12),
            Evidence::SwitchesPerWait(0.25),
        ];
        let expected = "I/Os 12, I/Os that slept 9 of 10 seen by a probe, device requests could not be \
                    read, voluntary switches per slept I/O, or per I/O 0.250";
        assert_eq!(proof_text(&proof), expected);
    }
}
