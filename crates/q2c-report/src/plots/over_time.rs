//! What the cells of a block size did over the time of one trial.

use super::NS_TO_US;
use super::cell_lines::CellLine;
use crate::plot::{Axis, Plot, Quantity, Series, Values, View};
use q2c_result::tune;

const QUANTITIES: [Quantity<tune::Series, Vec<Option<f64>>>; 4] = [
    Quantity::new("IOPS", "KIOPS", 1e-3, |s| s.rates.iops.clone()),
    Quantity::new("CPU", "CPU, % of one", 1.0, |s| s.rates.cpu_pct.clone()),
    Quantity::new("mean latency", "mean latency, us", NS_TO_US, |s| {
        s.mean_ns.iter().copied().map(Some).collect()
    }),
    Quantity::new("p99 latency", "p99 latency, us", NS_TO_US, |s| {
        s.p99_ns.iter().copied().map(Some).collect()
    }),
];

/// IOPS, CPU or latency of every cell over time, with the miss rate below.
pub(crate) fn throughput(lines: &[CellLine<'_>]) -> Plot {
    let view = |quantity: &Quantity<tune::Series, Vec<Option<f64>>>| {
        let upper = measured(lines).map(|line| {
            let series = &line.cell.series;
            let figures = numbers(&(quantity.of)(series), quantity.scale);
            line.series(time(series), figures, quantity.unit())
        });
        let sleeping = measured(lines).filter(|line| line.cell.sleeping);
        view(quantity.label, quantity.axis).series(upper.chain(sleeping.map(miss_rate)))
    };
    Plot::new("over-time", "Throughput and miss rate over time", 460)
        .note(
            "The trial with the median IOPS of each cell. A miss is an I/O that was complete before \
             its sleep ended; only sleeping cells can miss.",
        )
        .views(QUANTITIES.iter().map(view))
}

/// Sleep asked and time slept of each sleeping cell over time, with the miss rate below.
pub(crate) fn sleep(lines: &[CellLine<'_>]) -> Plot {
    let series_of = |line: &CellLine<'_>| {
        let series = &line.cell.series;
        let asked = numbers(&series.rates.effective_sleep_ns, NS_TO_US);
        let slept = Values::scaled(&series.slept_ns, NS_TO_US);
        [
            line.series(time(series), asked, "us asked"),
            line.series(time(series), slept, "us slept")
                .dash("dot")
                .unlisted(),
            miss_rate(line),
        ]
    };
    let sleeping = measured(lines).filter(|line| line.cell.sleeping);
    Plot::new("sleep-over-time", "Sleep and miss rate over time", 440)
        .note(
            "Solid: effective sleep (asked, over all I/Os). Dotted: slept, from call to return, over those that \
             slept. Where every I/O slept, the wake-up delay lies between them.",
        )
        .view(view("sleep", "sleep, us").series(sleeping.flat_map(series_of)))
}

fn view(label: &'static str, upper: &str) -> View {
    View::new(label, Axis::over_time("time, s"), Axis::new(upper))
        .above(Axis::from_zero("miss rate, %"))
}

fn measured<'a>(lines: &'a [CellLine<'a>]) -> impl Iterator<Item = &'a CellLine<'a>> {
    lines.iter().filter(|line| !line.cell.series.t_s.is_empty())
}

fn miss_rate(line: &CellLine<'_>) -> Series {
    let series = &line.cell.series;
    let rates = numbers(&series.rates.miss_rate, 100.0);
    line.series(time(series), rates, "% missed")
        .below()
        .unlisted()
}

/// The values of a series; a gap where there is no reading.
fn numbers(values: &[Option<f64>], scale: f64) -> Values {
    values
        .iter()
        .map(|value| value.map(|value| value * scale))
        .collect()
}

fn time(series: &tune::Series) -> Values {
    Values::scaled(&series.t_s, 1.0)
}
