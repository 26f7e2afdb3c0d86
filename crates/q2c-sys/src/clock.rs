//! One clock for all times of a run: the TSC where it is invariant, else CLOCK_MONOTONIC.
//!
//! A time stamp by the TSC costs about a third of `clock_gettime`, and a loop at depth 1 takes
//! three per I/O.
//!
//! Limit: the rate is fitted once for each [`Clock`] against CLOCK_MONOTONIC over [`FIT_MS`]. A
//! later change of that clock's rate (NTP, up to 500 ppm) is not followed, so two instants seconds
//! apart may differ from CLOCK_MONOTONIC by some microseconds. Latencies are differences over
//! microseconds, which this does not change.

use rustix::time::{ClockId, clock_gettime};
use std::sync::OnceLock;
use std::time::Duration;

/// Length of the fit, milliseconds.
const FIT_MS: u64 = 30;
/// Fractional bits of the rate.
const RATE_BITS: u32 = 32;

/// The present time of CLOCK_MONOTONIC, nanoseconds.
#[inline]
pub fn monotonic_ns() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// The present time of CLOCK_MONOTONIC as the kernel counts it in traces and BPF programs,
/// nanoseconds. Programs in a time namespace may see another time (time_namespaces(7)).
pub fn kernel_ns() -> u64 {
    to_kernel_ns(monotonic_ns())
}

fn to_kernel_ns(monotonic_ns: u64) -> u64 {
    static AHEAD_NS: OnceLock<i64> = OnceLock::new();
    let ahead_of_kernel = AHEAD_NS.get_or_init(|| {
        let offsets = std::fs::read_to_string("/proc/self/timens_offsets");
        // Kernels before 5.6 have no time namespaces.
        offsets.ok().and_then(|text| ahead_ns(&text)).unwrap_or(0)
    });
    monotonic_ns.wrapping_add_signed(ahead_of_kernel.wrapping_neg())
}

/// The time that a time namespace adds to CLOCK_MONOTONIC, from `/proc/PID/timens_offsets`, ns.
fn ahead_ns(offsets: &str) -> Option<i64> {
    let mut lines = offsets.lines().map(str::split_whitespace);
    let mut columns = lines.find_map(|mut columns| {
        let is_monotonic = matches!(columns.next(), Some("monotonic" | "1"));
        is_monotonic.then_some(columns)
    })?;
    let [seconds, ns] = [columns.next()?, columns.next()?].map(str::parse::<i64>);
    let seconds_ns = seconds.ok()?.checked_mul(1_000_000_000)?;
    seconds_ns.checked_add(ns.ok()?)
}

/// CPU time of the calling thread, nanoseconds, exact to the present moment.
pub fn thread_cpu_ns() -> u64 {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// A clock that counts nanoseconds from the moment it was made. Copies share that moment and the
/// rate, so a run makes one clock and gives each lane a copy.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// TSC ticks or nanoseconds of CLOCK_MONOTONIC at the moment the clock was made.
    base: u64,
    /// Nanoseconds per tick, with [`RATE_BITS`] fractional bits; 0 for CLOCK_MONOTONIC.
    rate: u64,
}

impl Clock {
    /// CLOCK_MONOTONIC itself, which counts from the machine's start.
    pub const MONOTONIC: Clock = Clock { base: 0, rate: 0 };

    /// Makes a clock by the TSC, which takes about 30 ms for the fit, or by CLOCK_MONOTONIC where
    /// the TSC is not invariant.
    pub fn new() -> Self {
        if tsc::invariant() {
            Self::fit()
        } else {
            Self::monotonic()
        }
    }

    /// Makes a clock by CLOCK_MONOTONIC, for times that are compared with those of the kernel.
    /// [`Clock::kernel_ns_at`] is exact with it, but a time stamp costs more.
    pub fn monotonic() -> Self {
        let (base, rate) = (monotonic_ns(), 0);
        Clock { base, rate }
    }

    /// The kernel's own time of CLOCK_MONOTONIC ([`kernel_ns`]) at which this clock shows `ns`;
    /// `None` where the clock counts by the TSC, which drifts against CLOCK_MONOTONIC.
    pub fn kernel_ns_at(&self, ns: u64) -> Option<u64> {
        (self.rate == 0).then(|| to_kernel_ns(self.base + ns))
    }

    fn fit() -> Self {
        let (tsc0, ns0) = paired_reading();
        std::thread::sleep(Duration::from_millis(FIT_MS));
        let (tsc1, ns1) = paired_reading();
        let rate = ((u128::from(ns1 - ns0) << RATE_BITS) / u128::from(tsc1 - tsc0)) as u64;
        let base = tsc::read();
        Clock { base, rate }
    }

