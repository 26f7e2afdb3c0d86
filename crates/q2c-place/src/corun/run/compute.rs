//! The computing tasks of a trial: threads that do q2c's own work, or programs.

use super::window::CorunWindow;
use crate::corun::work::CorunTask;
use q2c_engine::start::{Member, Start, Starter};
use q2c_host::program::{shell, start_on, wait};
use q2c_model::{CpuId, Nanos};
use q2c_result::corun::Work;
use q2c_result::place_run::ComputeTask;
use q2c_run::runner::CellError;
use q2c_sys::clock::monotonic_ns;
use q2c_sys::thread::{allow, sleep_until};
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Builder, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// The name of the threads, by which the daemon knows them.
pub(crate) const THREAD_NAME: &str = "q2c-computes";

pub(crate) struct ComputeTasks<'a> {
    /// The CPUs of each task.
    pub cpus: &'a [Vec<CpuId>],
    pub settle: Nanos,
    pub counted: Nanos,
    pub window: &'a CorunWindow,
    pub stop: &'a AtomicBool,
}

impl ComputeTasks<'_> {
    /// Runs the tasks. Returns the seconds that each needs for a block of q2c's own work, or for
    /// the whole program.
    ///
    /// # Errors
    /// A task cannot be run, a program fails, or `stop` was raised.
    pub(crate) fn run(&self, task: &ComputeTask) -> Result<Vec<f64>, CellError> {
        match task {
            ComputeTask::Own(work) => self.run_own_work(*work),
            ComputeTask::Program(command) => self.run_programs(command),
        }
    }

    fn run_own_work(&self, work: Work) -> Result<Vec<f64>, CellError> {
        let start = &Start::for_members(self.cpus.len());
        let halt = &AtomicBool::new(false);
        let body = |nth: usize, cpus: &[CpuId]| -> io::Result<u64> {
            let member = Member::new(start, nth, halt);
            let allowed = allow(cpus);
            let task = CorunTask::new(work, nth as u64 + 1);
            match member.ready(allowed.is_ok()) {
                Some(begin) => self.count_blocks(task, begin),
                None => allowed.map(|()| 0),
            }
        };
        let body = &body;
        let counted_ns = self.counted.0;
        let blocks = thread::scope(|scope| {
            let starter = Starter::new(start);
            let spawn = |(nth, cpus): (usize, &Vec<CpuId>)| {
                let cpus = cpus.clone();
                let thread = Builder::new().name(THREAD_NAME.to_owned());
                thread.spawn_scoped(scope, move || body(nth, &cpus))
            };
            let threads: io::Result<Vec<_>> = self.cpus.iter().enumerate().map(spawn).collect();
            if threads.is_ok() && starter.wait_for_all().is_some() {
                let begin = self.window.clock.now() + self.settle.0;
                self.window.begin_at(begin);
                self.window.end_at(begin + counted_ns);
                starter.start_at(begin);
            } else {
                drop(starter);
            }
            let threads = threads?.into_iter().map(join);
            threads.collect::<io::Result<Vec<u64>>>()
        });
        let blocks = blocks.map_err(|error| trial_error("run a computing task", &error))?;
        if self.stop.load(Ordering::Relaxed) {
            return Err(CellError::Cancelled);
        }
        if blocks.contains(&0) {
            let text = "count the work of a computing task: it did not end one block of it in the counted time; use a longer --trial";
            return Err(CellError::Trial(text.to_owned()));
        }
        let seconds = counted_ns as f64 / 1e9;
        let per_block = blocks.iter().map(|&blocks| seconds / blocks as f64);
        Ok(per_block.collect())
    }

    /// Lets the counted time pass without a computing task.
    pub(crate) fn wait_counted_time(&self) {
        let begin = self.window.clock.now() + self.settle.0;
        let end = begin + self.counted.0;
        self.window.begin_at(begin);
        self.window.end_at(end);
        while self.window.clock.now() < end && !self.stop.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The blocks that a task ends within the counted time.
    fn count_blocks(&self, mut task: CorunTask, begin: u64) -> io::Result<u64> {
        let end = begin + self.counted.0;
        let mut blocks = 0;
        loop {
            task.block()?;
            let now = self.window.clock.now();
            if now >= end || self.stop.load(Ordering::Relaxed) {
                return Ok(blocks);
            }
            blocks += u64::from(now >= begin);
        }
    }

    /// Runs a program for each task, again and again until all have ended once: the load stays.
    fn run_programs(&self, command: &str) -> Result<Vec<f64>, CellError> {
        let end_programs = AtomicBool::new(false);
        let ended = AtomicUsize::new(0);
        self.window.begin_at(self.window.clock.now());
        let times = thread::scope(|scope| {
            let spawn = |cpus: &Vec<CpuId>| {
                let (cpus, stop, ended) = (cpus.clone(), &end_programs, &ended);
                scope.spawn(move || repeat_program(command, &cpus, stop, ended))
            };
            let threads: Vec<_> = self.cpus.iter().map(spawn).collect();
            let all_ended = || ended.load(Ordering::Acquire) >= threads.len();
            while !all_ended() && !self.stop.load(Ordering::Relaxed) {
                sleep_until(monotonic_ns() + 5_000_000);
            }
            end_programs.store(true, Ordering::Release);
            self.window.end_at(self.window.clock.now());
            let times = threads.into_iter().map(join);
            times.collect::<io::Result<Vec<Option<f64>>>>()
        });
        let times = times.map_err(|error| trial_error(&format!("run `{command}`"), &error))?;
        let times: Option<Vec<f64>> = times.into_iter().collect();
        times.ok_or(CellError::Cancelled)
    }
}

