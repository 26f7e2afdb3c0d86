//! The sweep of the rules `mean` and `min` as heat maps over their two parameters.

use crate::phrase::when;
use crate::plot::{Colours, Plot, PlotAxis, PlotMark, PlotSeries, Quantity, View};
use crate::plot::{grid, round_duration};
use q2c_result::tune::{Prediction, Sweep, SweepCell};

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
struct Map<'a> {
    rule: &'static str,
    cells: Vec<HeatMapCell<'a>>,
    ratios: Vec<f64>,
    periods: Vec<f64>,
}

pub(crate) fn plot(sweep: &Sweep) -> Plot {
    let maps: Vec<Map<'_>> = RULES.iter().filter_map(|rule| map(sweep, rule)).collect();
    Plot::new("heat-map", "Sweep: ratio against period", 420)
        .note(
            "Simulated on the recording. Crosses: out of the limits or below the IOPS floor; the colours span the others. Ring: the best by the \
             objective that keeps the limits.",
        )
        .views(QUANTITIES.iter().map(|quantity| view(sweep, &maps, quantity)))
}

fn map<'a>(sweep: &'a Sweep, rule: &'static str) -> Option<Map<'a>> {
    let cells = sweep.cells.iter().filter(|cell| cell.rule == rule);
    let cells: Vec<HeatMapCell<'_>> = cells.filter_map(placed).collect();
    let distinct = |get: fn(&HeatMapCell<'_>) -> f64| {
        let mut values: Vec<f64> = cells.iter().map(get).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    };
    let (ratios, periods) = (distinct(|p| p.ratio), distinct(|p| p.period_ns));
    (!cells.is_empty()).then_some(Map {
        rule,
        cells,
        ratios,
        periods,
    })
}

fn placed(cell: &SweepCell) -> Option<HeatMapCell<'_>> {
    let params = &cell.params;
    Some(HeatMapCell {
        ratio: *params.get("ratio")?,
        period_ns: *params.get("period").or_else(|| params.get("period_ns"))?,
        cell,
    })
}

fn view(sweep: &Sweep, maps: &[Map<'_>], quantity: &Quantity<Prediction>) -> View {
    let best = sweep.best.and_then(|index| sweep.cells.get(index));
    let maps_by_panel = || maps.iter().enumerate();
    let headings =
        maps_by_panel().map(|(panel, map)| PlotMark::heading(panel, maps.len(), "rule", map.rule));
    let panels = maps_by_panel().map(|(n, map)| {
        let axis = ratio_axis(map, when(n == 0, "ratio, %"));
        // A map beside one with the same ratios needs no numbers, and a phone has no room for them.
        axis.bare_if(n > 0 && maps[0].ratios == map.ratios)
    });
    let periods = PlotAxis::names("period").without_grid();
    View::new(quantity.label, periods, PlotAxis::new(""))
        .side_by_side(panels.collect())
        .colours(Colours::new(quantity.axis).spanning(kept_range(sweep, maps, quantity)))
        .series(maps_by_panel().flat_map(|(panel, map): (usize, &Map<'_>)| {
            let ring = best.filter(|best| best.rule == map.rule).and_then(placed);
            let marks = out_of_limits(map, sweep.floor_iops).into_iter();
            let marks = marks.chain(ring.map(|best| ring_of(&best)));
            let series = std::iter::once(colour_map(map, quantity)).chain(marks);
            series.map(move |series| series.panel(panel))
        }))
        .marks(headings)
}

/// True if a cell keeps the limits. Without that fact, only the IOPS floor decides.
fn keeps_limits(cell: &SweepCell, floor_iops: f64) -> bool {
    let floor = cell.gives.rates.iops >= floor_iops;
    cell.keeps_limits.unwrap_or(floor)
}

/// The range of the colours: the cells that may be chosen, if there are any. Others could be so far
/// off that these would look alike.
type ColourSpan = Option<(f64, f64)>;

fn kept_range(sweep: &Sweep, maps: &[Map<'_>], quantity: &Quantity<Prediction>) -> ColourSpan {
    let cells = maps.iter().flat_map(|map| &map.cells);
    let kept = cells.filter(|placed| keeps_limits(placed.cell, sweep.floor_iops));
    let figures = kept.map(|placed| quantity.figure(&placed.cell.gives));
    let (low, high) = super::span(figures.filter(|figure| figure.is_finite()));
    (low < high).then_some((low, high))
}

/// The axis of ratios, with half a step of room at both ends.
fn ratio_axis(map: &Map<'_>, title: &str) -> PlotAxis {
    let ratios: Vec<f64> = map.ratios.iter().map(|ratio| ratio * 100.0).collect();
    let half = |pair: Option<&[f64]>| pair.map_or(5.0, |p| (p[1] - p[0]) / 2.0);
    let low = ratios.first().copied().unwrap_or(0.0) - half(ratios.windows(2).next());
    let high = ratios.last().copied().unwrap_or(0.0) + half(ratios.windows(2).next_back());
    PlotAxis::new(title).without_grid().range(low, high)
}

fn dots<'a, 'b: 'a>(cells: impl IntoIterator<Item = &'a HeatMapCell<'b>>) -> PlotSeries {
    let places = cells.into_iter();
    let places = places.map(|cell| (round_duration(cell.period_ns), cell.ratio * 100.0));
    PlotSeries::dots("", places).unlisted().without_hover()
}

fn colour_map(map: &Map<'_>, quantity: &Quantity<Prediction>) -> PlotSeries {
    let cells = grid(&map.periods, &map.ratios, |period, ratio| {
        let is_here = |it: &&HeatMapCell<'_>| it.ratio == *ratio && it.period_ns == *period;
        map.cells.iter().find(is_here).map(|placed| placed.cell)
    });
    let figure = |cell: &Option<&SweepCell>| Some(quantity.figure(&cell.as_ref()?.gives));
    let rows = cells.iter().map(|row| row.iter().map(figure).collect());
    let periods = map.periods.iter().copied().map(round_duration);
    let ratios = map.ratios.iter().map(|ratio| ratio * 100.0);
    let about = |cell: &Option<&SweepCell>| cell.map(about).unwrap_or_default();
    PlotSeries::heat_map(periods.collect(), ratios.collect(), rows)
        .spaced()
        .texts(cells.iter().flatten().map(about))
        .hover_alone("{text}")
}

fn about(cell: &SweepCell) -> String {
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
fn out_of_limits(map: &Map<'_>, floor_iops: f64) -> Option<PlotSeries> {
    let cells = map.cells.iter();
    let crosses = dots(cells.filter(|placed| !keeps_limits(placed.cell, floor_iops)));
    // Dark, for the bright end of the scale, with a bright edge for its dark end.
    let crosses = crosses.symbol("x").size(7.0).colour("#1c2430");
    crosses.edge("#ffffff", 1.0).if_any()
}

fn ring_of(best: &HeatMapCell<'_>) -> PlotSeries {
    let ring = dots([best]).symbol("circle-open").size(18.0);
    ring.colour("#ff2d6f").edge("#ff2d6f", 3.0)
}
