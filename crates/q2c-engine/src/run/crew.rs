//! The threads of the lanes: they are set up, started together, and joined at the end.

use super::thread::{Meeting, PhasesResult, lane_thread};
use crate::start::{HaltsOnPanic, Member, Start, Starter};
use crate::{EngineLane, JobPlan, LaneData, Real, RunError, Time, TimeSource, world};
use q2c_sys::Clock;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, scope};

/// Time from the last set-up to the common start, ns.
pub(crate) const START_DELAY_NS: u64 = 3_000_000;

/// The results of a crew: the lanes' data, the result of the side work, and the common start on the
/// run's clock, ns.
pub(crate) struct CrewResults<T> {
    pub lanes: Vec<LaneData>,
    pub side: T,
    pub start_ns: u64,
}

pub(crate) type CrewJob<W> = (JobPlan, W);

/// The work of a lane between the common start and its end.
pub(crate) trait LaneWork: Send {
    fn run<T: Time>(
        self,
        lane: &mut EngineLane<'_, T>,
        job: JobPlan,
        begin_ns: u64,
    ) -> PhasesResult;
}

/// Work next to the lanes, in a thread of its own. It gets the common start on the run's clock, ns,
/// and the lanes' thread ids.
pub(crate) trait SideWork: Send {
    type Out: Send;
    fn run<T: Time>(self, time: T, start_ns: u64, threads: &[u32]) -> Self::Out;
}

/// Runs every job's `work` in a thread of its own. Once all lanes are set up, it runs `side_work`
/// in another thread.
///
/// `side_work` MUST raise `halt`, unless the lanes end by themselves. The lanes' engines stay open
/// until `side_work` has returned. In errors its name is `side_name`.
///
/// No thread is left behind, whatever fails.
pub(crate) fn run_crew<W: LaneWork, B: SideWork>(
    jobs: Vec<CrewJob<W>>,
    time: &TimeSource,
    halt: &AtomicBool,
    side_name: &str,
    side_work: B,
) -> Result<CrewResults<B::Out>, RunError> {
    match time {
        TimeSource::Real(clock) => run_threads(jobs, *clock, halt, side_name, side_work),
        TimeSource::World(world) => world::run_crew(jobs, world, halt, side_name, side_work),
    }
}

struct LaneThread<'a> {
    member: Member<'a>,
    /// Set when the side work is over. Until then the engines stay open, so that the CPU time of
    /// their helpers can be read.
    side_done: &'a OnceLock<()>,
}

impl Meeting for LaneThread<'_> {
    fn ready(&self, is_set_up: bool) -> Option<u64> {
        self.member.ready(is_set_up)
    }

    fn wait_for_end(&self) {
        self.side_done.wait();
    }
}

fn run_threads<W: LaneWork, B: SideWork>(
    jobs: Vec<CrewJob<W>>,
    clock: Clock,
    halt: &AtomicBool,
    side_name: &str,
    side_work: B,
) -> Result<CrewResults<B::Out>, RunError> {
    let (start, side_done) = (&Start::for_members(jobs.len()), &OnceLock::new());
    scope(|scope| {
        let starter = Starter::new(start);
        let end_signal = EndSignal(side_done);
        let mut threads = Vec::new();
        let mut spawn_error = None;
        for (index, (job, work)) in jobs.into_iter().enumerate() {
            let lane = job.name.clone();
            let body = move || {
                let member = Member::new(start, index, halt);
                let meeting = LaneThread { member, side_done };
                lane_thread(job, Real(clock), halt, &meeting, work)
            };
            match Builder::new().spawn_scoped(scope, body) {
                Ok(thread) => threads.push((lane, thread)),
                Err(source) => {
                    spawn_error = Some(RunError::Spawn { lane, source });
                    break;
                }
            }
        }
        // A thread that could not be started never reports.
        let spawned = spawn_error.is_none();
        let tids = spawned.then(|| starter.wait_for_all()).flatten();
        let start_ns = clock.now() + START_DELAY_NS;
        match tids {
            Some(_) => starter.start_at(start_ns),
            None => drop(starter),
        }
        // The side work has its own thread, so that its CPU time does not count as the caller's.
        let side = tids.and_then(|tids| {
            let body = move || {
                let _halts = HaltsOnPanic(halt);
                side_work.run(Real(clock), start_ns, &tids)
            };
            match Builder::new().spawn_scoped(scope, body) {
                Ok(thread) => Some(thread.join()),
                Err(source) => {
                    // Nothing else would end the lanes.
                    halt.store(true, Ordering::Release);
                    let lane = side_name.to_owned();
                    spawn_error = Some(RunError::Spawn { lane, source });
                    None
                }
            }
        });
        drop(end_signal);
        let lanes = threads.into_iter();
        let lanes = lanes.map(|(lane, thread)| match thread.join() {
            Ok(result) => result.map_err(|source| RunError::Lane { lane, source }),
            Err(_) => Err(RunError::Panic(lane)),
        });
        // All threads are joined, even after one that failed.
        let lanes: Vec<_> = lanes.collect();
        spawn_error.map_or(Ok(()), Err)?;
        let side = side.transpose();
        let side = side.map_err(|_| RunError::Panic(side_name.to_owned()))?;
        Ok(CrewResults {
            lanes: lanes.into_iter().collect::<Result<_, _>>()?,
            side: side.expect("every lane was set up, as none of them says otherwise"),
            start_ns,
        })
    })
}

/// Announces the end when it is dropped, so that the lanes do not wait for ever after an error.
struct EndSignal<'a>(&'a OnceLock<()>);

impl Drop for EndSignal<'_> {
    fn drop(&mut self) {
        self.0.set(()).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EngineSpec, Medium};
    use std::path::PathBuf;
    use std::time::Duration;

    fn job() -> JobPlan {
        JobPlan {
            cpu: q2c_sys::thread::allowed_cpus().expect("the own CPUs")[0],
            ..JobPlan::new(EngineSpec::Null, Medium::None, Vec::new())
        }
    }

    struct Nothing;

    impl LaneWork for Nothing {
        fn run<T: Time>(self, _: &mut EngineLane<'_, T>, _: JobPlan, _: u64) -> PhasesResult {
            Ok(Vec::new())
        }
    }

    struct Looks;

    impl SideWork for Looks {
        type Out = Vec<bool>;
        fn run<T: Time>(self, _: T, _: u64, threads: &[u32]) -> Vec<bool> {
            std::thread::sleep(Duration::from_millis(100));
            let there = |tid: &u32| PathBuf::from(format!("/proc/self/task/{tid}")).exists();
            threads.iter().map(there).collect()
        }
    }

    /// A helper thread of a lane's engine can still be read when the side work ends.
    #[test]
    fn lanes_that_are_done_stay_until_the_end_beside_them() {
        let halt = AtomicBool::new(false);
        let jobs = vec![(job(), Nothing), (job(), Nothing)];
        let time = Clock::new().into();
        let results = run_crew(jobs, &time, &halt, "beside", Looks).expect("the lanes run");
        assert_eq!(results.side, [true, true]);
        assert_eq!(results.lanes.len(), 2);
    }
}
