//! The lanes of a run, and the work next to them, as threads of a world.

use super::coroutines::{SimulatedThread, ThreadBody, run_threads};
use crate::run::crew::{CrewJob, CrewResults, LaneWork, SideWork};
use crate::run::thread::{LaneResult, lane_thread};
use crate::{LaneData, RunError, World};
use std::cell::Cell;
use std::sync::atomic::AtomicBool;

/// Runs every job's `work` as a lane of `world`, and `side_work` next to them, as
/// [`run_crew`](crate::run::crew::run_crew) does with threads.
pub(crate) fn run_crew<W: LaneWork, B: SideWork>(
    jobs: Vec<CrewJob<W>>,
    world: &World,
    halt: &AtomicBool,
    side_name: &str,
    side_work: B,
) -> Result<CrewResults<B::Out>, RunError> {
    let names: Vec<String> = jobs.iter().map(|(job, _)| job.name.clone()).collect();
    let results: Vec<Cell<Option<LaneResult>>> = names.iter().map(|_| Cell::new(None)).collect();
    let side_result = &Cell::new(None);
    let mut lanes: Vec<ThreadBody<'_>> = Vec::with_capacity(jobs.len());
    for ((job, work), result) in jobs.into_iter().zip(&results) {
        lanes.push(Box::new(move |time| {
            result.set(Some(lane_thread(job, time, halt, &time, work)));
        }));
    }
    let threads: Vec<u32> = (1..=names.len() as u32).collect();
    let side = Box::new(move |time: SimulatedThread<'_>| {
        let start_ns = time.publish_start();
        side_result.set(Some(side_work.run(time, start_ns, &threads)));
    });
    let name_of = |thread: usize| names.get(thread).map_or(side_name, String::as_str);
    let end = run_threads(world, halt, lanes, side);
    let end = end.map_err(|thread| RunError::Panic(name_of(thread).to_owned()))?;
    let lane_data = |(lane, result): (String, Cell<Option<LaneResult>>)| match result.into_inner() {
        Some(result) => result.map_err(|source| RunError::Lane { lane, source }),
        None => Ok(LaneData::default()),
    };
    let lanes = names.into_iter().zip(results).map(lane_data);
    let lanes = lanes.collect::<Result<Vec<_>, _>>()?;
    match (side_result.take(), end.start_ns) {
        (Some(side), Some(start_ns)) if !end.is_stuck => Ok(CrewResults {
            lanes,
            side,
            start_ns,
        }),
        _ => Err(RunError::Stuck { at_ns: end.at_ns }),
    }
}
