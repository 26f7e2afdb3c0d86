//! The offsets on a device at which I/Os start, over time: a dot for each I/O if they are few, else
//! a map of their number.

use super::{READS, WRITES, first_and_last_ns};
use crate::phrase::{grouped, listed_if_any};
use crate::plot::{Colours, Plot, PlotAxis, PlotPlaces, PlotSeries, View};
use crate::quantity::{count, duration};
use q2c_model::Bytes;
use q2c_model::facts::STATED_SECTOR;
use q2c_result::analyze::{AnalyzeResult, ExcerptIo, OffsetMap, OffsetWindow};

/// The largest number of devices that have a plot.
const MAX_DEVICES: usize = 4;

pub(crate) fn plots(result: &AnalyzeResult) -> Vec<Plot> {
    if result.input.facts.contains_key(STATED_SECTOR) {
        return Vec::new();
    }
    match complete_excerpt(result) {
        Some(ios) => plots_of_ios(ios),
        None => plots_of_maps(&result.offsets),
    }
}

/// All I/Os of the trace, if the excerpt of the start has them all.
fn complete_excerpt(result: &AnalyzeResult) -> Option<&[ExcerptIo]> {
    let start = result.excerpts.iter().find(|it| it.what == "start")?;
    (start.ios.len() as u64 == result.requests).then_some(&start.ios)
}

/// The devices with most I/Os in descending order, and a sentence on the others, which get no plot.
/// A device is its name, its number of I/Os and its content.
fn most_active<T>(mut devices: Vec<(String, u64, T)>) -> (Vec<(String, T)>, String) {
    devices.sort_by(|(a, a_ios, _), (b, b_ios, _)| b_ios.cmp(a_ios).then_with(|| a.cmp(b)));
    let others = devices.split_off(devices.len().min(MAX_DEVICES));
    let names = listed_if_any(others.into_iter().map(|(device, ..)| device));
    let left_out = names.map(|names| format!(" Without a chart: {names}."));
    let chosen = devices.into_iter();
    let chosen = chosen.map(|(device, _, content)| (device, content));
    (chosen.collect(), left_out.unwrap_or_default())
}

fn device_plot(n: usize, device: &str, note: String, view: View) -> Plot {
    let title = format!("Where on {device} do reads and writes go?");
    let plot = Plot::new(format!("offsets-{n}"), title, 460);
    plot.note(note).view(view)
}

