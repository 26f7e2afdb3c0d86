//! Signals read from a file descriptor (`signalfd`) instead of by a handler: the caller blocks
//! them, then reads those that are pending.

use crate::check;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A set of signals, for [`block`] and [`SignalFd::new`].
#[derive(Clone, Copy)]
pub struct SignalSet(libc::sigset_t);

impl SignalSet {
    /// The set of the signals named by number.
    pub fn from_numbers(signals: &[i32]) -> io::Result<SignalSet> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the pointer is valid for writing one sigset_t, which the call fills.
        check(unsafe { libc::sigemptyset(set.as_mut_ptr()) })?;
        for &signal in signals {
            // SAFETY: the set behind the pointer was initialised above.
            check(unsafe { libc::sigaddset(set.as_mut_ptr(), signal) })?;
        }
        // SAFETY: sigemptyset initialised it.
        Ok(SignalSet(unsafe { set.assume_init() }))
    }
}

/// Blocks `set` in the calling thread. Threads that it starts later inherit the mask, so a call
/// before any other thread exists blocks the set in all of them.
pub fn block(set: &SignalSet) -> io::Result<()> {
    mask(libc::SIG_BLOCK, set)
}

fn mask(how: i32, set: &SignalSet) -> io::Result<()> {
    // SAFETY: the set is initialised and outlives the call; a null old set is allowed.
    match unsafe { libc::pthread_sigmask(how, &raw const set.0, std::ptr::null_mut()) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// A descriptor from which pending signals of a set are read. The set must be blocked in every
/// thread.
#[derive(Debug)]
pub struct SignalFd(OwnedFd);

impl SignalFd {
    /// A new descriptor for `set`, closed on exec.
    pub fn new(set: &SignalSet) -> io::Result<SignalFd> {
        // SAFETY: -1 asks for a new descriptor; the set is initialised and only read.
        let fd = check(unsafe { libc::signalfd(-1, &raw const set.0, libc::SFD_CLOEXEC) })?;
        // SAFETY: the descriptor was just made and has no other owner.
        Ok(SignalFd(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Waits for the next signal and returns its number. An interrupted wait is resumed.
    pub fn wait(&self) -> io::Result<i32> {
        const SIZE: usize = size_of::<libc::signalfd_siginfo>();
        let mut info = [0u8; SIZE];
        loop {
            // SAFETY: the buffer is valid for writing SIZE bytes.
            let n = unsafe { libc::read(self.0.as_raw_fd(), info.as_mut_ptr().cast(), SIZE) };
            if n == SIZE as isize {
                // `ssi_signo`, an unsigned 32-bit number, is the record's first field.
                return Ok(i32::from_ne_bytes([info[0], info[1], info[2], info[3]]));
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

/// Lets `command` start with no signal blocked. A child inherits its parent's mask through exec; a
/// child that inherited the mask of [`block`] could be stopped by SIGKILL only.
pub fn unblock_in_child(command: &mut Command) -> io::Result<&mut Command> {
    let none = SignalSet::from_numbers(&[])?;
    let unblock = move || mask(libc::SIG_SETMASK, &none);
    // SAFETY: between fork and exec the closure makes one async-signal-safe system call on memory
    // it owns; the error it may build holds no allocation.
    Ok(unsafe { command.pre_exec(unblock) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocked_signal_is_read_from_the_descriptor() {
        let set = SignalSet::from_numbers(&[libc::SIGUSR1]).unwrap();
        block(&set).unwrap();
        let fd = SignalFd::new(&set).unwrap();
        // SAFETY: raises a signal that this thread has blocked.
        assert_eq!(unsafe { libc::raise(libc::SIGUSR1) }, 0);
        assert_eq!(fd.wait().unwrap(), libc::SIGUSR1);
    }

    #[test]
    fn children_start_with_an_empty_mask() {
        block(&SignalSet::from_numbers(&[libc::SIGTERM]).unwrap()).unwrap();
        let mut command = Command::new("cat");
        command.arg("/proc/self/status");
        let inherited = blocked(&command.output().unwrap().stdout);
        let clean = unblock_in_child(&mut command).unwrap().output().unwrap();
        let clean = blocked(&clean.stdout);
        // Bit 14 is SIGTERM, signal 15.
        assert_eq!((inherited & 0x4000, clean), (0x4000, 0));
    }

    /// The mask of blocked signals in the text of `/proc/PID/status`.
    fn blocked(status: &[u8]) -> u64 {
        let text = String::from_utf8_lossy(status);
        let hex = text.lines().find_map(|l| l.strip_prefix("SigBlk:"));
        u64::from_str_radix(hex.unwrap().trim(), 16).unwrap()
    }

    #[test]
    fn no_such_signal() {
        assert!(SignalSet::from_numbers(&[4096]).is_err());
    }
}
