//! The proof of an effective mode, in words.

use crate::phrase::listed;
use q2c_result::proof::Evidence;

/// Name and value of each piece of a proof, in the order of the names: `I/Os 1200, device
/// interrupts 3`.
pub(crate) fn words(proof: &[Evidence]) -> String {
    let mut pieces: Vec<(&str, String)> = proof.iter().map(piece).collect();
    pieces.sort();
    listed(pieces.iter().map(|(name, value)| format!("{name} {value}")))
}

fn piece(evidence: &Evidence) -> (&'static str, String) {
    const SLEPT: &str = "I/Os that slept";
    let read =
        |count: &Option<u64>| count.map_or("could not be read".to_owned(), |n| n.to_string());
    let rate = |n: &f64| format!("{n:.3}");
    let counted = |n: &Option<f64>| n.as_ref().map_or("not counted".to_owned(), rate);
    match evidence {
        Evidence::Ios(n) => ("I/Os", n.to_string()),
        Evidence::Slept(n) => (SLEPT, n.to_string()),
        Evidence::SleptByProbe { slept, polled } => {
            (SLEPT, format!("{slept} of {polled} seen by a probe"))
        }
        Evidence::SleptUnseen(why) => (SLEPT, format!("not seen: {why}")),
        Evidence::Interrupts(count) => ("device interrupts", read(count)),
        Evidence::Requests(count) => ("device requests", read(count)),
        Evidence::RingFlags(text) => ("ring flags", text.clone()),
        Evidence::SwitchesPerWait(n) => ("voluntary switches per slept I/O, or per I/O", rate(n)),
        Evidence::Engine(text) => ("engine", text.clone()),
        Evidence::Through(text) => ("through", text.clone()),
        Evidence::InterruptsPerIo(n) => ("device_interrupts_per_io", counted(n)),
        Evidence::RequestsPerIo(n) => ("device_requests_per_io", counted(n)),
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
        assert_eq!(words(&proof), expected);
    }
}
