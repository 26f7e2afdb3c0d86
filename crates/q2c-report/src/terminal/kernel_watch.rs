//! Watching the kernel's own hybrid polling in a terminal: a line per interval.

use super::screen::printable;
use crate::quantity::{duration, iops, number, or_nothing, percent};
use q2c_result::kernel_watch::KernelInterval;

/// A column: its name, and the text of an interval in it.
pub(crate) type KernelWatchColumn = (&'static str, fn(&KernelInterval) -> Option<String>);

static COLUMNS: [KernelWatchColumn; 9] = [
    ("delay", |i| Some(delay(i.io_poll_delay?))),
    ("IOPS", |i| i.rates.iops.map(iops)),
    ("slept for", |i| share(i.slept, i.polled)),
    ("missed", |i| i.rates.miss_rate.map(percent)),
    ("effective", |i| i.rates.effective_sleep_ns.map(duration)),
    ("asked", |i| i.asked_ns.map(duration)),
    ("slept", |i| i.slept_ns.map(duration)),
    ("CPU", |i| Some(format!("{} %", number(i.rates.cpu_pct?)))),
    ("threads", |i| Some(i.threads.to_string())),
];

fn delay(value: i64) -> String {
    match value {
        -1 => "classic".to_owned(),
        0 => "kernel".to_owned(),
        us => format!("{us} us"),
    }
}

fn share(part: u64, all: u64) -> Option<String> {
    (all > 0).then(|| percent(part as f64 / all as f64))
}

/// The head of the lines of [`kernel_watch_line`].
#[must_use]
pub fn kernel_watch_head() -> String {
    line("until", COLUMNS.iter().map(|(name, _)| (*name).to_owned()))
}

pub(crate) fn kernel_columns() -> impl Iterator<Item = &'static KernelWatchColumn> {
    COLUMNS.iter()
}

/// An interval in a line. `until` is the text of the first column, the interval's end.
#[must_use]
pub fn kernel_watch_line(until: &str, interval: &KernelInterval) -> String {
    let fields = COLUMNS.iter().map(|(_, get)| or_nothing(get(interval)));
    let text = line(until, fields);
    match interval.unknown {
        0 => text,
        n => format!("{text}  ({n} of unknown outcome)"),
    }
}

fn line(first: &str, fields: impl Iterator<Item = String>) -> String {
    let fields: String = fields.map(|field| format!(" {field:>9}")).collect();
    printable(&format!("{first:>9}{fields}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Rates;

    #[test]
    fn a_line_stands_under_its_head() {
        let interval = KernelInterval {
            io_poll_delay: Some(0),
            polled: 2_000,
            slept: 1_000,
            rates: Rates {
                iops: Some(2_000.0),
                cpu_pct: Some(61.0),
                miss_rate: Some(0.125),
                effective_sleep_ns: Some(20_500.0),
            },
            asked_ns: Some(41_000.0),
            slept_ns: Some(52_000.0),
            threads: 2,
            ..KernelInterval::default()
        };
        let wanted = "   1.00 s    kernel    2.00 K    50.0 %    12.5 %   20.5 us   41.0 us   52.0 us    61.0 %         2";
        assert_eq!(kernel_watch_line("1.00 s", &interval), wanted);
        let lost = KernelInterval {
            unknown: 3,
            ..KernelInterval::default()
        };
        let line = kernel_watch_line("2.00 s", &lost);
        assert!(
            line.contains(" - ") && line.ends_with("(3 of unknown outcome)"),
            "{line}"
        );
        assert_eq!(kernel_watch_head().len(), wanted.len());
    }
}