/// The name of a unit, and its length in bytes.
type ByteUnit = (&'static str, f64);

/// The unit in which offsets up to `max_offset` bytes are short numbers.
fn short_unit(max_offset: f64) -> ByteUnit {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
    let units = units.map(|(name, bits)| (name, 2f64.powi(bits)));
    let short = units.into_iter().find(|(_, len)| max_offset < 4096.0 * len);
    short.unwrap_or(units[3])
}

fn offsets_over_time(label: &'static str, unit: ByteUnit) -> View {
    View::over_time(label, PlotAxis::new(format!("offset, {}", unit.0)))
}

fn plots_of_ios(ios: &[ExcerptIo]) -> Vec<Plot> {
    let moves_data = |io: &&ExcerptIo| io.bytes > 0 && ["read", "write"].contains(&io.op.as_str());
    let with_counts = grouped(ios.iter().filter(moves_data).map(|io| (&io.device, io))).into_iter();
    let with_counts = with_counts.map(|(device, ios)| (device.clone(), ios.len() as u64, ios));
    let (shown, left_out) = most_active(with_counts.collect());
    let what = "Each I/O is a dot, where it begins on the device and when it was queued.";
    let plot_of = |(n, (device, ios)): (usize, (String, Vec<&ExcerptIo>))| {
        device_plot(n, &device, format!("{what}{left_out}"), io_dots(&ios))
    };
    shown.into_iter().enumerate().map(plot_of).collect()
}

fn io_dots(ios: &[&ExcerptIo]) -> View {
    let offset = |io: &ExcerptIo| io.sector as f64 * 512.0;
    let unit = short_unit(ios.iter().map(|io| offset(io)).fold(0.0, f64::max));
    let dots = |op, name, colour, symbol| {
        let moved = ios.iter().filter(|io| io.op == op);
        let place = |io: &&ExcerptIo| (first_and_last_ns(io).0 as f64 / 1e9, offset(io) / unit.1);
        let dots = PlotSeries::dots(name, moved.clone().map(place)).exact();
        let dots = dots.colour(colour).size(7.0).symbol(symbol);
        let dots = dots.texts(moved.map(|io| io_text(io)));
        dots.hover_alone("{text}").if_any()
    };
    let view = offsets_over_time("dots", unit).legend(true);
    view.series(dots("read", "reads", READS, "circle"))
        .series(dots("write", "writes", WRITES, "diamond"))
}

fn io_text(io: &ExcerptIo) -> String {
    let (op, sector, bytes) = (&io.op, io.sector, Bytes(io.bytes).in_short());
    let begin = duration(first_and_last_ns(io).0 as f64);
    format!("{op} of {bytes} at sector {sector}, {begin}")
}

fn plots_of_maps(maps: &[OffsetMap]) -> Vec<Plot> {
    let with_counts = maps.iter().map(|map| (map.device.clone(), map.ios(), map));
    let (shown, left_out) = most_active(with_counts.filter(|(_, ios, _)| *ios > 0).collect());
    // Many cells make the page large.
    let is_only = shown.len() == 1;
    let max_cells = if is_only { (256, 128) } else { (128, 64) };
    let plot_of = |(n, (device, map)): (usize, (String, &OffsetMap))| {
        let grid = OffsetGrid::from_map(map, max_cells);
        let what = match (grid.reads.is_some(), grid.writes.is_some()) {
            (true, true) => "reads (above) and writes (below)",
            (true, false) => "reads",
            _ => "writes",
        };
        let (bytes, time) = (Bytes(grid.range_bytes as u64), duration(grid.window_ns));
        let note = format!(
            "Colour: how many {what} begin in {bytes} of the device and {time}. Level bands: one place \
             again and again; slopes: one place behind the other; clouds: anywhere. Of {} I/Os with \
             data.{left_out}",
            count(map.ios()),
        );
        device_plot(n, &device, note, grid_view(&grid))
    };
    shown.into_iter().enumerate().map(plot_of).collect()
}

/// Reads above writes on the same axes; if one of the two is missing, the other alone.
fn grid_view(grid: &OffsetGrid) -> View {
    let unit = short_unit(grid.end());
    let (reads, writes) = (grid.reads.as_ref(), grid.writes.as_ref());
    let mut view = offsets_over_time("map", unit);
    if reads.and(writes).is_some() {
        view = view.with_halves();
    }
    let reads = reads.map(|counts| ("reads", counts, "@ramp-a"));
    let writes = writes.map(|counts| ("writes", counts, "@ramp-poll"));
    for (name, counts, scale) in reads.into_iter().chain(writes) {
        let panel = view.series.len();
        let max = counts.iter().flatten().flatten().max().copied();
        let map = counts_map(grid, counts, unit).name(name).panel(panel);
        let colours = Colours::new(name)
            .scale(scale)
            .spanning(max.map(|max| (0.0, max as f64)));
        view = view
            .series([map.hover_alone(format!("{{z}} {name} at {{y:.6g}} {}, {{x:.4g}} s", unit.0))])
            .colours(colours.max_ticks(max.map_or(2, |max| max.clamp(2, 5))));
    }
    view
}

fn counts_map(grid: &OffsetGrid, counts: &OffsetCounts, unit: ByteUnit) -> PlotSeries {
    let times = PlotPlaces::Even(grid.first_s, grid.window_ns * 1e-9);
    let offsets = PlotPlaces::Even(grid.first_offset() / unit.1, grid.range_bytes / unit.1);
    let row = |counts: &Vec<Option<u64>>| counts.iter().map(|n| Some((*n)? as f64)).collect();
    PlotSeries::heat_map(times, offsets, counts.iter().map(row)).exact()
}

/// The number of I/Os in each cell: one row per range, the lowest offsets first, and in it one
/// column per window of time. `None` is a cell without I/Os.
type OffsetCounts = Vec<Vec<Option<u64>>>;

/// The cells of a device's map. `first_range` counts ranges from offset 0.
struct OffsetGrid {
    /// The middle of the first window, seconds.
    pub first_s: f64,
    /// Length of a window, ns.
    pub window_ns: f64,
    first_range: u64,
    rows: usize,
    /// Length of a range, bytes.
    pub range_bytes: f64,
    /// `None` if there were no reads; `writes` alike.
    pub reads: Option<OffsetCounts>,
    pub writes: Option<OffsetCounts>,
}

impl OffsetGrid {
    /// Joins neighbours by powers of two until there are at most `max_columns` and `max_rows`.
    fn from_map(map: &OffsetMap, (max_columns, max_rows): (usize, usize)) -> OffsetGrid {
        let windows = || map.windows.iter();
        let ends = || windows().map(|w| w.start_ns.saturating_add(w.length_ns));
        // The first window may be shorter than the others.
        let window_ns = windows().map(|w| w.length_ns).max().unwrap_or(1).max(1);
        let first_end_ns = ends().min().unwrap_or(0);
        let last_window = (ends().max().unwrap_or(0) - first_end_ns) / window_ns;
        let ranges = || windows().flat_map(|w| w.reads.iter().chain(&w.writes));
        let numbers = || ranges().map(|(number, _)| *number);
        let (low, high) = (numbers().min().unwrap_or(0), numbers().max().unwrap_or(0));
        let join_bits = |from: u64, to: u64, max_cells: usize| {
            let mut bits = 0..u64::BITS - 1;
            let fitting = bits.find(|n| (to >> n) - (from >> n) < max_cells as u64);
            fitting.unwrap_or(0)
        };
        let column_bits = join_bits(0, last_window, max_columns);
        let row_bits = join_bits(low, high, max_rows);
        let first_range = low >> row_bits;
        let rows = ((high >> row_bits) - first_range) as usize + 1;
        let columns = (last_window >> column_bits) as usize + 1;
        let counts = |get: fn(&OffsetWindow) -> &Vec<(u64, u64)>| {
            let mut counts: OffsetCounts = vec![vec![None; columns]; rows];
            let mut has_ios = false;
            for window in &map.windows {
                let end = window.start_ns.saturating_add(window.length_ns);
                let column = ((end - first_end_ns) / window_ns) >> column_bits;
                for (number, ios) in get(window) {
                    let row = (number >> row_bits) - first_range;
                    let cell = &mut counts[row as usize][column as usize];
                    *cell = Some(cell.unwrap_or(0).saturating_add(*ios));
                    has_ios = true;
                }
            }
            has_ios.then_some(counts)
        };
        let first_start_ns = first_end_ns as f64 - window_ns as f64;
        let window_ns = window_ns as f64 * 2f64.powi(column_bits as i32);
        OffsetGrid {
            first_s: (first_start_ns + window_ns / 2.0) * 1e-9,
            window_ns,
            first_range,
            rows,
            range_bytes: map.range_bytes as f64 * 2f64.powi(row_bits as i32),
            reads: counts(|window| &window.reads),
            writes: counts(|window| &window.writes),
        }
    }

    /// The middle of the lowest range, bytes.
    fn first_offset(&self) -> f64 {
        (self.first_range as f64 + 0.5) * self.range_bytes
    }

    /// The end of the highest range, bytes.
    fn end(&self) -> f64 {
        (self.first_range as f64 + self.rows as f64) * self.range_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_told_in_a_unit_that_keeps_them_short() {
        assert_eq!(short_unit(0.0).0, "KiB");
        assert_eq!(short_unit(5e6).0, "MiB");
        assert_eq!(short_unit(1e12).0, "GiB");
        assert_eq!(short_unit(1e13), ("TiB", 2f64.powi(40)));
    }

    /// Windows of 8 ns, the first one of 5 ns. Each read is (start of the window, range, I/Os).
    fn map(reads: &[(u64, u64, u64)]) -> OffsetMap {
        let window = |(start, range, ios): &(u64, u64, u64)| OffsetWindow {
            start_ns: *start,
            length_ns: if *start == 0 { 5 } else { 8 },
            reads: vec![(*range, *ios)],
            writes: Vec::new(),
        };
        OffsetMap {
            device: "8:0".to_owned(),
            range_bytes: 4096,
            windows: reads.iter().map(window).collect(),
        }
    }

    #[test]
    fn windows_stand_at_their_times() {
        let grid = OffsetGrid::from_map(&map(&[(0, 7, 2), (13, 9, 3)]), (16, 16));
        let wanted: OffsetCounts = vec![
            vec![Some(2), None, None],
            vec![None, None, None],
            vec![None, None, Some(3)],
        ];
        assert_eq!(grid.reads, Some(wanted));
        assert_eq!(grid.writes, None);
        assert_eq!((grid.window_ns, grid.range_bytes), (8.0, 4096.0));
        // The first window ends at 5 ns; with the full length it would begin at -3 ns.
        assert!((grid.first_s - 1e-9).abs() < 1e-18, "{}", grid.first_s);
        assert_eq!(
            (grid.first_offset(), grid.end()),
            (7.5 * 4096.0, 10.0 * 4096.0)
        );
    }

    #[test]
    fn neighbours_are_put_together_until_there_are_few() {
        let reads = [(0, 6, 1), (5, 7, 2), (13, 9, 4), (21, 9, 8)];
        let grid = OffsetGrid::from_map(&map(&reads), (2, 2));
        assert_eq!(
            grid.reads,
            Some(vec![vec![Some(3), None], vec![None, Some(12)]])
        );
        assert_eq!((grid.window_ns, grid.range_bytes), (16.0, 8192.0));
        assert_eq!(grid.first_offset(), 3.5 * 8192.0);
    }

    #[test]
    fn absurd_maps_make_no_large_grid() {
        let grid = OffsetGrid::from_map(&map(&[(0, 0, 1), (u64::MAX, u64::MAX, 1)]), (4, 4));
        let reads = grid.reads.expect("reads");
        assert!(reads.len() <= 4 && reads[0].len() <= 4);
    }
}
