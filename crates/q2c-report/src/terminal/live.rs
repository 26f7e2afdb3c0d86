//! A running capture in a terminal: one line per interval, or a view of the whole screen that
//! replaces the view before it.

mod sections;
mod view;

pub use view::{LiveView, live};

use crate::analysis::{ORDER, time};
use crate::most_time;
use crate::phrase::listed;
use crate::quantity::{self, NOTHING, count, number};
use q2c_result::analyze::StageStats;
use q2c_result::live::LiveInterval;

const HEAD: &str =
    "     until       IOPS      MiB/s  in flight       mean        p50        p99     lost";
/// The stage whose times are in the columns mean, p50 and p99.
const WHOLE: &str = "Q2C";

/// The head of the lines of [`live_line`].
#[must_use]
pub fn live_head() -> String {
    format!("{HEAD}  stage with most time, before the device; mean, p50, p99 of stages")
}

/// An interval as a line. The columns of times show Q2C.
#[must_use]
pub fn live_line(interval: &LiveInterval) -> String {
    let whole = interval.stages.get(WHOLE);
    let stage_time =
        |get: fn(&StageStats) -> f64| whole.map_or(NOTHING.to_owned(), |s| time(get(s)));
    let columns = format!(
        "{:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8}",
        quantity::seconds(interval.end_s),
        quantity::iops(interval.iops),
        number(interval.mib_s),
        number(interval.in_flight_mean),
        stage_time(|s| s.mean_ns),
        stage_time(|s| s.p50_ns),
        stage_time(|s| s.p99_ns),
        count(interval.lost),
    );
    let stages = parts(interval).map(|(name, s)| {
        let times = [s.mean_ns, s.p50_ns, s.p99_ns].map(time);
        format!("{name} {}", times.join(" "))
    });
    let bottleneck = interval.bottleneck.as_ref().map(most_time::in_short);
    let bottleneck = bottleneck.map(|words| format!("  {words}; {}", listed(stages)));
    columns + &bottleneck.unwrap_or_default()
}

/// The stages within Q2C that at least one I/O of the interval has.
fn parts(interval: &LiveInterval) -> impl Iterator<Item = (&'static str, &StageStats)> {
    let names = ORDER.into_iter();
    let names = names.filter(|name| !["Q2Q", WHOLE].contains(name));
    names.filter_map(|name| Some((name, interval.stages.get(name)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::analyze::Bottleneck;

    fn interval() -> LiveInterval {
        let stage = |mean_ns| StageStats {
            n: 3,
            mean_ns,
            p50_ns: 2_000.0,
            p99_ns: 9_000.0,
            max_ns: 9_000,
            ..StageStats::default()
        };
        let stages = [("Q2G", 500.0), ("D2C", 3e3), ("Q2C", 3_500.0), ("Q2Q", 1.0)];
        let stages = stages.map(|(name, mean)| (name.to_owned(), stage(mean)));
        LiveInterval {
            end_s: 2.0,
            iops: 1_500.0,
            in_flight_mean: 1.5,
            in_flight_now: 7,
            stages: stages.into(),
            bottleneck: Some(Bottleneck {
                stage: "D2C".to_owned(),
                share: 0.86,
                why: "driver and device".to_owned(),
                shares: [("Q2G", 0.14), ("D2C", 0.86)]
                    .map(|(name, share)| (name.to_owned(), share))
                    .into(),
                ..Bottleneck::default()
            }),
            lost: 4,
            ..LiveInterval::default()
        }
    }

    #[test]
    fn a_line_has_the_columns_of_its_head() {
        let (head, line) = (live_head(), live_line(&interval()));
        let at = head.find("lost").unwrap() + 4;
        assert_eq!(&line[at - 1..at], "4", "{head}\n{line}");
        let bottleneck = "  D2C 86.0 %, before it Q2G 14.0 %; ";
        assert!(line.contains(bottleneck) && !line.contains("Q2Q"), "{line}");
        let [first, last] = [line.find("Q2G "), line.rfind("D2C ")];
        assert!(first.is_some() && first < last, "{line}");
        let idle = live_line(&LiveInterval::default());
        assert_eq!(idle.matches(NOTHING).count(), 3, "{idle}");
    }
}
