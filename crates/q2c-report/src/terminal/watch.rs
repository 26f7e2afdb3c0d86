//! A watched workload, and the kernel's own hybrid polling, in a terminal: one line per interval.

use super::screen::printable;
use crate::late_time;
use crate::phrase::when;
use crate::quantity::{duration, iops, number, or_dash, percent};
use q2c_result::kernel_watch::KernelInterval;
use q2c_result::late::LateMisses;
use q2c_result::watch::{WatchInterval, WatchMethod, WatchNumbers};

/// A number of an interval: how to read it and how to write it.
pub struct Gauge {
    /// Name, used as the head of its column.
    pub name: &'static str,
    /// Reads the value, in the unit that `text` takes; `None` if the interval has none.
    pub value: GaugeValue,
    /// Writes a value as text with its unit.
    pub text: fn(f64) -> String,
    /// The largest possible value, if there is one (100 for percentages).
    pub top: Option<f64>,
}

type GaugeValue = fn(&WatchNumbers) -> Option<f64>;

const fn gauge(name: &'static str, value: GaugeValue, text: fn(f64) -> String) -> Gauge {
    let top = None;
    Gauge {
        name,
        value,
        text,
        top,
    }
}

const fn percent_gauge(name: &'static str, value: GaugeValue) -> Gauge {
    Gauge {
        top: Some(100.0),
        ..gauge(name, value, percent_text)
    }
}

/// All gauges, in the order of their columns.
pub static GAUGES: [Gauge; 7] = [
    gauge("IOPS", |n| n.rates.iops, iops),
    percent_gauge("missed", |n| Some(n.rates.miss_rate? * 100.0)),
    gauge("asked", |n| n.rates.effective_sleep_ns, duration),
    gauge("slept", |n| n.slept_ns, duration),
    percent_gauge("CPU", |n| n.rates.cpu_pct),
    gauge("p50", |n| n.p50_ns, duration),
    gauge("p99", |n| n.p99_ns, duration),
];

/// The parts of U2C that tell the sleep from the device. They follow [`GAUGES`] if the block layer
/// is captured.
pub static LATE_GAUGES: [Gauge; 4] = [
    gauge("device", |n| Some(n.late?.parts?.device_ns), duration),
    gauge("overslp", |n| Some(n.late?.parts?.oversleep_ns), duration),
    gauge("wake-up", |n| Some(n.late?.parts?.wakeup_ns), duration),
    gauge("beside", |n| Some(n.late?.beside_misses?.requests), number),
];

fn percent_text(value: f64) -> String {
    format!("{} %", number(value))
}

impl Gauge {
    /// The value of an interval as text; `-` if it has none.
    #[must_use]
    pub fn show(&self, numbers: &WatchNumbers) -> String {
        or_dash((self.value)(numbers).map(self.text))
    }
}

/// The short name of a method, with a suffix if background jobs ran.
pub(crate) fn method_title(method: &WatchMethod) -> String {
    let suffix = when(method.background, " + background");
    format!("{}{suffix}", method.method.brief())
}

/// The head of the lines of [`watch_line`].
#[must_use]
pub fn watch_head() -> String {
    let names = GAUGES.iter().map(|gauge| gauge.name).chain(["behind"]);
    columns_line("until", names.map(str::to_owned)) + "  method"
}

/// An interval as a line. The column `behind` has the IOPS of the background jobs.
#[must_use]
pub fn watch_line(interval: &WatchInterval, methods: &[WatchMethod]) -> String {
    let gauges = GAUGES.iter().map(|gauge| gauge.show(&interval.numbers));
    let background = or_dash(interval.numbers.background_iops.map(iops));
    let method = interval.method.and_then(|n| methods.get(n));
    let name = method.map_or("(changing)".to_owned(), method_title);
    let settling = when(method.is_some() && !interval.settled, " (settling)");
    let until = format!("{:.2} s", interval.end_s);
    let fields = columns_line(&until, gauges.chain([background]));
    format!("{fields}  {}{settling}", printable(&name))
}

/// The parts of U2C of an interval, as a line that follows [`watch_line`]; `None` if the block
/// layer is not captured.
#[must_use]
pub fn watch_late_line(interval: &WatchInterval) -> Option<String> {
    let late = interval.numbers.late.as_ref()?;
    let misses = late.miss_late_ns.map(|late_by| {
        let requests = late.beside_misses.map_or(0.0, |device| device.requests);
        let (late_by, requests) = (duration(late_by), number(requests));
        let spread = interval.misses.as_ref().map_or(String::new(), spread_text);
        format!("; misses late by {late_by}{spread}, beside {requests} requests")
    });
    let unmatched = late_time::unmatched_ios(late).map(|reasons| format!("; {reasons}"));
    let (misses, unmatched) = (misses.unwrap_or_default(), unmatched.unwrap_or_default());
    let parts = late_time::parts(late);
    Some(format!("{:>9}{parts}{misses}{unmatched}", ""))
}

fn spread_text(misses: &LateMisses) -> String {
    let lateness = &misses.lateness;
    let [p50, p99, most] = [lateness.p50_ns, lateness.p99_ns, lateness.max_ns].map(duration);
    format!(" (median {p50}, p99 {p99}, at most {most})")
}

