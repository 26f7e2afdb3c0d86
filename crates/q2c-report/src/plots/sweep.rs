//! Plots of a sweep: IOPS against CPU of every configuration with the Pareto front, the rules
//! `mean` and `min` as heat maps over their two parameters, and the best configuration I/O by I/O.

use super::NS_TO_US;
use super::tune::CellLine;
use crate::phrase::when;
use crate::plot::{
    Colours, Plot, PlotAxis, PlotMark, PlotSeries, Quantity, SeriesShape, View, Whiskers, grid,
    hue, round_duration, with_data,
};
use crate::quantity::count;
use crate::sweep::as_sweep;
use q2c_result::sweep::{SweepAnswer, SweepResult, Timeline};
use q2c_result::tune::{Prediction, Sweep, SweepCell};

const NS_TO_MS: f64 = 1e-6;

/// The plots of one trace: its cells, and its best cell I/O by I/O.
pub(crate) fn plots(result: &SweepResult, answer: &SweepAnswer) -> Vec<Plot> {
    let sweep = as_sweep(result, answer);
    let timeline = result.timeline.as_ref();
    let timeline = timeline.filter(|line| line.input == answer.input);
    let plots = [pareto(Some(&sweep), &[]), heat_map(&sweep)];
    let plots = plots.into_iter().chain(timeline.map(io_by_io));
    with_data(plots, &format!("-{}", answer.input))
}

/// One configuration I/O by I/O: the device's latency, the sleep asked, and the misses.
fn io_by_io(timeline: &Timeline) -> Plot {
    let drawn = timeline.at_ns.len();
    let left_out = match timeline.left_out {
        0 => String::new(),
        n => format!(" The first {drawn} I/Os; {} follow.", count(n)),
    };
    let (x, y) = ("time, ms", "latency and sleep, us");
    let view = View::new("time line", PlotAxis::from_zero(x), PlotAxis::from_zero(y));
    Plot::new("timeline", "I/O by I/O: why it missed", 480)
        .note(format!(
            "{}, simulated on the first trace's first lane. Line: the sleep asked. Dots: the device's latency, in red where the I/O was \
             complete before its sleep ended.{left_out} Below: the simulated time from the submission's return to reaping.",
            timeline.policy
        ))
        .view(view.with_lower(PlotAxis::from_zero("until reaped, us")).series(series(timeline)))
}

fn series(timeline: &Timeline) -> [PlotSeries; 4] {
    let over_time = |numbers| {
        let pairs = std::iter::zip(&timeline.at_ns, numbers);
        pairs.map(|(at, number): (&f64, &f64)| (at * NS_TO_MS, number * NS_TO_US))
    };
    let latencies = |name, is_missed: bool| {
        let pairs = over_time(&timeline.latency_ns).zip(&timeline.missed);
        let chosen = pairs.filter(|(_, missed)| **missed == is_missed);
        let dots = PlotSeries::dots(name, chosen.map(|(pair, _)| pair));
        dots.size(4.0).hover("{y} us at {x} ms")
    };
    let asked_name = format!("sleep asked: {}", timeline.policy);
    let reaped = PlotSeries::dots("reaped, simulated", over_time(&timeline.woke_ns));
    [
        latencies("latency, in time", false).colour("@muted"),
        latencies("latency, missed", true).colour("#e5484d"),
        PlotSeries::steps(asked_name, over_time(&timeline.asked_ns)).pen("@chosen", 1.5),
        reaped.lower().size(3.0).colour("@ink"),
    ]
}

/// The sweep's cells as dots, the Pareto front as a line, and the measured cells with their
/// intervals.
pub(crate) fn pareto(sweep: Option<&Sweep>, lines: &[CellLine<'_>]) -> Plot {
    let lines = lines.iter();
    let measured = lines.filter(|line| line.cell.measured.rates.iops.trials > 0);
    let measured: Vec<PlotSeries> = measured.map(measured_dot).collect();
    let floor = sweep.filter(|sweep| sweep.floor_iops > 0.0);
    let x = PlotAxis::from_zero("CPU of the jobs, % of one");
    let note = note(sweep, !measured.is_empty());
    let view = View::new("all", x, PlotAxis::new("KIOPS"))
        .series(sweep.map(simulated).into_iter().flatten())
        .series(measured)
        .marks(floor.map(|sweep| PlotMark::horizontal(sweep.floor_iops * 1e-3, "IOPS floor")));
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
        let ring = cell_dots("best simulated", [cell])
            .colour("@chosen")
            .size(13.0);
        ring.symbol("circle-open").edge("@chosen", 2.0)
    })));
    series.push(dot("oracle (bound)", &sweep.oracle, "star"));
    series.push(dot("poll, simulated", &sweep.poll, "diamond-open"));
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
        let dots = cell_dots(&format!("simulated: {rule}"), cells).size(5.0);
        match SHADES.get(n).filter(|_| rules.len() <= SHADES.len()) {
            Some(shade) => dots.colour(*shade),
            None => dots.style(&hue(n, rules.len())).opacity(0.7),
        }
    };
    rules.iter().enumerate().map(dots_of).collect()
}

