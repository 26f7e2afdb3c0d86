//! A watched workload in a terminal: a line per interval.

use super::screen::printable;
use crate::late;
use crate::phrase::when;
use crate::quantity::{self, duration, number, or_nothing};
use q2c_result::late::LateMisses;
use q2c_result::watch::{WatchInterval, WatchMethod, WatchNumbers};

/// A number of an interval: how to read it and how to show it.
pub struct Gauge {
    /// Name, used as the head of its column.
    pub name: &'static str,
    /// Reads the value, in the unit that `text` takes; `None` when the interval has none.
    pub value: fn(&WatchNumbers) -> Option<f64>,
    /// Writes a value as text with its unit.
    pub text: fn(f64) -> String,
    /// The largest possible value, where there is one (100 for percentages).
    pub top: Option<f64>,
}

const fn gauge(
    name: &'static str,
    value: fn(&WatchNumbers) -> Option<f64>,
    text: fn(f64) -> String,
) -> Gauge {
    Gauge {
        name,
        value,
        text,
        top: None,
    }
}

const fn share(name: &'static str, value: fn(&WatchNumbers) -> Option<f64>) -> Gauge {
    Gauge {
        top: Some(100.0),
        ..gauge(name, value, percent)
    }
}

/// All gauges, in the order of their columns.
pub static GAUGES: [Gauge; 7] = [
    gauge("IOPS", |n| n.rates.iops, quantity::iops),
    share("missed", |n| Some(n.rates.miss_rate? * 100.0)),
    gauge("asked", |n| n.rates.effective_sleep_ns, duration),
    gauge("slept", |n| n.slept_ns, duration),
    share("CPU", |n| n.rates.cpu_pct),
    gauge("p50", |n| n.p50_ns, duration),
    gauge("p99", |n| n.p99_ns, duration),
];

/// The parts of U2C that tell sleep and device apart, shown beside [`GAUGES`] where the block layer
/// is captured.
pub static LATE_GAUGES: [Gauge; 4] = [
    gauge("device", |n| Some(n.late?.parts?.device_ns), duration),
    gauge("overslp", |n| Some(n.late?.parts?.oversleep_ns), duration),
    gauge("wake-up", |n| Some(n.late?.parts?.wakeup_ns), duration),
    gauge("beside", |n| Some(n.late?.beside_misses?.requests), number),
];

fn percent(value: f64) -> String {
    format!("{} %", number(value))
}

impl Gauge {
    /// The value of an interval as text; `-` when it has none.
    #[must_use]
    pub fn show(&self, numbers: &WatchNumbers) -> String {
        or_nothing((self.value)(numbers).map(self.text))
    }
}

/// The short name of a method, with a mark when background jobs ran beside it.
pub(crate) fn method_title(method: &WatchMethod) -> String {
    let with = when(method.background, " + background");
    format!("{}{with}", method.method.brief())
}

/// The head of the lines of [`watch_line`].
#[must_use]
pub fn watch_head() -> String {
    let names = GAUGES.iter().map(|gauge| format!(" {:>9}", gauge.name));
    let names: String = names.collect();
    format!("{:>9}{names} {:>9}  method", "until", "behind")
}

/// An interval in a line. The column `behind` has the IOPS of the background jobs.
#[must_use]
pub fn watch_line(interval: &WatchInterval, methods: &[WatchMethod]) -> String {
    let fields = GAUGES.iter().map(|gauge| gauge.show(&interval.numbers));
    let fields: String = fields.map(|field| format!(" {field:>9}")).collect();
    let behind = or_nothing(interval.numbers.background_iops.map(quantity::iops));
    let method = interval.method.and_then(|n| methods.get(n));
    let mut name = method.map_or("(changing)".to_owned(), method_title);
    if method.is_some() && !interval.settled {
        name += " (settling)";
    }
    let until = format!("{:.2} s", interval.end_s);
    printable(&format!("{until:>9}{fields} {behind:>9}  {name}"))
}

/// The parts of U2C of an interval in a line that stands below [`watch_line`]; `None` where the
/// block layer is not captured.
#[must_use]
pub fn watch_late_line(interval: &WatchInterval) -> Option<String> {
    let late = interval.numbers.late.as_ref()?;
    let misses = late.miss_late_ns.map(|over| {
        let beside = late.beside_misses.map_or(0.0, |device| device.requests);
        let (over, beside) = (duration(over), number(beside));
        let spread = interval.misses.as_ref().map_or(String::new(), spread);
        format!("; misses late by {over}{spread}, beside {beside} requests")
    });
    let unmatched = late::unmatched(late).map(|reasons| format!("; {reasons}"));
    let text: String = [Some(late::numbers(late)), misses, unmatched]
        .into_iter()
        .flatten()
        .collect();
    Some(format!("{:>9}{text}", ""))
}

fn spread(misses: &LateMisses) -> String {
    let lateness = &misses.lateness;
    let [p50, p99, most] = [lateness.p50_ns, lateness.p99_ns, lateness.max_ns].map(duration);
    format!(" (median {p50}, p99 {p99}, at most {most})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{Rates, U2cParts};
    use q2c_policy::method::Means;
    use q2c_result::late::{LateNumbers, MissLateness, OnDevice};
    use q2c_result::mode::{ModeKind, WaitMode};

    fn numbers() -> WatchNumbers {
        WatchNumbers {
            rates: Rates {
                iops: Some(12_340.0),
                cpu_pct: Some(71.5),
                miss_rate: Some(0.125),
                effective_sleep_ns: Some(21_100.0),
            },
            slept_ns: None,
            p50_ns: Some(80_900.0),
            p99_ns: Some(2.5e6),
            switches_per_io: 1.0,
            interrupts_per_io: None,
            background_iops: Some(850.0),
            late: None,
        }
    }

    fn method() -> WatchMethod {
        WatchMethod {
            method: "hybrid:min:70%,10ms".parse().unwrap(),
            background: true,
            was: Some(WaitMode::by(ModeKind::Hybrid, Some(Means::Ring))),
            intervals: 3,
            settling: 1,
            median: Some(numbers()),
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
        let line = watch_line(&interval, &[method()]);
        let wanted = "   1.25 s    12.3 K    12.5 %   21.1 us         -    71.5 %   80.9 us   2.50 ms       850  \
                      min:ratio=70%,period=10ms + background (settling)";
        assert_eq!(line, wanted);
        let end = |text: &str, word: &str| text.find(word).map(|at| at + word.len());
        assert_eq!(end(&watch_head(), "p99"), end(&line, "2.50 ms"));
        let none = WatchInterval::default();
        assert!(watch_line(&none, &[]).ends_with("(changing)"));
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
            beside_misses: Some(OnDevice {
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
        let shown: Vec<String> = LATE_GAUGES
            .iter()
            .map(|gauge| gauge.show(&interval.numbers))
            .collect();
        assert_eq!(shown, ["60.0 us", "15.0 us", "5.00 us", "1.50"]);
    }
}
