//! Work that takes long: without the interpreter, and ended by Ctrl-C.

use crate::error::Failed;
use pyo3::prelude::*;
use q2c_result::Exit;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Time between two looks for a signal.
const LOOK: Duration = Duration::from_millis(50);
/// Stack of the thread that works: what the program's main thread has.
const STACK: usize = 8 << 20;

/// Runs `work` in a thread, without holding the interpreter. When a signal's handler raises an
/// exception (Ctrl-C), the flag is set, `work` is waited for, and the exception is returned.
/// Handlers run in Python's main thread alone.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> Result<T, Failed> + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let (stop, mut raised) = (&stop, None);
    let worked = py.detach(|| {
        thread::scope(|scope| {
            let (at_work, ended) = channel::<()>();
            let worker = thread::Builder::new().stack_size(STACK);
            let worker = worker.spawn_scoped(scope, move || {
                let _at_work = at_work;
                work(stop)
            });
            let worker = worker.map_err(|error| {
                let message = format!("start a thread: {error}; end other programs, or raise the limit of tasks (ulimit -u, pids.max)");
                Failed::new(Exit::Environment, message)
            })?;
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK) {
                if raised.is_none() {
                    raised = Python::attach(|py| py.check_signals()).err();
                    stop.store(raised.is_some(), Ordering::Relaxed);
                }
            }
            worker.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    });
    match raised {
        Some(raised) => Err(raised),
        None => Ok(worked?),
    }
}
