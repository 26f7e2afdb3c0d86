//! A disk's statistics, from its `stat` file in sysfs.

use q2c_model::{Exit, Fault, OrFault, Sectors};
use std::path::Path;

/// Counters of one operation (reads, writes or discards) since the disk came up, or their
/// difference over an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpStats {
    /// Block-layer requests completed.
    pub requests: u64,
    /// Bios merged into others before they became requests.
    pub merges: u64,
    /// Sectors of all completed requests together.
    pub sectors: Sectors,
    /// Sum of the requests' times, milliseconds.
    pub time_ms: u64,
}

/// The disk's counters since it came up, or their difference over an interval. While the queue's
/// `iostats` is 0 the kernel does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskStats {
    /// Reads.
    pub read: OpStats,
    /// Writes.
    pub write: OpStats,
    /// Discards; `None` before Linux 4.18.
    pub discard: Option<OpStats>,
    /// Flushes and their summed time in milliseconds; `None` before Linux 5.5.
    pub flush: Option<(u64, u64)>,
    /// Requests in flight at the moment of reading; in a difference, at that of the later reading.
    pub in_flight: u64,
    /// Time with at least one request in flight, milliseconds.
    pub busy_ms: u64,
    /// Requests in flight, integrated over time: request-milliseconds.
    pub queue_ms: u64,
}

impl DiskStats {
    /// Reads `stat` in a disk's folder of sysfs.
    pub fn read(disk: &Path) -> Result<DiskStats, Fault> {
        let path = disk.join("stat");
        let tried = format!("read the disk statistics {}", path.display());
        let text = std::fs::read_to_string(&path).or_fault(Exit::Environment, &tried)?;
        DiskStats::parse(&text).ok_or_else(|| {
            let text = format!("{tried}: expected 11, 15 or 17 numbers, found {text:?}");
            Fault::new(Exit::Environment, text)
        })
    }

    /// Parses the text of a `stat` file: 11 numbers on old kernels, 15 with discards, 17 with
    /// flushes. `None` for fewer numbers or other text.
    pub(crate) fn parse(text: &str) -> Option<DiskStats> {
        let numbers: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
        let numbers = numbers.ok()?;
        let op = |at: usize| match *numbers.get(at..at + 4)? {
            [requests, merges, sectors, time_ms] => Some(OpStats {
                requests,
                merges,
                sectors: Sectors(sectors),
                time_ms,
            }),
            _ => None,
        };
        Some(DiskStats {
            read: op(0)?,
            write: op(4)?,
            in_flight: *numbers.get(8)?,
            busy_ms: *numbers.get(9)?,
            queue_ms: *numbers.get(10)?,
            discard: op(11),
            flush: numbers.get(15).copied().zip(numbers.get(16).copied()),
        })
    }

    /// The difference between this reading and an `earlier` one of the same disk.
    pub fn since(&self, earlier: &DiskStats) -> DiskStats {
        let flush = |((n, ms), (n_before, ms_before)): ((u64, u64), (u64, u64))| {
            (increase(n, n_before), increase(ms, ms_before))
        };
        DiskStats {
            read: self.read.since(earlier.read),
            write: self.write.since(earlier.write),
            discard: self.discard.zip(earlier.discard).map(|(b, a)| b.since(a)),
            flush: self.flush.zip(earlier.flush).map(flush),
            in_flight: self.in_flight,
            busy_ms: increase(self.busy_ms, earlier.busy_ms),
            queue_ms: increase(self.queue_ms, earlier.queue_ms),
        }
    }
}

impl OpStats {
    fn since(self, earlier: OpStats) -> OpStats {
        OpStats {
            requests: increase(self.requests, earlier.requests),
            merges: increase(self.merges, earlier.merges),
            sectors: Sectors(increase(self.sectors.0, earlier.sectors.0)),
            time_ms: increase(self.time_ms, earlier.time_ms),
        }
    }
}

/// The increase of a counter. The kernel keeps times as 32 bits of ms, which wrap after 49.7 days.
/// No counter decreases, so a smaller number is taken for one wrap.
fn increase(now: u64, before: u64) -> u64 {
    now.checked_sub(before)
        .unwrap_or_else(|| (now + (1 << 32)).saturating_sub(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_by_age_of_the_kernel() {
        let old = DiskStats::parse("1 2 3 4 5 6 7 8 9 10 11").unwrap();
        let counts = (old.read.requests, old.write.sectors.0, old.queue_ms);
        assert_eq!(counts, (1, 7, 11));
        assert_eq!((old.discard, old.flush), (None, None));
        let new = DiskStats::parse("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n").unwrap();
        assert_eq!(new.discard.unwrap().requests, 12);
        assert_eq!(new.flush, Some((16, 17)));
        assert_eq!(DiskStats::parse("1 2 3 4 5 6 7 8 9 10"), None);
        assert_eq!(DiskStats::parse("1 2 3 4 5 6 7 8 9 10 x"), None);
    }

    #[test]
    fn a_difference_survives_the_32_bit_wrap_of_times() {
        let a = DiskStats::parse("100 0 800 4294967290 0 0 0 0 3 50 60").unwrap();
        let b = DiskStats::parse("150 1 1200 4 0 0 0 0 1 70 90").unwrap();
        let d = b.since(&a);
        let read = (d.read.requests, d.read.merges, d.read.sectors.0);
        assert_eq!(read, (50, 1, 400));
        let times = (d.read.time_ms, d.in_flight, d.busy_ms, d.queue_ms);
        assert_eq!(times, (10, 1, 20, 30));
    }
}
