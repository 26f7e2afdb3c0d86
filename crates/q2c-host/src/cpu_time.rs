//! How busy the machine's CPUs were between two moments, and how much CPU time a thread used.
//!
//! The kernel has two counters of a CPU's idle time, and they disagree:
//!
//! * `/proc/stat` (idle + iowait). With a tickless kernel (`CONFIG_NO_HZ_IDLE`, the default
//!   everywhere) the kernel takes the idle loop's time from the clock at entry and exit, leaves out
//!   interrupts that hit the idle CPU, and adds the idle period that still lasts at the read. The
//!   count is exact to the 10 ms in which it is printed. The other columns (user, system, irq,
//!   softirq) are sampled by the tick and miss work that keeps clear of it, unless the kernel
//!   accounts interrupts by the clock. They show how busy time divides, but their sum is never
//!   taken as the busy time.
//! * cpuidle residency (`cpuidle/stateN/time`, microseconds). The kernel adds to it when a state is
//!   left, so an idle period that still lasts is missing, however long it is. A state entered with
//!   interrupts enabled (HLT, by `haltpoll` and the bare `default idle`) includes the handler of
//!   the interrupt that ends it. The idle loop's own entry and exit are never included.
//!
//! The table was measured over windows of 5 s on a virtual machine with 2 CPUs (KVM, Linux 6.18,
//! driver haltpoll). Each load was pinned to one otherwise quiet CPU. Times are in seconds; those
//! of the two counters are idle seconds of that CPU, and `thread` is the load's own CPU time.
//!
//! | load | wall | thread | /proc/stat | cpuidle | busy by stat | busy by cpuidle |
//! |---|---|---|---|---|---|---|
//! | none | 5.00 | - | 4.99 | 4.989 | 0.01 | 0.01 |
//! | one spinning thread | 5.00 | 5.00 | 0.00 | 0.000 | 5.00 | 5.00 |
//! | sleeps of 100 us, 7 200/s | 5.00 | 1.23 | 3.68 | 3.974 | 1.32 | 1.03 |
//! | direct 4 KiB reads, 14 500/s | 5.00 | 2.41 | 2.37 | 1.918 | 2.63 | 3.08 |
//!
//! With sleeps, cpuidle counts 5 to 8 us per wake-up as idle that belonged to the timer's handler;
//! in the run above its busy time is below what the thread alone used, which is impossible. With
//! reads it counted up to 6 us per wait as busy that belonged to the idle loop, by an amount that
//! changed from run to run (none to 25 % of the busy time). Both errors grow with the rate and
//! would distort a comparison of interrupts, polling and hybrid polling. The tick code's nanosecond
//! counter (`/proc/timer_list`) agreed with `/proc/stat` within its 10 ms plus the idle period that
//! still lasted. So [`BusySource::ProcStat`] is preferred. cpuidle serves windows that are too
//! short for counts of 10 ms (below 1 s), where the driver's states do not contain handlers. The
//! example `cpu_sources` repeats the comparison on another machine. Bare metal and intel_idle were
//! not measured.

mod busy;
mod snapshot;
mod task;

pub use busy::{Busy, BusySource, CpuBusy};
pub use snapshot::{CpuTimes, QUIET_CPUS, REST_LOOKS, STOP_OTHERS, busy_before, idle_busy_cpus};
pub use task::{Helper, HelperKind, TaskTimes, helpers, tasks, tasks_of};
