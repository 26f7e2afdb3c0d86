//! Requests by hardware queue.

use crate::plot::{Axis, Colours, Plot, Series, Values, View};
use q2c_result::analyze::{AnalyzeResult, Hctx};
use std::collections::BTreeSet;

/// The requests of each queue, and the CPUs that they came from.
pub(crate) fn plot(result: &AnalyzeResult) -> Plot {
    let has_several = result.hctx.len() > 1;
    let note = result.balance.as_ref().map_or_else(String::new, |b| {
        format!(
            "{} over {} queues: standard deviation {:.1} % of the mean, chi-square p = {:.2e}. Line: the mean.",
            b.verdict,
            b.queues,
            b.cv * 100.0,
            b.p
        )
    });
    let queues = || Axis::names("hardware queue");
    let requests = View::new("requests", queues(), Axis::from_zero("requests"));
    let from_cpus = View::new("from CPUs", Axis::names("submitting CPU"), queues());
    Plot::new("queues", "Are the hardware queues used evenly?", 420)
        .note(note)
        .view(requests.series(bars(&result.hctx).into_iter().filter(|_| has_several)))
        .view(
            from_cpus
                .colours(Colours::new("requests"))
                .series(has_several.then(|| cpus(&result.hctx))),
        )
}

fn names(queues: &[Hctx]) -> Values {
    queues.iter().map(|queue| queue.hctx.to_string()).collect()
}

fn bars(queues: &[Hctx]) -> [Series; 2] {
    let requests = queues.iter().map(|queue| queue.requests);
    let mean = requests.clone().sum::<u64>() as f64 / queues.len() as f64;
    let means = queues.iter().map(|_| mean);
    [
        Series::bars(
            "requests",
            names(queues),
            requests.map(|n| n as f64).collect(),
        )
        .exact()
        .colour("@a")
        .hover_alone("{y} requests of queue {x}"),
        Series::line("mean", names(queues), means.collect())
            .colour("@ink")
            .width(1.5)
            .dash("dot")
            .without_hover(),
    ]
}

/// The heat map of each queue's requests by submitting CPU.
fn cpus(queues: &[Hctx]) -> Series {
    let cpus = queues.iter().flat_map(|queue| queue.cpus.keys().copied());
    let cpus: BTreeSet<u32> = cpus.collect();
    let row = |queue: &Hctx| {
        let requests = cpus.iter().map(|cpu| queue.cpus.get(cpu));
        requests
            .map(|n| n.map_or(f64::NAN, |n| *n as f64))
            .collect()
    };
    Series::heat_map(
        cpus.iter().map(u32::to_string).collect(),
        names(queues),
        queues.iter().map(row).collect(),
    )
    .exact()
    .spaced()
    .hover_alone("{z} requests from CPU {x} to queue {y}")
}
