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

impl Statistic {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "count" => Statistic::Count,
            "mean" => Statistic::Mean,
            "min" => Statistic::Min,
            "max" => Statistic::Max,
            "last" => Statistic::Last,
            "lmd" => Statistic::Lmd,
            "misses" => Statistic::Misses,
            _ => Statistic::Percentile(percent(name)?),
        })
    }

    /// Whether the statistic is a time; else it is a count.
    #[must_use]
    pub(crate) fn is_time(self) -> bool {
        !matches!(self, Statistic::Count | Statistic::Misses)
    }
}

fn percent(name: &str) -> Option<u8> {
    let digits = name.strip_prefix('p').filter(|digits| digits.len() == 2)?;
    let all_digits = digits.bytes().all(|b| b.is_ascii_digit());
    digits
        .parse()
        .ok()
        .filter(|&percent| all_digits && percent > 0)
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Statistic::Count => "count",
            Statistic::Mean => "mean",
            Statistic::Min => "min",
            Statistic::Max => "max",
            Statistic::Last => "last",
            Statistic::Percentile(percent) => return write!(f, "p{percent:02}"),
            Statistic::Lmd => "lmd",
            Statistic::Misses => "misses",
        };
        f.write_str(name)
    }
}
