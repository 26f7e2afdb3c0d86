//! The I/Os and bytes per second of a trace, and the shares of reads and writes, in words.

use crate::quantity::{duration, iops, number, percent};
use q2c_model::facts::{STATED_BYTES, STATED_OP};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TrafficRates {
    ios: u64,
    reads: TrafficCount,
    writes: TrafficCount,
    span_ns: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct TrafficCount {
    ios: u64,
    bytes: u64,
}

impl TrafficRates {
    /// The rates of `ios` I/Os of any operation in `span_ns`. `ops` has the name, the number of
    /// I/Os and the bytes of each operation.
    pub(crate) fn from_ops<'a>(
        ops: impl Iterator<Item = (&'a str, u64, u64)>,
        ios: u64,
        span_ns: u64,
    ) -> Self {
        let mut rates = TrafficRates {
            ios,
            span_ns,
            ..TrafficRates::default()
        };
        for (op, ios, bytes) in ops {
            match op {
                "read" => rates.reads = TrafficCount { ios, bytes },
                "write" => rates.writes = TrafficCount { ios, bytes },
                // Other operations move no data, even if they have a length, as a discard has.
                _ => {}
            }
        }
        rates
    }

    /// The rates as headings with a sentence each; none if the trace has no I/O. Its `facts` tell
    /// which values a user stated because the source did not have them.
    pub(crate) fn sentences(
        &self,
        facts: &BTreeMap<String, String>,
    ) -> Vec<(&'static str, String)> {
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
        let share = |part: u64, whole: u64| percent(part as f64 / whole as f64);
        let (reads, writes) = (self.reads.ios, self.writes.ios);
        let others = self.ios.saturating_sub(reads + writes);
        let (reads, writes) = (share(reads, self.ios), share(writes, self.ios));
        let mut text = format!("of the I/Os {reads} are reads and {writes} writes");
        if others > 0 {
            text += &format!(" ({} other operations)", share(others, self.ios));
        }
        let total = self.bytes();
        if total > 0 {
            let [read, written] =
                [self.reads.bytes, self.writes.bytes].map(|bytes| share(bytes, total));
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
    fn what_cannot_be_known_is_not_made_up() {
        let no_facts = BTreeMap::new();
        assert!(
            TrafficRates::from_ops(std::iter::empty(), 0, 7)
                .sentences(&no_facts)
                .is_empty()
        );
        let sentences =
            TrafficRates::from_ops([("flush", 3, 0)].into_iter(), 3, 0).sentences(&no_facts);
        assert!(sentences[0].1.starts_with("unknown"), "{sentences:?}");
        assert!(
            sentences[1]
                .1
                .contains(" 0 % are reads and 0 % writes (100 %"),
            "{sentences:?}"
        );
    }
}
