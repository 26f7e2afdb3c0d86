//! The lanes' threads: they are set up together and start together, and none is left at the end.

use super::RunError;
use super::data::LaneData;
use super::plan::JobPlan;
use super::start::{LEAD_NS, NEVER, Start};
use super::thread::{HaltsOnPanic, LaneResult, Lived, Post, lane_thread};
use crate::lane::Lane;
use q2c_sys::Clock;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread::{Builder, ScopedJoinHandle, scope};

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
    W: FnOnce(&mut Lane<'_>, JobPlan, u64) -> Lived + Send,
    B: FnOnce(u64, &[u32]) -> T + Send,
    T: Send,
{
    let (start, over) = (&Start::default(), &Start::default());
    scope(|scope| {
        let ends = Ends(over);
        let (ready, setups) = mpsc::channel();
        let mut threads = Vec::new();
        let mut refused = None;
        for (index, (job, work)) in jobs.into_iter().enumerate() {
            let lane = job.name.clone();
            let ready = ready.clone();
            let post = Post {
                clock,
                halt,
                start,
                over,
                ready,
            };
            let body = move || lane_thread(index, job, post, work);
            match Builder::new().spawn_scoped(scope, body) {
                Ok(thread) => threads.push((lane, thread)),
                Err(source) => {
                    refused = Some(RunError::Spawn { lane, source });
                    break;
                }
            }
        }
        drop(ready);
        let tids = collect_setups(&setups, threads.len()).filter(|_| refused.is_none());
        let start_ns = clock.now() + LEAD_NS;
        start.tell(if tids.is_some() { start_ns } else { NEVER });
        // It has a thread of its own, so that its CPU time is not the caller's.
        let beside = tids.map(|tids| {
            let body = move || {
                let _halts = HaltsOnPanic(halt);
                beside(start_ns, &tids)
            };
            scope.spawn(body).join()
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
struct Ends<'a>(&'a Start);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.tell(0);
    }
}

/// The thread ids of all lanes in the order of the plan; `None` when one of them could not be set
/// up.
fn collect_setups(setups: &mpsc::Receiver<(usize, Option<u32>)>, lanes: usize) -> Option<Vec<u32>> {
    let mut tids = vec![None; lanes];
    setups
        .iter()
        .take(lanes)
        .for_each(|(lane, tid)| tids[lane] = tid);
    tids.into_iter().collect()
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
            span: Bytes(1 << 20),
            depth: 1,
            cpu: q2c_sys::thread::allowed_cpus().expect("the own CPUs")[0],
            seed: 1,
            activities: Vec::new(),
            capacity: 0,
            tally: false,
            rate: None,
            stop_on_fault: false,
        }
    }

    /// A helper thread of a lane's engine can still be read when the work beside the lanes ends.
    #[test]
    fn lanes_that_are_done_stay_until_the_end_beside_them() {
        let halt = AtomicBool::new(false);
        let work = |_: &mut Lane<'_>, _: JobPlan, _: u64| -> Lived { Ok(Vec::new()) };
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