fn front(sweep: &Sweep) -> PlotSeries {
    let cells = sweep.pareto.iter();
    let dots = cell_dots("Pareto front", cells.filter_map(|&i| sweep.cells.get(i)));
    let line = dots.shape(SeriesShape::DottedLine).size(4.0);
    line.pen("@ink", 1.0)
}

fn cell_dots<'a>(name: &str, cells: impl IntoIterator<Item = &'a SweepCell>) -> PlotSeries {
    let cells = cells.into_iter();
    let places = cells.map(|cell| (cpu_and_kiops(&cell.gives), pareto_text(cell)));
    let (places, texts): (Vec<_>, Vec<_>) = places.unzip();
    let dots = PlotSeries::dots(name, places);
    dots.texts(texts).hover_alone("{text}")
}

fn cpu_and_kiops(gives: &Prediction) -> (f64, f64) {
    (gives.rates.cpu_pct, gives.rates.iops * 1e-3)
}

fn pareto_text(cell: &SweepCell) -> String {
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

fn dot(name: &str, gives: &Prediction, symbol: &'static str) -> PlotSeries {
    let dot = PlotSeries::dots(name, [cpu_and_kiops(gives)]).colour("@ink");
    dot.size(11.0).symbol(symbol).edge("@ink", 1.5).hover(HOVER)
}

fn measured_dot(line: &CellLine<'_>) -> PlotSeries {
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

const QUANTITIES: [Quantity<Prediction>; 4] = [
    Quantity::new("KIOPS per core", "KIOPS\nper core", 1.0, |p| {
        p.kiops_per_core
    }),
    Quantity::new("miss rate", "miss, %", 100.0, |p| p.rates.miss_rate),
    Quantity::new("IOPS", "KIOPS", 1e-3, |p| p.rates.iops),
    Quantity::new("CPU", "CPU, %", 1.0, |p| p.rates.cpu_pct),
];

/// The rules that have a map: they reduce a window of latencies to one number, and have the
/// parameters ratio and period.
const RULES: [&str; 2] = ["mean", "min"];

struct HeatMapCell<'a> {
    ratio: f64,
    period_ns: f64,
    cell: &'a SweepCell,
}

/// The map of a rule, with its ratios and its periods in ascending order.
struct RuleMap<'a> {
    rule: &'static str,
    cells: Vec<HeatMapCell<'a>>,
    ratios: Vec<f64>,
    periods: Vec<f64>,
}

pub(crate) fn heat_map(sweep: &Sweep) -> Plot {
    let maps = RULES.iter().filter_map(|rule| rule_map(sweep, rule));
    let maps: Vec<RuleMap<'_>> = maps.collect();
    Plot::new("heat-map", "Sweep: ratio against period", 420)
        .note(
            "Simulated on the recording. Crosses: out of the limits or below the IOPS floor; the colours span the others. Ring: the best by the \
             objective that keeps the limits.",
        )
        .views(QUANTITIES.iter().map(|quantity| map_view(sweep, &maps, quantity)))
}

fn rule_map<'a>(sweep: &'a Sweep, rule: &'static str) -> Option<RuleMap<'a>> {
    let cells = sweep.cells.iter().filter(|cell| cell.rule == rule);
    let cells: Vec<HeatMapCell<'_>> = cells.filter_map(map_cell).collect();
    let distinct = |get: fn(&HeatMapCell<'_>) -> f64| {
        let mut values: Vec<f64> = cells.iter().map(get).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    };
    let (ratios, periods) = (distinct(|p| p.ratio), distinct(|p| p.period_ns));
    (!cells.is_empty()).then_some(RuleMap {
        rule,
        cells,
        ratios,
        periods,
    })
}

fn map_cell(cell: &SweepCell) -> Option<HeatMapCell<'_>> {
    let params = &cell.params;
    Some(HeatMapCell {
        ratio: *params.get("ratio")?,
        period_ns: *params.get("period").or_else(|| params.get("period_ns"))?,
        cell,
    })
}

