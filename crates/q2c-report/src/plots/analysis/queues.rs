//! Requests by hardware queue.

use crate::plot::{Axis, Colours, Plot, Series, View};
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

fn name(queue: &Hctx) -> String {
    queue.hctx.to_string()
}

fn bars(queues: &[Hctx]) -> [Series; 2] {
    let requests = queues
        .iter()
        .map(|queue| (name(queue), queue.requests as f64));
    let mean = queues.iter().map(|queue| queue.requests).sum::<u64>() as f64 / queues.len() as f64;
    [
        Series::bars("requests", requests)
            .exact()
            .colour("@a")
            .hover_alone("{y} requests of queue {x}"),
        Series::line("mean", queues.iter().map(|queue| (name(queue), mean)))
            .pen("@ink", 1.5)
            .dash("dot")
            .without_hover(),
    ]
}

/// The heat map of each queue's requests by submitting CPU.
fn cpus(queues: &[Hctx]) -> Series {
    let cpus = queues.iter().flat_map(|queue| queue.cpus.keys().copied());
    let cpus: BTreeSet<u32> = cpus.collect();
    let rows = queues.iter().map(|queue| {
        let requests = cpus.iter().map(|cpu| Some(*queue.cpus.get(cpu)? as f64));
        requests.collect()
    });
    let names = cpus.iter().map(u32::to_string).collect();
    Series::heat_map(names, queues.iter().map(name).collect(), rows)
        .exact()
        .spaced()
        .hover_alone("{z} requests from CPU {x} to queue {y}")
}
