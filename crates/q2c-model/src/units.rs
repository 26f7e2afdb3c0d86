//! Units as types, so that numbers with a unit are never passed between crates as bare integers.

use crate::ParseTextError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

/// A duration or an instant on one clock, in nanoseconds.
///
/// The clock and its origin are stated where the value is produced. Subtraction saturates at zero:
/// clocks of different CPUs may disagree by a few nanoseconds, and a negative latency does not
/// exist.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Zero nanoseconds.
    pub const ZERO: Nanos = Nanos(0);

    /// A time of whole microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Nanos(us * 1_000)
    }

    /// A time of whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Nanos(ms * 1_000_000)
    }

    /// A time of seconds, rounded to the nearest nanosecond; negative values become zero.
    pub fn from_secs_f64(s: f64) -> Self {
        Nanos((s.max(0.0) * 1e9).round() as u64)
    }

    /// The time in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time in microseconds.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0 + other.0)
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        self.0 += other.0;
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Nanos>>(iter: I) -> Nanos {
        Nanos(iter.map(|n| n.0).sum())
    }
}

/// Prints the time with the unit that suits its size: `850 ns`, `43.1 us`, `10.0 ms`, `2.50 s`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0 as f64;
        match self.0 {
            0..1_000 => write!(f, "{} ns", self.0),
            1_000..1_000_000 => write!(f, "{:.1} us", n / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.1} ms", n / 1e6),
            _ => write!(f, "{:.2} s", n / 1e9),
        }
    }
}

/// A count of 512-byte sectors, the unit of the Linux block layer whatever the device's block size.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Sectors(pub u64);

impl Sectors {
    /// Number of bytes in one sector.
    pub const SIZE: u64 = 512;

    /// The same length in bytes.
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0 * Self::SIZE)
    }
}

/// A length in bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// The length in the largest unit in which it is at least 1, rounded: `24.64 GiB`. For measured
    /// sizes; write a requested size as the user typed it.
    pub fn in_short(self) -> String {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let (mut value, mut unit) = (self.0 as f64, "B");
        for larger in UNITS {
            if value < 1024.0 {
                break;
            }
            (value, unit) = (value / 1024.0, larger);
        }
        let decimals = if value.fract() == 0.0 { 0 } else { 2 };
        format!("{value:.decimals$} {unit}")
    }

    /// The number of whole sectors in this length, rounded down.
    pub const fn sectors(self) -> Sectors {
        Sectors(self.0 / Sectors::SIZE)
    }
}

/// Prints the length as block sizes are written: `512 B`, `4 KiB`, `1 MiB`. Only exact multiples
/// get a larger unit.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        let fits = |size: u64| self.0 >= size && self.0.is_multiple_of(size);
        let unit = UNITS.into_iter().find(|(size, _)| fits(*size));
        let (size, name) = unit.unwrap_or((1, "B"));
        write!(f, "{} {name}", self.0 / size)
    }
}

/// A logical CPU as the kernel numbers it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct CpuId(pub u32);

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CPU {}", self.0)
    }
}

/// The number of a block device, as the kernel gives it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct DevId {
    /// Major number: the driver.
    pub major: u32,
    /// Minor number: the disk or partition.
    pub minor: u32,
}

impl fmt::Display for DevId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl FromStr for DevId {
    type Err = ParseTextError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "the numbers of a device as MAJOR:MINOR, such as 259:0";
        let device = text.split_once(':').and_then(|(major, minor)| {
            let (major, minor) = (major.parse().ok()?, minor.parse().ok()?);
            Some(DevId { major, minor })
        });
        device.ok_or_else(|| ParseTextError::new(EXPECTED, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_print_with_a_fitting_unit() {
        let shown = [850, 43_120, 10_000_000, 2_500_000_000].map(|n| Nanos(n).to_string());
        assert_eq!(shown, ["850 ns", "43.1 us", "10.0 ms", "2.50 s"]);
    }

    /// 25841528 KiB is 24.644 GiB.
    #[test]
    fn sizes_that_were_found_are_rounded() {
        let sizes = [512, 25_841_528 << 10, 256 << 30, 1_920_383_410_176];
        let shown = sizes.map(|n| Bytes(n).in_short());
        assert_eq!(shown, ["512 B", "24.64 GiB", "256 GiB", "1.75 TiB"]);
    }

    #[test]
    fn sizes_print_exactly_or_in_bytes() {
        let shown = [512, 4096, 4097, 1 << 20].map(|n| Bytes(n).to_string());
        assert_eq!(shown, ["512 B", "4 KiB", "4097 B", "1 MiB"]);
    }

    #[test]
    fn later_minus_earlier_never_wraps() {
        assert_eq!(Nanos(5) - Nanos(9), Nanos::ZERO);
    }
}
