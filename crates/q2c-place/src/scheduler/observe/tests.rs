//! The observer on this machine. Threads that poll block devices are tested in guests.

use super::*;
use crate::scheduler::hints::Hints;
use q2c_host::Roots;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

struct SpinnerThread(Arc<AtomicBool>, Option<std::thread::JoinHandle<()>>);

impl SpinnerThread {
    fn start(name: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let spin = move || {
            while !stopped.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(spin);
        SpinnerThread(stop, Some(thread.expect("start a thread")))
    }
}

impl Drop for SpinnerThread {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.take().map(std::thread::JoinHandle::join);
    }
}

fn find_own<'a>(active: &'a [ActiveTask], comm: &str) -> Option<&'a ActiveTask> {
    let is_own = |t: &&ActiveTask| t.thread.pid == std::process::id() && t.thread.comm == comm;
    active.iter().find(is_own)
}

#[test]
fn active_threads_are_classed_by_hint_and_name() {
    let _spinners = ["spin-c", "spin-p", "reactor_7"].map(SpinnerThread::start);
    let hints = Hints {
        polling: vec!["spin-p".into()],
        ..Hints::default()
    };
    let mut observer = TaskObserver::begin(&Roots::live(), hints);
    observer.own_pid = 0;
    let mut class = |comm: &str| {
        std::thread::sleep(Duration::from_millis(300));
        let active = observer.window().expect("a window");
        find_own(&active, comm).map(|task| (task.class, task.seen_by))
    };
    // A name is evidence like any other: the predictor begins at 1 and polls at 2.
    assert_eq!(class("reactor_7"), Some((Class::Polling, SeenBy::Name)));
    assert_eq!(class("spin-p"), Some((Class::Polling, SeenBy::Hint)));
    assert_eq!(class("spin-c"), Some((Class::Compute, SeenBy::Nothing)));
}

#[test]
fn a_pinned_thread_stays() {
    let _free = SpinnerThread::start("spin-free");
    let pinned = std::thread::spawn(|| {
        let cpus = q2c_sys::thread::allowed_cpus().expect("CPUs");
        q2c_sys::thread::pin(cpus[0]).expect("pin");
        SpinnerThread::start("spin-pinned")
    });
    let _pinned = pinned.join().expect("a spinner");
    let mut observer = TaskObserver::begin(&Roots::live(), Hints::default());
    observer.own_pid = 0;
    std::thread::sleep(Duration::from_millis(300));
    let active = observer.window().expect("a window");
    let stays = |comm| find_own(&active, comm).expect("an active thread").stays;
    if q2c_sys::thread::allowed_cpus().is_ok_and(|cpus| cpus.len() > 1) {
        assert_eq!(stays("spin-pinned"), Some(StayReason::Pinned));
    }
    assert_eq!(stays("spin-free"), None);
}
