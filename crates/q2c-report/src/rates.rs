//! How many I/Os and bytes a trace has in a second, and how many of them are reads and writes, in
//! words.

use crate::quantity::{duration, iops, number, percent};
use q2c_model::facts::{STATED_BYTES, STATED_OP};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rates {
    ios: u64,
    reads: Moved,
    writes: Moved,
    span_ns: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Moved {
    ios: u64,
    bytes: u64,
}

impl Rates {
    /// The rates of `ios` I/Os of any operation in `span_ns`; `ops` has the name, the I/Os and the
    /// bytes of each operation.
    pub(crate) fn of<'a>(
        ops: impl Iterator<Item = (&'a str, u64, u64)>,
        ios: u64,
        span_ns: u64,
    ) -> Self {
        let mut all = Rates {
            ios,
            span_ns,
            ..Rates::default()
        };
        for (op, ios, bytes) in ops {
            match op {
                "read" => all.reads = Moved { ios, bytes },
                "write" => all.writes = Moved { ios, bytes },
                // Other operations move no data: the length of a discard is none that was moved.
                _ => {}
            }
        }
        all
    }

    /// The rates as headings with a sentence each; none without an I/O. The facts of the trace tell
    /// what was stated for all of its I/Os.
    pub(crate) fn told(&self, facts: &BTreeMap<String, String>) -> Vec<(&'static str, String)> {
        if self.ios == 0 {
            return Vec::new();
        }
        let (mut rate, mut shares) = (self.rate(), self.shares());
        if facts.contains_key(STATED_BYTES) {
            rate += "; the size of the I/Os was stated, not read from the source, so bytes are no finding";
        }
        if facts.contains_key(STATED_OP) {
            shares += "; the operation of the I/Os was stated, not read from the source";
        }
        vec![("rate", rate), ("reads and writes", shares)]
    }

    fn rate(&self) -> String {
        if self.span_ns == 0 {
            return "unknown: all times of the trace are equal".to_owned();
        }
        let seconds = self.span_ns as f64 / 1e9;
        let mib = self.bytes() as f64 / f64::from(1 << 20);
        format!(
            "{} I/Os and {} MiB per second, over the {} from the trace's first event to its last",
            iops(self.ios as f64 / seconds),
            number(mib / seconds),
            duration(self.span_ns as f64)
        )
    }

    fn shares(&self) -> String {
        let share = |part: u64, of: u64| percent(part as f64 / of as f64);
        let (reads, writes) = (self.reads.ios, self.writes.ios);
        let others = self.ios.saturating_sub(reads + writes);
        let (reads, writes) = (share(reads, self.ios), share(writes, self.ios));
        let mut text = format!("of the I/Os {reads} are reads and {writes} writes");
        if others > 0 {
            text += &format!(" ({} other operations)", share(others, self.ios));
        }
        let all = self.bytes();
        if all > 0 {
            let (read, written) = (share(self.reads.bytes, all), share(self.writes.bytes, all));
            text += &format!("; of the bytes {read} were read and {written} written");
        }
        text
    }

    fn bytes(&self) -> u64 {
        self.reads.bytes.saturating_add(self.writes.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_shares_are_told_by_ios_and_by_bytes() {
        let ops = [
            ("discard", 100, 1 << 30),
            ("read", 600, 600 * 4096),
            ("write", 300, 300 * 8192),
        ];
        let told = Rates::of(ops.into_iter(), 1_000, 500_000_000).told(&BTreeMap::new());
        let rate = "2.00 K I/Os and 9.38 MiB per second, over the 500 ms from the trace's first \
                    event to its last";
        let shares = "of the I/Os 60.0 % are reads and 30.0 % writes (10.0 % other operations); \
                      of the bytes 50.0 % were read and 50.0 % written";
        assert_eq!([&*told[0].1, &*told[1].1], [rate, shares]);
    }

    #[test]
    fn what_was_stated_is_no_finding() {
        let rates = Rates::of([("read", 10, 40_960)].into_iter(), 10, 1_000);
        let facts = [STATED_BYTES, STATED_OP].map(|name| (name.to_owned(), "4096".to_owned()));
        let told = rates.told(&facts.into());
        assert!(told[0].1.ends_with("so bytes are no finding"), "{told:?}");
        assert!(
            told[1].1.contains("operation of the I/Os was stated"),
            "{told:?}"
        );
    }

    #[test]
    fn what_cannot_be_known_is_not_made_up() {
        let none = BTreeMap::new();
        assert!(Rates::of(std::iter::empty(), 0, 7).told(&none).is_empty());
        let told = Rates::of([("flush", 3, 0)].into_iter(), 3, 0).told(&none);
        assert!(told[0].1.starts_with("unknown"), "{told:?}");
        assert!(
            told[1].1.contains(" 0 % are reads and 0 % writes (100 %"),
            "{told:?}"
        );
    }
}
