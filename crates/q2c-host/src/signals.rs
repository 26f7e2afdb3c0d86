//! Turns SIGINT, SIGTERM and all other signals that would end a program from outside into a flag.
//! No signal handler runs, and no system call of a lane is interrupted.
//!
//! The command line calls [`Signals::install`] as the first thing in `main`, before any thread
//! exists. The signals are then blocked in every thread, and one thread waits for them on a
//! `signalfd`. Runs look at [`Signals::stop`] between I/Os and end in the normal way, so that
//! restore guards are dropped and finished cells are kept; the command then exits with
//! `Exit::Interrupted`. A blocked mask is inherited through exec: start other programs with
//! `q2c_sys::signal::unblock_in_child`.
//!
//! Not everything looks at the flag in time: a read from a pipe that nobody writes to, or a long
//! simulation. So the same thread ends the program itself. It does so [`GRACE`] after the first
//! signal if nothing has to end in order (see [`Orderly`]), and at once at a second signal. Signals
//! within [`SAME_SIGNAL_WINDOW`] are one: timeout(1) sends its own to the program, then to its
//! group.

use q2c_result::Exit;
use q2c_sys::signal::{self, SignalFd, SignalSet};
use rustix::process::Signal;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long a program that has nothing to end in order may go on after a signal.
pub(crate) const GRACE: Duration = Duration::from_millis(600);
/// Signals that come this soon after the first count as one with it.
const SAME_SIGNAL_WINDOW: Duration = Duration::from_millis(100);
/// Time between two checks of whether something still has to end in order.
const ORDERLY_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Number of [`Orderly`] values.
static ORDERLY_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Something that a signal must let end in order, as long as this value lives: a changed setting, a
/// run whose finished trials are to be kept, a child, a file that is to be removed. The program
/// that has such a value ends by itself after the first signal.
#[derive(Debug)]
pub struct Orderly(());

impl Orderly {
    /// Registers something that has to end in order, until the value is dropped.
    #[must_use]
    pub fn begin() -> Orderly {
        ORDERLY_COUNT.fetch_add(1, Ordering::AcqRel);
        Orderly(())
    }
}

impl Drop for Orderly {
    fn drop(&mut self) {
        ORDERLY_COUNT.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Function that is called with the message for the user just before the program exits at once.
pub type ExitMessageHook = fn(&str);

/// The signals that ask q2c to stop: all that end a program unless it handles them, except KILL,
/// PIPE, and those that report a fault of the program. Batch systems send some, as do limits of CPU
/// time and file size; a write beyond such a limit then fails with an error.
const STOPPING: [Signal; 15] = [
    Signal::INT,
    Signal::TERM,
    Signal::HUP,
    Signal::QUIT,
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::VTALARM,
    Signal::PROF,
    Signal::IO,
    Signal::XCPU,
    Signal::XFSZ,
    Signal::SYS,
    Signal::POWER,
    Signal::STKFLT,
];
/// Numbers of the real-time signals, which end a program too (signal(7)).
const REAL_TIME: std::ops::RangeInclusive<i32> = 34..=64;

/// The stop flag, and the number of the latest signal. Clones share both.
#[derive(Clone, Debug)]
pub struct Signals {
    stop: Arc<AtomicBool>,
    last: Arc<AtomicI32>,
}

impl Signals {
    /// Blocks the signals and starts the thread that waits for them. Call it before any other
    /// thread exists, as threads inherit the mask. `exit_hook` is called in that thread where it
    /// ends the program.
    pub fn install(exit_hook: ExitMessageHook) -> io::Result<Signals> {
        let named = STOPPING.map(Signal::as_raw);
        let numbers: Vec<i32> = named.into_iter().chain(REAL_TIME).collect();
        let set = SignalSet::from_numbers(&numbers)?;
        signal::block(&set)?;
        let fd = SignalFd::new(&set)?;
        let signals = Signals {
            stop: Arc::default(),
            last: Arc::default(),
        };
        let shared = signals.clone();
        thread::Builder::new()
            .name("q2c-signals".into())
            .spawn(move || shared.watch(&fd, exit_hook))?;
        Ok(signals)
    }

    /// The flag that runs look at. It becomes true with the first signal and stays true.
    #[must_use]
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// True if a signal has come.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// The number of the latest signal; `None` before the first.
    pub fn received(&self) -> Option<i32> {
        Some(self.last.load(Ordering::Acquire)).filter(|&n| n != 0)
    }

    /// Waits for signals in a loop. If the descriptor fails, it raises the flag as well, because no
    /// later signal could stop the run, and ends.
    fn watch(&self, fd: &SignalFd, exit_hook: ExitMessageHook) {
        let mut first: Option<Instant> = None;
        loop {
            let signal = fd.wait();
            let first_at = first.get_or_insert_with(Instant::now);
            if signal.is_ok() && self.stopped() && first_at.elapsed() < SAME_SIGNAL_WINDOW {
                continue;
            }
            self.last
                .store(*signal.as_ref().unwrap_or(&0), Ordering::Release);
            let is_second = self.stop.swap(true, Ordering::AcqRel);
            if signal.is_err() {
                return;
            }
            if is_second {
                exit_now(exit_hook, "end in order: a second signal came");
            }
            // Without this thread the program ends when it looks at the flag.
            let builder = thread::Builder::new().name("q2c-grace".into());
            builder.spawn(move || end_after_grace(exit_hook)).ok();
        }
    }
}

/// Ends the program when [`GRACE`] is over and nothing has to be ended in order.
fn end_after_grace(exit_hook: ExitMessageHook) {
    thread::sleep(GRACE);
    while ORDERLY_COUNT.load(Ordering::Acquire) > 0 {
        thread::sleep(ORDERLY_CHECK_INTERVAL);
    }
    exit_now(exit_hook, "go on: stopped by a signal");
}

/// Ends the program. No drop runs.
fn exit_now(exit_hook: ExitMessageHook, action: &str) -> ! {
    let hint = match ORDERLY_COUNT.load(Ordering::Acquire) {
        0 => "",
        _ => "; what was begun is left as it is: `q2c restore` puts changed settings back",
    };
    exit_hook(&format!("q2c: failed to {action}{hint}"));
    std::process::exit(i32::from(Exit::Interrupted.code()))
}