fn map_view(sweep: &Sweep, maps: &[RuleMap<'_>], quantity: &Quantity<Prediction>) -> View {
    let best = sweep.best.and_then(|index| sweep.cells.get(index));
    let maps_by_panel = || maps.iter().enumerate();
    let headings =
        maps_by_panel().map(|(panel, map)| PlotMark::heading(panel, maps.len(), "rule", map.rule));
    let panels = maps_by_panel().map(|(n, map)| {
        let axis = ratio_axis(map, when(n == 0, "ratio, %"));
        // A map beside one with the same ratios needs no numbers, and a phone has no room for them.
        axis.hide_tick_labels_if(n > 0 && maps[0].ratios == map.ratios)
    });
    let periods = PlotAxis::names("period").without_grid();
    View::new(quantity.label, periods, PlotAxis::new(""))
        .side_by_side(panels.collect())
        .colours(Colours::new(quantity.axis).spanning(colour_span(sweep, maps, quantity)))
        .series(maps_by_panel().flat_map(|(panel, map): (_, &RuleMap<'_>)| {
            let ring = best.filter(|best| best.rule == map.rule).and_then(map_cell);
            let marks = out_of_limits(map, sweep.floor_iops).into_iter();
            let marks = marks.chain(ring.map(|best| ring_dot(&best)));
            let series = std::iter::once(colour_map(map, quantity)).chain(marks);
            series.map(move |series| series.panel(panel))
        }))
        .marks(headings)
}

/// True if a cell keeps the limits. If the result does not tell, only the IOPS floor decides.
fn keeps_limits(cell: &SweepCell, floor_iops: f64) -> bool {
    let floor = cell.gives.rates.iops >= floor_iops;
    cell.keeps_limits.unwrap_or(floor)
}

/// The least and the largest figure of the cells that may be chosen, if there are any. The colours
/// span only these, because beside a cell that is far off they would look alike.
type ColourSpan = Option<(f64, f64)>;

fn colour_span(sweep: &Sweep, maps: &[RuleMap<'_>], quantity: &Quantity<Prediction>) -> ColourSpan {
    let cells = maps.iter().flat_map(|map| &map.cells);
    let valid = cells.filter(|placed| keeps_limits(placed.cell, sweep.floor_iops));
    let figures = valid.map(|placed| quantity.figure(&placed.cell.gives));
    let (low, high) = super::span(figures.filter(|figure| figure.is_finite()));
    (low < high).then_some((low, high))
}

/// The axis of ratios, with half a step of room at both ends.
fn ratio_axis(map: &RuleMap<'_>, title: &str) -> PlotAxis {
    let ratios: Vec<f64> = map.ratios.iter().map(|ratio| ratio * 100.0).collect();
    let half_step = |pair: Option<&[f64]>| pair.map_or(5.0, |p| (p[1] - p[0]) / 2.0);
    let low = ratios.first().copied().unwrap_or(0.0) - half_step(ratios.windows(2).next());
    let high = ratios.last().copied().unwrap_or(0.0) + half_step(ratios.windows(2).next_back());
    PlotAxis::new(title).without_grid().range(low, high)
}

fn map_dots<'a, 'b: 'a>(cells: impl IntoIterator<Item = &'a HeatMapCell<'b>>) -> PlotSeries {
    let places = cells.into_iter();
    let places = places.map(|cell| (round_duration(cell.period_ns), cell.ratio * 100.0));
    PlotSeries::dots("", places).unlisted().without_hover()
}

fn colour_map(map: &RuleMap<'_>, quantity: &Quantity<Prediction>) -> PlotSeries {
    let cells = grid(&map.periods, &map.ratios, |period, ratio| {
        let is_here = |it: &&HeatMapCell<'_>| it.ratio == *ratio && it.period_ns == *period;
        map.cells.iter().find(is_here).map(|placed| placed.cell)
    });
    let figure = |cell: &Option<&SweepCell>| Some(quantity.figure(&cell.as_ref()?.gives));
    let rows = cells.iter().map(|row| row.iter().map(figure).collect());
    let periods = map.periods.iter().copied().map(round_duration);
    let ratios = map.ratios.iter().map(|ratio| ratio * 100.0);
    let about = |cell: &Option<&SweepCell>| cell.map(map_text).unwrap_or_default();
    PlotSeries::heat_map(periods.collect(), ratios.collect(), rows)
        .spaced()
        .texts(cells.iter().flatten().map(about))
        .hover_alone("{text}")
}

fn map_text(cell: &SweepCell) -> String {
    let gives = &cell.gives;
    format!(
        "{}\n{:.1} KIOPS per core, {:.2} KIOPS\nCPU {:.1} %, missed {:.2} %",
        cell.policy,
        gives.kiops_per_core,
        gives.rates.iops * 1e-3,
        gives.rates.cpu_pct,
        gives.rates.miss_rate * 100.0
    )
}

/// Crosses on the cells that cannot be chosen, because they break a limit or the IOPS floor.
fn out_of_limits(map: &RuleMap<'_>, floor_iops: f64) -> Option<PlotSeries> {
    let cells = map.cells.iter();
    let crosses = map_dots(cells.filter(|placed| !keeps_limits(placed.cell, floor_iops)));
    // Dark, for the bright end of the scale, with a bright edge for its dark end.
    let crosses = crosses.symbol("x").size(7.0).colour("#1c2430");
    crosses.edge("#ffffff", 1.0).if_any()
}

fn ring_dot(best: &HeatMapCell<'_>) -> PlotSeries {
    let ring = map_dots([best]).symbol("circle-open").size(18.0);
    ring.colour("#ff2d6f").edge("#ff2d6f", 3.0)
}
