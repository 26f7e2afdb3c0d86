//! The proof of an effective mode, in words.

use crate::phrase::listed;
use q2c_result::proof::Evidence;

/// Name and value of each piece of a proof, in the order of the names: `I/Os 1200, device
/// interrupts 3`.
pub(crate) fn words(proof: &[Evidence]) -> String {
    let mut named: Vec<(&str, String)> = proof.iter().map(|of| (name(of), value(of))).collect();
    named.sort();
    listed(named.iter().map(|(name, value)| format!("{name} {value}")))
}

fn name(evidence: &Evidence) -> &'static str {
    match evidence {
        Evidence::Ios(_) => "I/Os",
        Evidence::Slept(_) | Evidence::SleptByProbe { .. } | Evidence::SleptUnseen(_) => {
            "I/Os that slept"
        }
        Evidence::Interrupts(_) => "device interrupts",
        Evidence::Requests(_) => "device requests",
        Evidence::RingFlags(_) => "ring flags",
        Evidence::SwitchesPerWait(_) => "voluntary switches per slept I/O, or per I/O",
        Evidence::Engine(_) => "engine",
        Evidence::Through(_) => "through",
        Evidence::InterruptsPerIo(_) => "device_interrupts_per_io",
        Evidence::RequestsPerIo(_) => "device_requests_per_io",
        Evidence::SwitchesPerIo(_) => "voluntary_switches_per_io",
        Evidence::SleepsPerIo(_) => "sleeps_per_io",
        Evidence::LeftToInterrupt(_) => "I/Os left to the interrupt",
        Evidence::PollsBy(_) => "polls_by",
        Evidence::EngineFlags(_) => "flags",
        Evidence::SqpollThreads(_) => "sqpoll_threads",
        Evidence::IoWorkers(_) => "io_workers",
        Evidence::CpusPerJob(_) => "cpus_per_job",
        Evidence::NoWarmUp => "warm_up",
        Evidence::WorstJobsPercentiles => "percentiles",
    }
}

fn value(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Ios(n) | Evidence::Slept(n) | Evidence::LeftToInterrupt(n) => n.to_string(),
        Evidence::SleptByProbe { slept, polled } => format!("{slept} of {polled} seen by a probe"),
        Evidence::SleptUnseen(why) => format!("not seen: {why}"),
        Evidence::Interrupts(count) | Evidence::Requests(count) => {
            count.map_or("could not be read".to_owned(), |n| n.to_string())
        }
        Evidence::InterruptsPerIo(rate) | Evidence::RequestsPerIo(rate) => {
            rate.map_or("not counted".to_owned(), |n| format!("{n:.3}"))
        }
        Evidence::SwitchesPerWait(n) | Evidence::SwitchesPerIo(n) | Evidence::SleepsPerIo(n) => {
            format!("{n:.3}")
        }
        Evidence::RingFlags(text)
        | Evidence::Engine(text)
        | Evidence::Through(text)
        | Evidence::EngineFlags(text) => text.clone(),
        Evidence::PollsBy(means) => means.to_string(),
        Evidence::SqpollThreads(n) | Evidence::IoWorkers(n) => n.to_string(),
        Evidence::CpusPerJob(cpus) => format!("{cpus:.2}"),
        Evidence::NoWarmUp => "none; not looked at for a trend".to_owned(),
        Evidence::WorstJobsPercentiles => "the worst job's".to_owned(),
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
        let told = "I/Os 12, I/Os that slept 9 of 10 seen by a probe, device requests could not be \
                    read, voluntary switches per slept I/O, or per I/O 0.250";
        assert_eq!(words(&proof), told);
    }
}
