//! The computing tasks of a trial: threads that do q2c's own work, or programs.

use super::window::CorunWindow;
use crate::corun::work::CorunTask;
use q2c_engine::start::{Member, Start, Starter};
use q2c_host::program::{shell, start_on, wait};
use q2c_model::{CpuId, Nanos};
use q2c_result::corun::Work;
use q2c_result::place_run::ComputeTask;
use q2c_run::runner::CellError;
use q2c_sys::thread::{allow, sleep_until};
use std::io;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Builder, ScopedJoinHandle};
use std::time::Instant;

/// The name of the threads, by which the daemon knows them.
pub(crate) const NAME: &str = "q2c-computes";

#[derive(Clone, Copy, Debug)]
pub(crate) struct ComputeDurations {
    pub settle: Nanos,
    pub counted: Nanos,
}

/// Runs a task on each of these sets of CPUs. Returns the seconds that each needs for a block of
/// q2c's own work, or for the whole program.
///
/// # Errors
/// A task cannot be run, a program fails, or `stop` was raised.
pub(crate) fn run(
    task: &ComputeTask,
    cpus: &[Vec<CpuId>],
    lengths: ComputeDurations,
    window: &CorunWindow,
    stop: &AtomicBool,
) -> Result<Vec<f64>, CellError> {
    match task {
        ComputeTask::Own(work) => own(*work, cpus, lengths, window, stop),
        ComputeTask::Program(command) => programs(command, cpus, window, stop),
    }
}

fn own(
    work: Work,
    cpus: &[Vec<CpuId>],
    lengths: ComputeDurations,
    window: &CorunWindow,
    stop: &AtomicBool,
) -> Result<Vec<f64>, CellError> {
    let (start, halt) = (&Start::for_members(cpus.len()), &AtomicBool::new(false));
    let body = |nth: usize, cpus: &[CpuId]| -> io::Result<u64> {
        let member = Member::new(start, nth, halt);
        let allowed = allow(cpus);
        let task = CorunTask::new(work, nth as u64 + 1);
        match member.ready(allowed.is_ok()) {
            Some(begin) => counted(task, begin, lengths, window, stop),
            None => allowed.map(|()| 0),
        }
    };
    let body = &body;
    let blocks = thread::scope(|scope| {
        let starter = Starter::new(start);
        let spawn = |(nth, cpus): (usize, &Vec<CpuId>)| {
            let cpus = cpus.clone();
            Builder::new()
                .name(NAME.to_owned())
                .spawn_scoped(scope, move || body(nth, &cpus))
        };
        let threads: io::Result<Vec<_>> = cpus.iter().enumerate().map(spawn).collect();
        if threads.is_ok() && starter.wait_for_all().is_some() {
            let begin = window.clock.now() + lengths.settle.0;
            window.begin_at(begin);
            window.end_at(begin + lengths.counted.0);
            starter.start_at(begin);
        } else {
            drop(starter);
        }
        let threads = threads?.into_iter().map(joined);
        threads.collect::<io::Result<Vec<u64>>>()
    });
    let blocks = blocks.map_err(|error| failed("run a computing task", &error))?;
    if stop.load(Ordering::Relaxed) {
        return Err(CellError::Cancelled);
    }
    if blocks.contains(&0) {
        return Err(CellError::Trial(
            "count the work of a computing task: it did not end one block of it in the counted time; use a longer --trial".to_owned(),
        ));
    }
    let seconds = lengths.counted.0 as f64 / 1e9;
    Ok(blocks
        .iter()
        .map(|blocks| seconds / *blocks as f64)
        .collect())
}

fn counted(
    mut task: CorunTask,
    begin: u64,
    lengths: ComputeDurations,
    window: &CorunWindow,
    stop: &AtomicBool,
) -> io::Result<u64> {
    let end = begin + lengths.counted.0;
    let mut blocks = 0;
    loop {
        task.block()?;
        let now = window.clock.now();
        if now >= end || stop.load(Ordering::Relaxed) {
            return Ok(blocks);
        }
        blocks += u64::from(now >= begin);
    }
}