/// Repeats a program until `stop`. Returns the seconds of its first run; `None` if it did not end.
fn repeat_program(
    command: &str,
    cpus: &[CpuId],
    stop: &AtomicBool,
    ended: &AtomicUsize,
) -> io::Result<Option<f64>> {
    let mut first_s = None;
    loop {
        let began = Instant::now();
        let run = run_silently(command, cpus, stop);
        if let Ok(None) = run {
            return Ok(first_s);
        }
        if first_s.is_none() {
            first_s = Some(began.elapsed().as_secs_f64());
            // A failure counts as an end, so that nobody waits for it.
            ended.fetch_add(1, Ordering::AcqRel);
        }
        if let Some(status) = run?.filter(|status| !status.success()) {
            return Err(io::Error::other(format!("it ended with {status}")));
        }
    }
}

/// Runs a program until it ends; `None` if it was stopped because `stop` was set.
pub(crate) fn run_silently(
    command: &str,
    cpus: &[CpuId],
    stop: &AtomicBool,
) -> io::Result<Option<ExitStatus>> {
    let mut shell = shell(command);
    shell.stdout(Stdio::null()).stderr(Stdio::null());
    wait(start_on(cpus, &mut shell)?, stop)
}

pub(crate) fn trial_error(tried: &str, error: &io::Error) -> CellError {
    CellError::Trial(format!("{tried}: {error}"))
}

pub(crate) fn join<T>(thread: ScopedJoinHandle<'_, io::Result<T>>) -> io::Result<T> {
    let panicked = |_| Err(io::Error::other("a thread of the trial panicked"));
    thread.join().unwrap_or_else(panicked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_sys::Clock;

    fn cpus() -> Vec<CpuId> {
        q2c_sys::thread::allowed_cpus().expect("CPUs")
    }

    fn run_here(
        task: &ComputeTask,
        cpus: &[Vec<CpuId>],
        counted: Nanos,
        stop: bool,
    ) -> Result<Vec<f64>, CellError> {
        let settle = Nanos::from_millis(20);
        let tasks = ComputeTasks {
            cpus,
            settle,
            counted,
            window: &CorunWindow::new(Clock::new()),
            stop: &AtomicBool::new(stop),
        };
        let times = tasks.run(task);
        if times.is_ok() {
            let (begin, end) = tasks.window.span().expect("a counted time");
            assert!(end > begin);
        }
        times
    }

    fn on_one_cpu(task: &ComputeTask, tasks: usize) -> Result<Vec<f64>, CellError> {
        let cpus = vec![cpus()[..1].to_vec(); tasks];
        run_here(task, &cpus, Nanos::from_millis(300), false)
    }

    #[test]
    fn two_tasks_of_a_cpu_share_its_time() {
        let mean = |times: Vec<f64>| times.iter().sum::<f64>() / times.len() as f64;
        let task = ComputeTask::Own(Work::Integer);
        q2c_testkit::run_timed("two tasks of a CPU", || {
            let alone = mean(on_one_cpu(&task, 1).expect("a time"));
            let shared = mean(on_one_cpu(&task, 2).expect("times"));
            let ratio = shared / alone;
            assert!((1.6..2.5).contains(&ratio), "{ratio} times as long");
        });
    }

    #[test]
    fn programs_are_timed_to_their_end_and_a_failure_is_told() {
        let times = on_one_cpu(&ComputeTask::Program("sleep 0.2".to_owned()), 2).expect("times");
        assert!(times.iter().all(|time| *time >= 0.2), "{times:?}");
        let error = on_one_cpu(&ComputeTask::Program("exit 7".to_owned()), 2).unwrap_err();
        assert!(error.to_string().contains("exit status: 7"), "{error}");
    }

    #[test]
    fn a_signal_ends_the_tasks() {
        for task in [
            ComputeTask::Own(Work::Branchy),
            ComputeTask::Program("sleep 60".to_owned()),
        ] {
            let began = Instant::now();
            let stopped = run_here(&task, &[cpus()], Nanos::from_millis(60_000), true);
            assert!(matches!(stopped, Err(CellError::Cancelled)));
            assert!(began.elapsed().as_secs() < 30);
        }
    }
}