    /// Nanoseconds since the clock was made.
    #[inline]
    pub fn now(&self) -> u64 {
        match self.rate {
            0 => monotonic_ns().saturating_sub(self.base),
            rate => {
                let ticks = tsc::read().saturating_sub(self.base);
                ((u128::from(ticks) * u128::from(rate)) >> RATE_BITS) as u64
            }
        }
    }

    /// The name of the time source, as results print it.
    pub fn source(&self) -> &'static str {
        if self.rate == 0 {
            "CLOCK_MONOTONIC"
        } else {
            "TSC, fitted to CLOCK_MONOTONIC"
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

/// TSC and CLOCK_MONOTONIC at one moment: the fastest of 64 readings of both.
fn paired_reading() -> (u64, u64) {
    let reading = |_| {
        let before = tsc::read();
        let ns = monotonic_ns();
        let after = tsc::read();
        (after - before, before.midpoint(after), ns)
    };
    let (_, tsc, ns) = (0..64).map(reading).min().unwrap_or((0, 0, 0));
    (tsc, ns)
}

#[cfg(target_arch = "x86_64")]
mod tsc {
    use std::arch::x86_64::{__cpuid, _rdtsc};

    #[inline]
    pub(crate) fn read() -> u64 {
        // SAFETY: every x86-64 processor has the instruction; it reads a register and touches no
        // memory.
        unsafe { _rdtsc() }
    }

    /// CPUID 8000_0007h EDX bit 8 (Intel SDM vol. 3, "Invariant TSC").
    pub(crate) fn invariant() -> bool {
        const LEAF: u32 = 0x8000_0007;
        __cpuid(0x8000_0000).eax >= LEAF && __cpuid(LEAF).edx & (1 << 8) != 0
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod tsc {
    pub(crate) fn read() -> u64 {
        super::monotonic_ns()
    }

    pub(crate) fn invariant() -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs_at_the_rate_of_the_monotonic_clock() {
        let clock = Clock::new();
        // Reads both clocks at one moment: of 64 readings the fastest one counts, because a thread
        // can lose its CPU during a reading.
        let both = || {
            let read = |_| {
                let (before, clock_ns, after) = (monotonic_ns(), clock.now(), monotonic_ns());
                (after - before, clock_ns, before)
            };
            let (_, clock_ns, mono) = (0..64).map(read).min().expect("some");
            (clock_ns, mono)
        };
        let (clock_begin, mono_begin) = both();
        std::thread::sleep(Duration::from_millis(200));
        let (clock_end, mono_end) = both();
        let (clock_ns, mono) = (clock_end - clock_begin, mono_end - mono_begin);
        assert!(clock_ns.abs_diff(mono) < 50_000, "{clock_ns} {mono} ns");
    }

    /// The clock's own time lies between two readings of CLOCK_MONOTONIC.
    #[test]
    fn a_monotonic_clock_tells_the_kernels_time() {
        let clock = Clock::monotonic();
        for _ in 0..1_000 {
            let before = kernel_ns();
            let reading = clock.kernel_ns_at(clock.now()).expect("no TSC");
            let after = kernel_ns();
            let is_between = (before..=after).contains(&reading);
            assert!(is_between, "{before} {reading} {after}");
        }
        let fitted = Clock { base: 0, rate: 1 };
        assert_eq!(fitted.kernel_ns_at(0), None);
    }

    /// As proc(5) and the kernel's tools/testing/selftests/timens show the file.
    #[test]
    fn what_a_time_namespace_adds() {
        let text = "monotonic           1000000         5\nboottime             0         0\n";
        assert_eq!(ahead_ns(text), Some(1_000_000_000_000_005));
        assert_eq!(ahead_ns("monotonic -86400 0\n"), Some(-86_400_000_000_000));
        for wrong in ["", "boottime 1 1", "monotonic 1", "monotonic x 1"] {
            assert_eq!(ahead_ns(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sleeping_takes_no_cpu_and_spinning_does() {
        let before = thread_cpu_ns();
        std::thread::sleep(Duration::from_millis(20));
        let slept = thread_cpu_ns() - before;
        let until = monotonic_ns() + 20_000_000;
        while monotonic_ns() < until {}
        let spun = thread_cpu_ns() - before - slept;
        assert!(slept < 5_000_000, "{slept} ns");
        assert!(spun > 5_000_000, "{spun} ns");
    }
}
