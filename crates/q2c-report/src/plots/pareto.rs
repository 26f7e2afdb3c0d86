//! IOPS against CPU of every configuration, with the Pareto front.

use super::tune::CellLine;
use crate::phrase::when;
use crate::plot::{Plot, PlotAxis, PlotMark, PlotSeries, SeriesShape, View, Whiskers, hue};
use crate::quantity::count;
use q2c_result::tune::{Prediction, Sweep, SweepCell};

/// The sweep's cells as dots, the Pareto front as a line, and the measured cells with their
/// intervals.
pub(crate) fn plot(sweep: Option<&Sweep>, lines: &[CellLine<'_>]) -> Plot {
    let lines = lines.iter();
    let measured = lines.filter(|line| line.cell.measured.rates.iops.trials > 0);
    let measured: Vec<PlotSeries> = measured.map(self::measured).collect();
    let floor = sweep.filter(|sweep| sweep.floor_iops > 0.0);
    let x = PlotAxis::from_zero("CPU of the jobs, % of one");
    let note = note(sweep, !measured.is_empty());
    let view = View::new("all", x, PlotAxis::new("KIOPS"))
        .series(sweep.map(simulated).into_iter().flatten())
        .series(measured)
        .marks(floor.map(|sweep| PlotMark::height(sweep.floor_iops * 1e-3, "IOPS floor")));
    let plot = Plot::new("pareto", "IOPS against CPU", 480);
    plot.note(note).view(view)
}

fn note(sweep: Option<&Sweep>, is_measured: bool) -> String {
    let mut note = "Up and to the left is better.".to_owned();
    let large = " Large dots: measured, with [min, max] over the trials.";
    note += when(is_measured, large);
    if let Some(sweep) = sweep {
        note += &format!(
            " Small dots: {} configurations simulated on a recording of {} I/Os. Dashed: the IOPS floor",
            sweep.cells.len(),
            count(sweep.ios),
        );
        note += &match sweep.floor.as_str() {
            "" => ".".to_owned(),
            reason => format!(" ({reason})."),
        };
    }
    note
}

fn simulated(sweep: &Sweep) -> Vec<PlotSeries> {
    let best = sweep.best.and_then(|index| sweep.cells.get(index));
    let mut series = by_rule(sweep);
    series.extend(std::iter::once(front(sweep)).chain(best.map(|cell| {
        let ring = dots("best simulated", [cell]).colour("@chosen").size(13.0);
        ring.symbol("circle-open").edge("@chosen", 2.0)
    })));
    series.push(bound("oracle (bound)", &sweep.oracle, "star"));
    series.push(bound("poll, simulated", &sweep.poll, "diamond-open"));
    series
}

/// The configurations as dots in one colour per rule: quiet shades if there are enough of them, so
/// that measured cells stand out.
fn by_rule(sweep: &Sweep) -> Vec<PlotSeries> {
    const SHADES: [&str; 4] = ["@shade1", "@shade2", "@shade3", "@shade4"];
    let mut rules: Vec<&str> = sweep.cells.iter().map(|cell| cell.rule.as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    let dots_of = |(n, rule): (usize, &&str)| {
        let cells = sweep.cells.iter().filter(|c| c.rule == *rule);
        let dots = dots(&format!("simulated: {rule}"), cells).size(5.0);
        match SHADES.get(n).filter(|_| rules.len() <= SHADES.len()) {
            Some(shade) => dots.colour(*shade),
            None => dots.style(&hue(n, rules.len())).opacity(0.7),
        }
    };
    rules.iter().enumerate().map(dots_of).collect()
}

fn front(sweep: &Sweep) -> PlotSeries {
    let cells = sweep.pareto.iter();
    let dots = dots("Pareto front", cells.filter_map(|&i| sweep.cells.get(i)));
    let line = dots.shape(SeriesShape::DottedLine).size(4.0);
    line.pen("@ink", 1.0)
}

fn dots<'a>(name: &str, cells: impl IntoIterator<Item = &'a SweepCell>) -> PlotSeries {
    let cells = cells.into_iter();
    let places = cells.map(|cell| (place(&cell.gives), about(cell)));
    let (places, texts): (Vec<_>, Vec<_>) = places.unzip();
    let dots = PlotSeries::dots(name, places);
    dots.texts(texts).hover_alone("{text}")
}

fn place(gives: &Prediction) -> (f64, f64) {
    (gives.rates.cpu_pct, gives.rates.iops * 1e-3)
}

fn about(cell: &SweepCell) -> String {
    let gives = &cell.gives;
    format!(
        "{}\n{:.2} KIOPS, CPU {:.1} %, missed {:.2} %\n{:.1} KIOPS per core",
        cell.policy,
        gives.rates.iops * 1e-3,
        gives.rates.cpu_pct,
        gives.rates.miss_rate * 100.0,
        gives.kiops_per_core
    )
}

const HOVER: &str = "{y} KIOPS, CPU {x} %";

fn bound(name: &str, at: &Prediction, symbol: &'static str) -> PlotSeries {
    let dot = PlotSeries::dots(name, [place(at)]).colour("@ink");
    dot.size(11.0).symbol(symbol).edge("@ink", 1.5).hover(HOVER)
}

fn measured(line: &CellLine<'_>) -> PlotSeries {
    let rates = &line.cell.measured.rates;
    let place = (rates.cpu_pct.median, rates.iops.median * 1e-3);
    PlotSeries::dots(&line.name, [place])
        .x_whiskers(Whiskers::from_intervals(&[rates.cpu_pct], 1.0))
        .y_whiskers(Whiskers::from_intervals(&[rates.iops], 1e-3))
        .colour(line.colour)
        .size(if line.is_recommended { 15.0 } else { 10.0 })
        .edge("@paper", 1.5)
        .hover(HOVER)
}