/// One that has ended is started again until all have ended once: the load stays what it was.
fn programs(
    command: &str,
    cpus: &[Vec<CpuId>],
    window: &CorunWindow,
    stop: &AtomicBool,
) -> Result<Vec<f64>, CellError> {
    let over = AtomicBool::new(false);
    let ended = AtomicUsize::new(0);
    window.begin_at(window.clock.now());
    let times = thread::scope(|scope| {
        let place = |cpus: &Vec<CpuId>| {
            let (cpus, over, ended) = (cpus.clone(), &over, &ended);
            scope.spawn(move || again(command, &cpus, over, ended))
        };
        let threads: Vec<_> = cpus.iter().map(place).collect();
        let all_ended = || ended.load(Ordering::Acquire) >= threads.len();
        while !all_ended() && !stop.load(Ordering::Relaxed) {
            sleep_until(q2c_sys::clock::monotonic_ns() + 5_000_000);
        }
        over.store(true, Ordering::Release);
        window.end_at(window.clock.now());
        let times = threads.into_iter().map(joined);
        times.collect::<io::Result<Vec<Option<f64>>>>()
    });
    let times = times.map_err(|error| failed(&format!("run `{command}`"), &error))?;
    times
        .into_iter()
        .map(|time| time.ok_or(CellError::Cancelled))
        .collect()
}

/// Again and again until all are over; seconds of the first run, unless stopped before its end.
fn again(
    command: &str,
    cpus: &[CpuId],
    over: &AtomicBool,
    ended: &AtomicUsize,
) -> io::Result<Option<f64>> {
    let mut first = None;
    // A failure counts as an end, so that nobody waits for it.
    let result = loop {
        let began = Instant::now();
        match once(command, cpus, over) {
            Ok(true) if first.is_none() => {
                first = Some(began.elapsed().as_secs_f64());
                ended.fetch_add(1, Ordering::AcqRel);
            }
            Ok(true) => {}
            Ok(false) => return Ok(first),
            Err(error) => break Err(error),
        }
    };
    if first.is_none() {
        ended.fetch_add(1, Ordering::AcqRel);
    }
    result
}

fn once(command: &str, cpus: &[CpuId], over: &AtomicBool) -> io::Result<bool> {
    let mut shell = shell(command);
    shell.stdout(Stdio::null()).stderr(Stdio::null());
    match wait(start_on(cpus, &mut shell)?, over)? {
        None => Ok(false),
        Some(status) if status.success() => Ok(true),
        Some(status) => Err(io::Error::other(format!("it ended with {status}"))),
    }
}

pub(crate) fn failed(what: &str, error: &io::Error) -> CellError {
    CellError::Trial(format!("{what}: {error}"))
}

pub(crate) fn joined<T>(thread: ScopedJoinHandle<'_, io::Result<T>>) -> io::Result<T> {
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

    fn run_here(task: &ComputeTask, tasks: usize) -> Result<Vec<f64>, CellError> {
        let lengths = ComputeDurations {
            settle: Nanos::from_millis(20),
            counted: Nanos::from_millis(300),
        };
        let window = CorunWindow::new(Clock::new());
        let (cpus, stop) = (vec![cpus()[..1].to_vec(); tasks], AtomicBool::new(false));
        let times = run(task, &cpus, lengths, &window, &stop);
        if times.is_ok() {
            let (begin, end) = window.span().expect("a counted time");
            assert!(end > begin);
        }
        times
    }

    #[test]
    fn two_tasks_of_a_cpu_share_its_time() {
        let sum = |times: Vec<f64>| times.iter().sum::<f64>() / times.len() as f64;
        let task = ComputeTask::Own(Work::Integer);
        q2c_testkit::timed("two tasks of a CPU", || {
            let alone = sum(run_here(&task, 1).expect("a time"));
            let shared = sum(run_here(&task, 2).expect("times"));
            let ratio = shared / alone;
            assert!(
                (1.6..2.5).contains(&ratio),
                "two take {ratio} times as long"
            );
        });
    }

    #[test]
    fn programs_are_timed_to_their_end_and_a_failure_is_told() {
        let times = run_here(&ComputeTask::Program("sleep 0.2".to_owned()), 2).expect("times");
        assert!(times.iter().all(|time| *time >= 0.2), "{times:?}");
        let failed = run_here(&ComputeTask::Program("exit 7".to_owned()), 2).unwrap_err();
        assert!(failed.to_string().contains("exit status: 7"), "{failed}");
    }

    #[test]
    fn a_signal_ends_the_tasks() {
        let window = CorunWindow::new(Clock::new());
        let lengths = ComputeDurations {
            settle: Nanos::from_millis(10),
            counted: Nanos::from_millis(60_000),
        };
        for task in [
            ComputeTask::Own(Work::Branchy),
            ComputeTask::Program("sleep 60".to_owned()),
        ] {
            let began = Instant::now();
            let stopped = run(&task, &[cpus()], lengths, &window, &AtomicBool::new(true));
            assert!(matches!(stopped, Err(CellError::Cancelled)));
            assert!(began.elapsed().as_secs() < 30);
        }
    }
}
