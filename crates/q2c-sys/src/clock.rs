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
use std::time::Duration;

/// Length of the fit, milliseconds.
const FIT_MS: u64 = 30;
/// Bits behind the binary point of the rate.
const SHIFT: u32 = 32;

/// The present time of CLOCK_MONOTONIC, nanoseconds.
#[inline]
#[must_use]
pub fn monotonic_ns() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// CPU time of the calling thread, nanoseconds, exact to the present moment.
#[must_use]
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
    /// Nanoseconds per tick, with [`SHIFT`] bits behind the binary point; 0 means that
    /// CLOCK_MONOTONIC is used.
    rate: u64,
}

impl Clock {
    /// CLOCK_MONOTONIC itself, which counts from the machine's start.
    pub const BOOT: Clock = Clock { base: 0, rate: 0 };

    /// Makes a clock by the TSC, which takes about 30 ms for the fit, or by CLOCK_MONOTONIC where
    /// the TSC is not invariant.
    #[must_use]
    pub fn new() -> Self {
        match tsc::invariant() {
            true => Self::fitted(),
            false => Self::monotonic(),
        }
    }

    /// Makes a clock by CLOCK_MONOTONIC, for times that are set beside those of the kernel.
    /// [`Clock::since_boot`] is exact with it, and a time stamp costs more.
    #[must_use]
    pub fn monotonic() -> Self {
        Clock {
            base: monotonic_ns(),
            rate: 0,
        }
    }

    /// The time of CLOCK_MONOTONIC, ns, at which this clock shows `ns`; `None` where the clock
    /// counts by the TSC, which drifts against CLOCK_MONOTONIC.
    #[must_use]
    pub fn since_boot(&self, ns: u64) -> Option<u64> {
        (self.rate == 0).then(|| self.base + ns)
    }

    fn fitted() -> Self {
        let (tsc0, ns0) = pair();
        std::thread::sleep(Duration::from_millis(FIT_MS));
        let (tsc1, ns1) = pair();
        let rate = (u128::from(ns1 - ns0) << SHIFT) / u128::from(tsc1 - tsc0);
        Clock {
            base: tsc::read(),
            rate: rate as u64,
        }
    }

    /// Nanoseconds since the clock was made.
    #[inline]
    #[must_use]
    pub fn now(&self) -> u64 {
        match self.rate {
            0 => monotonic_ns().saturating_sub(self.base),
            rate => {
                let ticks = tsc::read().saturating_sub(self.base);
                ((u128::from(ticks) * u128::from(rate)) >> SHIFT) as u64
            }
        }
    }

    /// The name of the time source, as results print it.
    #[must_use]
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

/// TSC and CLOCK_MONOTONIC at one moment: of 64 readings the one that took the fewest ticks.
fn pair() -> (u64, u64) {
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
    pub fn read() -> u64 {
        // SAFETY: every x86-64 processor has the instruction; it reads a register and touches no
        // memory.
        unsafe { _rdtsc() }
    }

    /// CPUID 8000_0007h EDX bit 8 (Intel SDM vol. 3, "Invariant TSC").
    pub fn invariant() -> bool {
        const LEAF: u32 = 0x8000_0007;
        __cpuid(0x8000_0000).eax >= LEAF && __cpuid(LEAF).edx & (1 << 8) != 0
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod tsc {
    pub fn read() -> u64 {
        super::monotonic_ns()
    }

    pub fn invariant() -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs_at_the_rate_of_the_monotonic_clock() {
        let clock = Clock::new();
        let (own, mono) = (clock.now(), monotonic_ns());
        std::thread::sleep(Duration::from_millis(200));
        let (own, mono) = (clock.now() - own, monotonic_ns() - mono);
        assert!(
            own.abs_diff(mono) < 50_000,
            "own {own} ns, monotonic {mono} ns"
        );
    }

    /// The clock's own time stands between two readings of CLOCK_MONOTONIC.
    #[test]
    fn a_monotonic_clock_tells_the_kernels_time() {
        let clock = Clock::monotonic();
        for _ in 0..1_000 {
            let before = monotonic_ns();
            let told = clock.since_boot(clock.now()).expect("no TSC");
            let after = monotonic_ns();
            assert!((before..=after).contains(&told), "{before} {told} {after}");
        }
        let fitted = Clock { base: 0, rate: 1 };
        assert_eq!(fitted.since_boot(0), None);
    }

    #[test]
    fn sleeping_takes_no_cpu_and_spinning_does() {
        let before = thread_cpu_ns();
        std::thread::sleep(Duration::from_millis(20));
        let slept = thread_cpu_ns() - before;
        let until = monotonic_ns() + 20_000_000;
        while monotonic_ns() < until {}
        let spun = thread_cpu_ns() - before - slept;
        assert!(
            slept < 5_000_000 && spun > 5_000_000,
            "slept {slept} ns, spun {spun} ns"
        );
    }
}
