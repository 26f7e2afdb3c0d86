//! The statistics of a window that a formula can read.

use std::fmt;

/// One statistic of a bucket's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Statistic {
    /// Number of completions.
    Count,
    /// Mean observed time.
    Mean,
    /// Shortest observed time.
    Min,
    /// Longest observed time.
    Max,
    /// Observed time of the last completion.
    Last,
    /// The observed time that this percentage of the times, 1 to 99, do not exceed.
    Percentile(u8),
    /// Left mean deviation: how far times lie below the previous window's mean, averaged over all.
    Lmd,
    /// Number of misses: completions whose sleep ended too late.
    Misses,
}

pub(super) const NAMES: &str = "count, mean, min, max, last, p01 to p99, lmd, misses";

const NAMED: [(&str, Statistic); 7] = [
    ("count", Statistic::Count),
    ("mean", Statistic::Mean),
    ("min", Statistic::Min),
    ("max", Statistic::Max),
    ("last", Statistic::Last),
    ("lmd", Statistic::Lmd),
    ("misses", Statistic::Misses),
];

impl Statistic {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        let known = NAMED.iter().find(|(known, _)| *known == name);
        let known = known.map(|(_, statistic)| *statistic);
        known.or_else(|| Some(Statistic::Percentile(percent(name)?)))
    }

    /// Whether the statistic is a time; else it is a count.
    pub(crate) fn is_time(self) -> bool {
        !matches!(self, Statistic::Count | Statistic::Misses)
    }
}

fn percent(name: &str) -> Option<u8> {
    let digits = name.strip_prefix('p').filter(|digits| digits.len() == 2)?;
    let all_digits = digits.bytes().all(|b| b.is_ascii_digit());
    let percent = digits.parse().ok();
    percent.filter(|&percent| all_digits && percent > 0)
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statistic::Percentile(percent) => write!(f, "p{percent:02}"),
            other => {
                let known = NAMED.iter().find(|(_, statistic)| statistic == other);
                f.write_str(known.map_or("", |(name, _)| name))
            }
        }
    }
}
