//! The figures of `q2c place`: policies of the simulator, measured placements, pairs of tasks on a
//! core, and the tasks that `place watch` saw.

use super::Better::{Less, More, Neither};
use super::FigureUnit::{Nanoseconds as Ns, Number, PerSecond, Percent, Share};
use super::{Columns, or_empty, word};
use crate::corun::{CalibrateResult, Pair};
use crate::place::{PlaceSimResult, PolicyFigures, PollLatency};
use crate::place_run::{ClassRun, ComputeTask, PlaceRunResult, PlacementRun, PollFigures};
use crate::place_watch::{PlaceWatchResult, WatchedCpu, WatchedTask};
use q2c_model::stats::Interval;

measures!(PlaceSimResult, policies(), |result| {
    result.setups.iter().flat_map(|setup| {
        let policies = setup.policies.iter();
        policies.map(move |policy| (setup.name.as_str(), policy))
    })
});

fn policies<'a>() -> Columns<(&'a str, &'a PolicyFigures)> {
    Columns::new(|(setup, of): &(&str, &PolicyFigures)| {
        Some(format!("{setup} {}", word(of.policy)))
    })
    .key("setup", |(setup, _)| (*setup).to_owned())
    .key("policy", |(_, of)| word(of.policy))
    .figure("c_slowdown", Number, Less, |(_, of)| Interval {
        median: of.c_slowdown,
        min: of.c_slowdown_low,
        max: of.c_slowdown_high,
        trials: 1,
    })
    .figure("p_bandwidth", Share, More, |(_, of)| of.p_bandwidth)
    .figure("p_mean", Ns, Less, |(_, of)| latency_ns(of, |l| l.mean_us))
    .figure("p_p99", Ns, Less, |(_, of)| latency_ns(of, |l| l.p99_us))
    .figure("p_p99.9", Ns, Less, |(_, of)| latency_ns(of, |l| l.p999_us))
    .figure("migrations", Number, Less, |(_, of)| of.migrations)
    .figure("colocate", Share, Neither, |(_, of)| of.states.colocate)
    .figure("spread", Share, Neither, |(_, of)| of.states.spread)
    .figure("bunch", Share, Neither, |(_, of)| of.states.bunch)
    .figure("heap", Share, Neither, |(_, of)| of.states.heap)
}

fn latency_ns(of: &PolicyFigures, us: fn(&PollLatency) -> f64) -> Option<f64> {
    of.p_latency.as_ref().map(|latency| us(latency) * 1e3)
}

measures!(PlaceRunResult, placements(), |result| {
    result.classes.iter().flat_map(|class| {
        let placements = class.placements.iter();
        placements.map(move |placement| (class, placement))
    })
});

fn placements<'a>() -> Columns<(&'a ClassRun, &'a PlacementRun)> {
    Columns::new(|(class, run): &(&ClassRun, &PlacementRun)| {
        Some(format!("{} {}", task_name(&class.task), word(run.policy)))
    })
    .key("task", |(class, _)| task_name(&class.task))
    .key("placement", |(_, run)| word(run.policy))
    .figure("c_slowdown", Number, Less, |(_, run)| run.c_slowdown)
    .figure("p_iops", PerSecond, More, |(_, r)| polls(r, |p| p.iops))
    .figure("p_p50", Ns, Less, |(_, r)| polls(r, |p| p.latency.p50_ns))
    .figure("p_p99", Ns, Less, |(_, r)| polls(r, |p| p.latency.p99_ns))
    .figure("p_p99.9", Ns, Less, |(_, r)| {
        polls(r, |p| p.latency.p999_ns)
    })
    .not_compared()
    .figure("p_bytes_per_s", Number, More, |(_, r)| {
        polls(r, |p| p.bytes_per_s)
    })
    .figure("moves", Number, Less, |(_, run)| run.moves)
}

/// The name of a class of q2c's own work, or the user's command.
fn task_name(task: &ComputeTask) -> String {
    match task {
        ComputeTask::Own(work) => word(work),
        ComputeTask::Program(command) => command.clone(),
    }
}

fn polls(run: &PlacementRun, value: fn(&PollFigures) -> Interval) -> Option<Interval> {
    run.polls.as_ref().map(value)
}

measures!(CalibrateResult, pairs(), |result| &result.pairs);

fn pairs<'a>() -> Columns<&'a Pair> {
    Columns::new(|pair: &&Pair| {
        let where_beside = if pair.same_cpu { " on one CPU" } else { "" };
        let (task, neighbour) = (word(pair.own), neighbour(pair));
        Some(format!("{task} beside {neighbour}{where_beside}"))
    })
    .key("task", |pair| word(pair.own))
    .key("neighbour", |pair| neighbour(pair))
    .key("same_cpu", |pair| pair.same_cpu.to_string())
    .figure("speed", Share, More, |pair| pair.speed)
}

fn neighbour(pair: &Pair) -> String {
    or_empty(pair.neighbour.map(word))
}

measures!(PlaceWatchResult, tasks(), |result| {
    let cores = result.cores.iter().enumerate();
    let cpus = cores.flat_map(|(core, of)| of.cpus.iter().map(move |cpu| (core, cpu)));
    cpus.flat_map(|(core, cpu)| cpu.tasks.iter().map(move |task| (core, cpu, task)))
});

fn tasks<'a>() -> Columns<(usize, &'a WatchedCpu, &'a WatchedTask)> {
    Columns::new(|_: &(usize, &WatchedCpu, &WatchedTask)| None)
        .key("core", |(core, ..)| core.to_string())
        .key("cpu", |(_, cpu, _)| cpu.cpu.0.to_string())
        .key("pid", |(.., task)| task.pid.to_string())
        .key("tid", |(.., task)| task.tid.to_string())
        .key("name", |(.., task)| task.name.clone())
        .key("polls", |(.., task)| task.polls.to_string())
        .key("stays", |(.., task)| or_empty(task.stays.map(word)))
        .figure("cpu", Percent, Neither, |(.., task)| task.cpu_pct)
}