/// A column: its name, and the text of an interval in it.
pub(crate) type KernelWatchColumn = (&'static str, fn(&KernelInterval) -> Option<String>);

pub(crate) static KERNEL_COLUMNS: [KernelWatchColumn; 9] = [
    ("delay", |i| Some(delay_text(i.io_poll_delay?))),
    ("IOPS", |i| i.rates.iops.map(iops)),
    ("slept for", |i| {
        (i.polled > 0).then(|| percent(i.slept as f64 / i.polled as f64))
    }),
    ("missed", |i| i.rates.miss_rate.map(percent)),
    ("effective", |i| i.rates.effective_sleep_ns.map(duration)),
    ("asked", |i| i.asked_ns.map(duration)),
    ("slept", |i| i.slept_ns.map(duration)),
    ("CPU", |i| Some(percent_text(i.rates.cpu_pct?))),
    ("threads", |i| Some(i.threads.to_string())),
];

fn delay_text(value: i64) -> String {
    match value {
        -1 => "classic".to_owned(),
        0 => "kernel".to_owned(),
        us => format!("{us} us"),
    }
}

/// The head of the lines of [`kernel_watch_line`].
#[must_use]
pub fn kernel_watch_head() -> String {
    let names = KERNEL_COLUMNS.iter();
    columns_line("until", names.map(|(name, _)| (*name).to_owned()))
}

/// An interval as a line. `until` is the text of the first column, the interval's end.
#[must_use]
pub fn kernel_watch_line(until: &str, interval: &KernelInterval) -> String {
    let fields = KERNEL_COLUMNS.iter();
    let fields = fields.map(|(_, get)| or_dash(get(interval)));
    let unknown = format!("  ({} of unknown outcome)", interval.unknown);
    columns_line(until, fields) + when(interval.unknown > 0, &unknown)
}

/// Fields in columns of fixed width, so that lines below each other align.
fn columns_line(first: &str, fields: impl Iterator<Item = String>) -> String {
    let fields: String = fields.map(|field| format!(" {field:>9}")).collect();
    printable(&format!("{first:>9}{fields}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{Rates, U2cParts};
    use q2c_result::late::{DeviceLoad, LateNumbers, MissLateness};

    fn numbers() -> WatchNumbers {
        WatchNumbers {
            rates: Rates {
                iops: Some(12_340.0),
                cpu_pct: Some(71.5),
                miss_rate: Some(0.125),
                effective_sleep_ns: Some(21_100.0),
            },
            p50_ns: Some(80_900.0),
            p99_ns: Some(2.5e6),
            background_iops: Some(850.0),
            ..WatchNumbers::default()
        }
    }

    #[test]
    fn a_line_stands_below_its_head() {
        let interval = WatchInterval {
            end_s: 1.25,
            method: Some(0),
            settled: false,
            numbers: numbers(),
            ..WatchInterval::default()
        };
        let method = WatchMethod::new("hybrid:min:70%,10ms".parse().unwrap(), true);
        let line = watch_line(&interval, &[method]);
        let wanted = "   1.25 s    12.3 K    12.5 %   21.1 us         -    71.5 %   80.9 us   2.50 ms       850  \
                      min:ratio=70%,period=10ms + background (settling)";
        assert_eq!(line, wanted);
        let end = |text: &str, word: &str| text.find(word).map(|at| at + word.len());
        assert_eq!(end(&watch_head(), "p99"), end(&line, "2.50 ms"));
        assert!(watch_line(&WatchInterval::default(), &[]).ends_with("(changing)"));
    }

    #[test]
    fn late_time_stands_below_its_line() {
        let mut interval = WatchInterval {
            numbers: numbers(),
            ..WatchInterval::default()
        };
        assert_eq!(watch_late_line(&interval), None);
        interval.numbers.late = Some(LateNumbers {
            matched: 10,
            parts: Some(U2cParts {
                submission_ns: 10e3,
                device_ns: 60e3,
                return_ns: 0.0,
                oversleep_ns: 15e3,
                wakeup_ns: 5e3,
                reap_ns: 1e3,
            }),
            overslept: 4,
            misses: 4,
            miss_late_ns: Some(50e3),
            beside_misses: Some(DeviceLoad {
                requests: 1.5,
                bytes: 6_144.0,
            }),
            ..LateNumbers::default()
        });
        interval.misses = Some(LateMisses {
            lateness: MissLateness {
                mean_ns: 50e3,
                p50_ns: 10e3,
                p99_ns: 170e3,
                max_ns: 2e6,
            },
            ..LateMisses::default()
        });
        let line = watch_late_line(&interval).expect("late time");
        let wanted = "         U2C 91.0 us = submission 10.0 us + device 60.0 us + return 0 ns + oversleep 15.0 us + \
                      wake-up 5.00 us + reap 1.00 us; misses late by 50.0 us \
                      (median 10.0 us, p99 170 us, at most 2.00 ms), beside 1.50 requests";
        assert_eq!(line, wanted);
        let shown = LATE_GAUGES
            .each_ref()
            .map(|gauge| gauge.show(&interval.numbers));
        assert_eq!(shown, ["60.0 us", "15.0 us", "5.00 us", "1.50"]);
    }

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
        let is_told = line.contains(" - ") && line.ends_with("(3 of unknown outcome)");
        assert!(is_told, "{line}");
        assert_eq!(kernel_watch_head().len(), wanted.len());
    }
}
