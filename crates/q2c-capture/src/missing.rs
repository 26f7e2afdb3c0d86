//! What a recording lacks, in the same form for BPF and tracefs.

use std::collections::BTreeMap;

/// Counts of I/Os that are in no record, and facts about the recording, as a trace keeps them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// I/Os that should be in the trace and are not; in a recording by tracefs, events that the
    /// kernel lost.
    pub lost: u64,
    /// I/Os that completed without having been seen queued: they were in flight when the recording
    /// began, or the kernel did not show their queueing.
    pub unqueued: u64,
    /// Counts by reason of everything that is in no record; the lost I/Os are among them.
    pub reasons: BTreeMap<String, u64>,
    /// Other counts of the recording, such as merges, by their name in the trace
    /// (`capture.merged`).
    pub facts: BTreeMap<String, String>,
}

impl Missing {
    /// What this part of a recording and the one after it lack together.
    pub(crate) fn and(mut self, later: Missing) -> Missing {
        self.lost += later.lost;
        self.unqueued += later.unqueued;
        for (reason, n) in later.reasons {
            *self.reasons.entry(reason).or_default() += n;
        }
        for (name, text) in later.facts {
            let number = |text: &str| text.parse::<u64>().ok();
            let before = self.facts.get(&name).and_then(|text| number(text));
            let both = before.zip(number(&text)).map(|(a, b)| (a + b).to_string());
            self.facts.insert(name, both.unwrap_or(text));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_parts_lack_what_both_lack() {
        let part = |lost, reason: &str, merged: &str| Missing {
            lost,
            unqueued: 1,
            reasons: BTreeMap::from([(reason.to_owned(), 2), ("both".to_owned(), 3)]),
            facts: BTreeMap::from([("capture.merged".to_owned(), merged.to_owned())]),
        };
        let both = part(5, "one", "40").and(part(6, "other", "2"));
        assert_eq!((both.lost, both.unqueued), (11, 2));
        let reasons: Vec<(&str, u64)> =
            both.reasons.iter().map(|(w, n)| (w.as_str(), *n)).collect();
        assert_eq!(reasons, [("both", 6), ("one", 2), ("other", 2)]);
        assert_eq!(both.facts["capture.merged"], "42");
        assert_eq!(
            Missing::default().and(part(5, "one", "no number")),
            part(5, "one", "no number")
        );
    }
}
