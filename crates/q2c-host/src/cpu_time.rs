//! How busy the machine's CPUs were between two moments, and what a thread used.
//!
//! Two kernel counters tell a CPU's idle time, and they disagree:
//!
//! * `/proc/stat` (idle + iowait). With a tickless kernel (`CONFIG_NO_HZ_IDLE`, the default everywhere) the idle
//!   loop's time is taken from the clock at entry and exit, interrupts that hit the idle CPU are left out, and the
//!   idle period that still lasts is added at the read: exact to the 10 ms it is printed in. The other columns
//!   (user, system, irq, softirq) are sampled by the tick and miss work that keeps clear of it, unless the kernel
//!   accounts interrupts by the clock: they name where busy time went, and are never summed up to it.
//! * cpuidle residency (`cpuidle/stateN/time`, microseconds). Added when a state is left: an idle period that still
//!   lasts is not in it, however long. A state entered with interrupts open (HLT, as `haltpoll` and the bare
//!   `default idle` do) contains the handler of the interrupt that ends it; the idle loop's own entry and exit are
//!   never in it.
//!
//! Measured over 5 s windows on a 2-CPU virtual machine (KVM, Linux 6.18, driver haltpoll; one load pinned to one
//! otherwise quiet CPU; idle seconds of that CPU; `thread` is the load's own CPU time):
//!
//! | load | wall | thread | /proc/stat | cpuidle | busy by stat | busy by cpuidle |
//! |---|---|---|---|---|---|---|
//! | none | 5.00 | - | 4.99 | 4.989 | 0.01 | 0.01 |
//! | one spinning thread | 5.00 | 5.00 | 0.00 | 0.000 | 5.00 | 5.00 |
//! | sleeps of 100 us, 7 200/s | 5.00 | 1.23 | 3.68 | 3.974 | 1.32 | 1.03 |
//! | direct 4 KiB reads, 14 500/s | 5.00 | 2.41 | 2.37 | 1.918 | 2.63 | 3.08 |
//!
//! With sleeps, cpuidle calls 5 to 8 us per wake-up idle that were the timer's handler; in the run above its busy time
//! is below what the thread alone used, which cannot be. With reads it called up to 6 us per wait busy that were the
//! idle loop's, by an amount that changed from run to run (none to 25 % of the busy time). Both errors grow with the
//! rate and would tilt a comparison of interrupts, polling and hybrid polling. The tick code's nanosecond counter
//! (`/proc/timer_list`) agreed with `/proc/stat` within its 10 ms plus the idle period that still lasted. So
//! [`Source::ProcStat`] is preferred, and cpuidle serves windows too short for 10 ms where its states do not contain
//! handlers. Example `cpu_sources` repeats the comparison on another machine. Not measured: bare metal, intel_idle.

mod busy;
mod helper;
mod snapshot;
mod task;

pub use busy::{Busy, CpuBusy, Source};
pub use helper::{Helper, HelperKind, RingThread, helpers, ring_threads};
pub use snapshot::{CpuTimes, ReadError};
pub use task::{TaskTimes, tasks, tasks_of};
