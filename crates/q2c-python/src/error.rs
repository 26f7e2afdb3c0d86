//! Converts errors of the libraries to Python exceptions, with one class for each exit code of the
//! program. Long work runs without the interpreter, and Ctrl-C ends it with an exception as well.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use q2c_model::{Exit, Fault};
use std::fmt::Display;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

create_exception!(
    q2c,
    Q2cError,
    PyException,
    "A failure of q2c, with the program's own text. `exit_code` is the code with which the program ends in this case."
);
macro_rules! error_classes {
    ($($name:ident: $doc:literal,)*) => { $(create_exception!(q2c, $name, Q2cError, $doc);)* };
}

error_classes! {
    InternalError: "A fault of q2c itself (exit code 1).",
    UsageError: "An argument is wrong: an unknown option, rule or unit (exit code 2).",
    InputError: "An input is missing, malformed or empty (exit code 3).",
    MachineError: "The machine lacks what is needed (exit code 4).",
    DeviceError: "A disk failed, or is full (exit code 6).",
}

pub(crate) fn add_classes(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let classes = [
        (py.get_type::<Q2cError>(), Exit::Internal),
        (py.get_type::<InternalError>(), Exit::Internal),
        (py.get_type::<UsageError>(), Exit::Usage),
        (py.get_type::<InputError>(), Exit::Input),
        (py.get_type::<MachineError>(), Exit::Environment),
        (py.get_type::<DeviceError>(), Exit::Device),
    ];
    for (class, exit) in classes {
        class.setattr("exit_code", exit.code())?;
        module.add(class.name()?, class)?;
    }
    Ok(())
}

/// A failure of a library, which becomes an exception.
pub struct Failure(Fault);

impl Failure {
    /// A failure from a message that starts with a verb, such as "read FILE: ...".
    pub(crate) fn new(exit: Exit, message: impl Display) -> Self {
        Failure(Fault::new(exit, message))
    }
}

impl<E: Into<Fault>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure(error.into())
    }
}

impl From<Failure> for PyErr {
    fn from(Failure(fault): Failure) -> PyErr {
        // The text is one line, as the program prints it, whatever names it contains.
        let text = format!("failed to {}", fault.message().replace('\n', "\\n"));
        match fault.exit() {
            Exit::Internal => InternalError::new_err(text),
            Exit::Usage => UsageError::new_err(text),
            Exit::Input => InputError::new_err(text),
            Exit::Environment => MachineError::new_err(text),
            Exit::Device => DeviceError::new_err(text),
            // No function has a target or a requirement, and a signal raises its own exception.
            Exit::Done | Exit::Target | Exit::Requirements | Exit::Interrupted => {
                Q2cError::new_err(text)
            }
        }
    }
}

pub trait OrFailure<T> {
    fn or_exit(self, exit: Exit) -> Result<T, Failure>;
}

impl<T, E: Display> OrFailure<T> for Result<T, E> {
    fn or_exit(self, exit: Exit) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(exit, error))
    }
}

/// Time between two checks for a signal.
const SIGNAL_CHECK_PERIOD: Duration = Duration::from_millis(50);
/// Stack of the working thread, bytes: as large as that of the program's main thread.
const STACK_BYTES: usize = 8 << 20;

/// Runs `work` in a thread, without holding the interpreter. If a signal's handler raises an
/// exception (Ctrl-C), `stop` is set, `work` is waited for, and the exception is returned. Only
/// Python's main thread runs handlers.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let (stop, mut raised) = (&stop, None);
    let result = py.detach(|| {
        thread::scope(|scope| {
            let (end_guard, ended) = channel::<()>();
            let worker = thread::Builder::new().stack_size(STACK_BYTES);
            let worker = worker.spawn_scoped(scope, move || {
                let _end_guard = end_guard;
                work(stop)
            });
            let worker = worker.map_err(|error| {
                let message = format!("start a thread: {error}; end other programs, or raise the limit of tasks (ulimit -u, pids.max)");
                Failure::new(Exit::Environment, message)
            })?;
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(SIGNAL_CHECK_PERIOD) {
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
        None => Ok(result?),
    }
}
