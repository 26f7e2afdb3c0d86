//! The lanes' threads: they are set up together and start together, and none is left at the end.

use super::RunError;
use super::data::LaneData;
use super::plan::JobPlan;
use super::thread::{Common, LaneResult, PhasesResult, lane_thread};
use crate::lane::Lane;
use crate::start::{HaltsOnPanic, Start, Starter};
use q2c_sys::Clock;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, ScopedJoinHandle, scope};

/// Time from the last set-up to the common start.
const LEAD_NS: u64 = 3_000_000;

/// The results of a crew: the data of the lanes, the result of the work beside them, and the common
/// start on the run's clock.
pub(super) struct Crewed<T> {
    pub lanes: Vec<LaneData>,
    pub beside: T,
    pub start_ns: u64,
}

/// Runs every job's `work` in a thread of its own, and once all lanes are set up `beside` in one
/// more.
///
/// `beside` gets the common start on the run's clock and the lanes' thread ids. It MUST raise
/// `halt`, unless the lanes end by themselves. The lanes' engines stay open until it has returned.
/// `name` names it in the error when it panics.
///
/// # Errors
/// A lane cannot be set up, or a thread breaks or panics. No thread is left behind.
pub(super) fn crew<W, B, T>(
    jobs: Vec<(JobPlan, W)>,
    clock: Clock,
    halt: &AtomicBool,
    name: &str,
    beside: B,
) -> Result<Crewed<T>, RunError>
where
    W: FnOnce(&mut Lane<'_>, JobPlan, u64) -> PhasesResult + Send,
    B: FnOnce(u64, &[u32]) -> T + Send,
    T: Send,
{
    let (start, over) = (&Start::of(jobs.len()), &OnceLock::new());
    let common = Common {
        clock,
        halt,
        start,
        over,
    };
    scope(|scope| {
        let starter = Starter::new(start);
        let ends = TellsEnd(over);
        let mut threads = Vec::new();
        let mut refused = None;
        for (index, (job, work)) in jobs.into_iter().enumerate() {
            let lane = job.name.clone();
            let body = move || lane_thread(index, job, common, work);
            match Builder::new().spawn_scoped(scope, body) {
                Ok(thread) => threads.push((lane, thread)),
                Err(source) => {
                    refused = Some(RunError::Spawn { lane, source });
                    break;
                }
            }
        }
        // A thread that could not be started never reports.
        let tids = match refused {
            None => starter.wait_for_all(),
            Some(_) => None,
        };
        let start_ns = clock.now() + LEAD_NS;
        match tids {
            Some(_) => starter.start_at(start_ns),
            None => drop(starter),
        }
        // It has a thread of its own, so that its CPU time is not the caller's.
        let beside = tids.and_then(|tids| {
            let body = move || {
                let _halts = HaltsOnPanic(halt);
                beside(start_ns, &tids)
            };
            match Builder::new().spawn_scoped(scope, body) {
                Ok(thread) => Some(thread.join()),
                Err(source) => {
                    // Nobody else ends the lanes then.
                    halt.store(true, Ordering::Release);
                    let lane = name.to_owned();
                    refused = Some(RunError::Spawn { lane, source });
                    None
                }
            }
        });
        drop(ends);
        let lanes: Vec<_> = threads
            .into_iter()
            .map(|(name, thread)| finish(name, thread))
            .collect();
        refused.map_or(Ok(()), Err)?;
        let beside = beside
            .transpose()
            .map_err(|_| RunError::Panic(name.to_owned()))?;
        let lanes = lanes.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(Crewed {
            lanes,
            beside: beside.expect("every lane was set up, as none of them says otherwise"),
            start_ns,
        })
    })
}

/// Tells the end when it is dropped, so that on every way out the lanes do not wait for it for
/// ever.
struct TellsEnd<'a>(&'a OnceLock<()>);

impl Drop for TellsEnd<'_> {
    fn drop(&mut self) {
        self.0.set(()).ok();
    }
}

fn finish(name: String, thread: ScopedJoinHandle<'_, LaneResult>) -> Result<LaneData, RunError> {
    match thread.join() {
        Ok(Ok(data)) => Ok(data),
        Ok(Err(source)) => Err(RunError::Lane { lane: name, source }),
        Err(_) => Err(RunError::Panic(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Medium;
    use q2c_model::Bytes;
    use std::path::PathBuf;
    use std::time::Duration;

    fn job() -> JobPlan {
        JobPlan {
            name: "lane".into(),
            engine: "null".parse().expect("a known engine"),
            medium: Medium::None,
            pattern: "randread".parse().expect("a known pattern"),
            bs: Bytes(4096),
            base: Bytes(0),
            span: Bytes(1 << 20),
            depth: 1,
            cpu: q2c_sys::thread::allowed_cpus().expect("the own CPUs")[0],
            seed: 1,
            activities: Vec::new(),
            capacity: 0,
            tally: false,
            rate: None,
            think: None,
            stop_on_fault: false,
        }
    }

    /// A helper thread of a lane's engine can still be read when the work beside the lanes ends.
    #[test]
    fn lanes_that_are_done_stay_until_the_end_beside_them() {
        let halt = AtomicBool::new(false);
        let work = |_: &mut Lane<'_>, _: JobPlan, _: u64| -> PhasesResult { Ok(Vec::new()) };
        let beside = |_, tids: &[u32]| {
            std::thread::sleep(Duration::from_millis(100));
            let there = |tid: &u32| PathBuf::from(format!("/proc/self/task/{tid}")).exists();
            tids.iter().map(there).collect::<Vec<_>>()
        };
        let clock = Clock::new();
        let jobs = vec![(job(), work), (job(), work)];
        let crewed = crew(jobs, clock, &halt, "beside", beside).expect("the lanes run");
        assert_eq!(crewed.beside, [true, true]);
        assert_eq!(crewed.lanes.len(), 2);
    }
}
