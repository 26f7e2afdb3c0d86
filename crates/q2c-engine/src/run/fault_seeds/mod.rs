//! Contracts of the lane loop that hold at every seed. A seed gives a run on a simulated machine
//! whose devices fail, shorten, delay, reorder, lose and repeat completions.
//!
//! [`watch::WatchedEngine`] stands between each lane and its faults, and keeps a log of its own.
//! The lane's counts and samples must be those of the log.

mod plan;
mod watch;

use crate::engine::EngineError;
use crate::run::crew::run_crew;
use crate::{FailedIo, RunError};
use plan::{LanePlan, SeededRun};
use q2c_testkit::for_each_seed;
use std::sync::atomic::{AtomicBool, Ordering};
use watch::{LaneLog, WatchedWork};

/// Runs the plan, and returns each lane's log, the outcome, and true if the run was halted.
fn run_seed(run: &SeededRun) -> (Vec<LaneLog>, Result<(), RunError>, bool) {
    let halt = AtomicBool::new(false);
    let logs: Vec<_> = run.lanes.iter().map(|_| LaneLog::shared()).collect();
    let lanes = run.lanes.iter().zip(&logs);
    let jobs = lanes.map(|(lane, log)| (run.job(lane), WatchedWork::new(run, lane, log)));
    let time = run.world().into();
    let results = run_crew(
        jobs.collect(),
        &time,
        &halt,
        "stopping thread",
        run.stop(&halt),
    );
    let logs = logs
        .iter()
        .map(|log| std::mem::take(&mut *watch::lock(log)));
    let halted = halt.load(Ordering::Relaxed);
    (logs.collect(), results.map(|_| ()), halted)
}

fn check_seed(seed: u64) {
    let run = SeededRun::new(seed);
    let (logs, outcome, halted) = run_seed(&run);
    let context = || format!("{run:#?}\n{outcome:?}\n{logs:#?}");
    for (lane, log) in run.lanes.iter().zip(&logs) {
        check_counts(log, lane).unwrap_or_else(|problem| panic!("{problem}: {}", context()));
        let stops = lane.stop_on_fault && log.faults > 0;
        assert!(halted || !stops, "a fault stops the run: {}", context());
    }
    check_outcome(&run.lanes, &logs, &outcome)
        .unwrap_or_else(|problem| panic!("{problem}: {}", context()));
}

fn ensure(holds: bool, contract: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(contract.to_owned())
    }
}

/// Compares what the lane has counted and recorded with the log of its engine.
fn check_counts(log: &LaneLog, lane: &LanePlan) -> Result<(), String> {
    ensure(!log.slot_used_twice, "a slot has one request")?;
    let most_after_stop = if lane.rate.is_some() { lane.depth } else { 1 };
    ensure(
        log.after_stop <= u64::from(most_after_stop),
        "stop ends the lane",
    )?;
    let ios = log.ios as usize;
    let handed_over = log.completions.len();
    let is_whole = log.work == Some(Ok(()));
    if is_whole {
        ensure(ios == handed_over, "each completion counts once")?;
        ensure(log.submitted == log.ios, "each request counts once")?;
        ensure(
            log.strays == 0,
            "a completion without a request is an error",
        )?;
        let in_phases: u64 = log.phases.iter().map(|phase| phase.ios).sum();
        ensure(in_phases == log.ios, "each I/O belongs to a phase")?;
        let tallies = log.phases.iter().filter_map(|phase| phase.tally.as_ref());
        let tallied: u64 = tallies.map(|tally| tally.latencies.count()).sum();
        ensure(!lane.tally || tallied == log.ios, "each I/O is in a tally")?;
    }
    // A lane that ends by an error has not recorded the completions of its last look.
    let lacks = handed_over.checked_sub(ios).ok_or("nothing counts twice")?;
    ensure(lacks <= usize::from(lane.depth), "each completion counts")?;
    let counted = &log.completions[..ios];
    ensure(
        log.samples.len() == ios.min(lane.capacity),
        "as many samples as there is room",
    )?;
    for (sample, (offset, result)) in log.samples.iter().zip(counted) {
        let same = (sample.offset, sample.result) == (*offset, *result);
        ensure(same, "a sample is its completion")?;
    }
    let in_order = log.samples.is_sorted_by_key(|sample| sample.reaped_ns());
    ensure(in_order, "samples are in the order of reaping")?;
    let failed = (0..)
        .zip(counted)
        .filter(|(_, (_, result))| *result != plan::BLOCK as i32);
    let failed = failed.map(|(nth, &(offset, result))| FailedIo {
        nth,
        offset,
        asked: plan::BLOCK,
        result,
    });
    ensure(
        log.faults == failed.clone().count() as u64,
        "each failure counts once",
    )?;
    ensure(
        log.first_fault == failed.clone().next(),
        "the first failure is named",
    )
}

/// Compares the end of the run with the faults that its lanes have met.
fn check_outcome(
    lanes: &[LanePlan],
    logs: &[LaneLog],
    outcome: &Result<(), RunError>,
) -> Result<(), String> {
    let broke = |(lane, log): &(&LanePlan, &LaneLog)| lane.came_twice(log) || log.lost > 0;
    match outcome {
        Ok(()) => {
            let broken = lanes.iter().zip(logs).any(|pair| broke(&pair));
            ensure(
                !broken,
                "a lost or repeated completion ends the run with an error",
            )
        }
        Err(RunError::Lane { lane: name, source }) => {
            let mut pairs = lanes.iter().zip(logs);
            let pair = pairs.find(|(lane, _)| lane.name == *name);
            let (lane, log) = pair.ok_or("the error names a lane of the plan")?;
            match source {
                EngineError::CompletedTwice(_) => {
                    ensure(lane.came_twice(log), "only what came twice came twice")
                }
                EngineError::NeverCompletes(request) => {
                    let in_flight = log.in_flight.get(&request.slot);
                    ensure(lane.hang.is_some(), "only what hangs never completes")?;
                    let named = in_flight == Some(&request.offset) || lane.came_twice(log);
                    ensure(named, "the error names the request")
                }
                _ => Err("no other error".to_owned()),
            }
        }
        Err(_) => Err("no other error of a run".to_owned()),
    }
}

#[test]
fn lanes_keep_their_contracts_at_every_seed() {
    for_each_seed("run::fault_seeds", check_seed);
}

/// The seeds reach every kind of lane, fault and end.
#[test]
fn the_first_seeds_reach_everything() {
    let (mut reached, mut ends) = (std::collections::BTreeSet::new(), [0; 3]);
    for seed in 0..200 {
        let run = SeededRun::new(seed);
        let (logs, outcome, halted) = run_seed(&run);
        for (lane, log) in run.lanes.iter().zip(&logs) {
            reached.extend(lane.kinds().filter(|_| log.ios > 0));
        }
        match outcome {
            Ok(()) => ends[0] += 1,
            Err(RunError::Lane {
                source: EngineError::CompletedTwice(_),
                ..
            }) => ends[1] += 1,
            Err(_) => ends[2] += 1,
        }
        reached.extend(halted.then_some("halted"));
    }
    let kinds = [
        "closed",
        "deep",
        "eio",
        "halted",
        "hang",
        "hybrid",
        "interrupt",
        "late",
        "paced",
        "paced deep",
        "poll",
        "polls in calls",
        "short",
        "swap",
        "thinks",
        "twice",
        "two paths",
    ];
    assert!(reached.iter().copied().eq(kinds), "{reached:?}");
    assert!(ends.iter().all(|count| *count >= 10), "{ends:?}");
}
