//! The calling thread: its CPUs, exact sleeps, CPU time and context switches.

use crate::check;
use crate::clock::monotonic_ns;
use q2c_model::CpuId;
use rustix::process::Pid;
use rustix::thread::{ClockId, CpuSet};
use std::io;

/// Pins the calling thread to one CPU.
pub fn pin(cpu: CpuId) -> io::Result<()> {
    allow(&[cpu])
}

/// Lets the calling thread run only on these CPUs.
pub fn allow(cpus: &[CpuId]) -> io::Result<()> {
    allow_thread(None, cpus)
}

/// Lets the thread `tid` of any process run only on these CPUs.
/// `ESRCH`: it has ended. `EINVAL` or `EPERM`: it may not be moved, or may use none of the CPUs.
pub fn allow_other(tid: u32, cpus: &[CpuId]) -> io::Result<()> {
    allow_thread(Some(pid(tid)?), cpus)
}

fn allow_thread(pid: Option<Pid>, cpus: &[CpuId]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        if cpu.0 as usize >= CpuSet::MAX_CPU {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        set.set(cpu.0 as usize);
    }
    Ok(rustix::thread::sched_setaffinity(pid, &set)?)
}

/// The CPU that the calling thread runs on now.
pub fn current_cpu() -> CpuId {
    CpuId(rustix::thread::sched_getcpu() as u32)
}

/// The CPUs that the calling thread may run on, in ascending order.
pub fn allowed_cpus() -> io::Result<Vec<CpuId>> {
    cpus_of(None)
}

/// The CPUs that the thread `tid` of any process may run on, in ascending order. CPUs that are not
/// online are left out.
pub fn allowed_cpus_of(tid: u32) -> io::Result<Vec<CpuId>> {
    cpus_of(Some(pid(tid)?))
}

fn pid(tid: u32) -> io::Result<Pid> {
    let pid = i32::try_from(tid).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))
}

fn cpus_of(pid: Option<Pid>) -> io::Result<Vec<CpuId>> {
    let set = rustix::thread::sched_getaffinity(pid)?;
    let cpus = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu));
    Ok(cpus.map(|cpu| CpuId(cpu as u32)).collect())
}

/// Sets the calling thread's timer slack to the smallest value, 1 ns, so that timed sleeps end when
/// they should. The default of 50 us would let the kernel end them later.
pub fn minimize_timer_slack() -> io::Result<()> {
    // SAFETY: PR_SET_TIMERSLACK takes one integer by value and touches no memory of this process.
    check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) }).map(drop)
}

/// Sleeps on CLOCK_MONOTONIC until the absolute instant `deadline_ns`. A sleep that a signal
/// interrupted is resumed.
#[inline]
pub fn sleep_until(deadline_ns: u64) {
    let deadline = rustix::thread::Timespec {
        tv_sec: (deadline_ns / 1_000_000_000) as i64,
        tv_nsec: (deadline_ns % 1_000_000_000) as _,
    };
    while rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &deadline).is_err() {
        if monotonic_ns() >= deadline_ns {
            return;
        }
    }
}

/// The kernel's id of the calling thread.
pub fn id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// CPU time of any thread of this process in nanoseconds, exact to the present moment even while
/// the thread runs.
///
/// `/proc/self/task/TID/schedstat` is not exact: it lags by up to a tick for a running thread. The
/// clock id is built as the kernel defines it (include/linux/posix-timers_types.h: `~tid << 3 | 4 |
/// 2`).
pub fn cpu_ns_of(tid: u32) -> io::Result<u64> {
    let id = (!(tid as i32) << 3) | 4 | 2;
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `t` is a valid timespec during the whole call; the kernel answers an unknown clock id
    // with EINVAL.
    check(unsafe { libc::clock_gettime(id, &raw mut t) })?;
    Ok(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// Context switches of the calling thread so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextSwitches {
    /// Switches at which the thread gave up the CPU because it slept or waited.
    pub voluntary: u64,
    /// Switches at which the thread was preempted.
    pub involuntary: u64,
}

/// Reads how often the calling thread was switched away so far.
pub fn switches() -> ContextSwitches {
    // SAFETY: an all-zero rusage is a valid value: it holds only integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid during the whole call; RUSAGE_THREAD cannot fail with a valid
    // pointer.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    ContextSwitches {
        voluntary: usage.ru_nvcsw as u64,
        involuntary: usage.ru_nivcsw as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_is_a_voluntary_switch_and_never_short() {
        minimize_timer_slack().unwrap();
        let (before, start) = (switches(), monotonic_ns());
        sleep_until(start + 2_000_000);
        assert!(monotonic_ns() - start >= 2_000_000);
        assert!(switches().voluntary > before.voluntary);
    }

    #[test]
    fn another_thread_can_read_the_cpu_time_of_a_spinning_one() {
        let tid = id();
        let until = monotonic_ns() + 30_000_000;
        while monotonic_ns() < until {}
        let cpu_ns = crate::clock::thread_cpu_ns();
        let other = std::thread::spawn(move || cpu_ns_of(tid)).join().unwrap();
        let other = other.unwrap();
        assert!(other >= cpu_ns, "{cpu_ns} ns, later {other} ns");
        cpu_ns_of(u32::MAX >> 4).expect_err("a thread that does not exist");
    }

    #[test]
    fn pinning_is_obeyed_and_an_absent_cpu_is_refused() {
        let cpu = allowed_cpus().unwrap()[0];
        let pinned = std::thread::spawn(move || {
            pin(cpu).unwrap();
            assert_eq!(allowed_cpus().unwrap(), [cpu]);
            assert!(pin(CpuId(1023)).is_err());
        });
        pinned.join().unwrap();
    }
}
