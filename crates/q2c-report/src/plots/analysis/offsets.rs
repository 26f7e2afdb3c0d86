//! Where on a device reads and writes start, over time: a dot for each I/O if there are few, else a
//! map of their number.

use super::excerpts::ends_of;
use super::{READS, WRITES};
use crate::offset_grid::{OffsetCounts, OffsetGrid};
use crate::phrase::{grouped, some_listed};
use crate::plot::{Colours, Plot, PlotAxis, PlotPlaces, PlotSeries, View};
use crate::quantity::{count, duration, size};
use q2c_model::Bytes;
use q2c_model::facts::STATED_SECTOR;
use q2c_result::analyze::{AnalyzeResult, ExcerptIo, OffsetMap};

/// The largest number of devices that have a plot.
const MOST: usize = 4;

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
    let start = result.excerpts.iter().find(|part| part.what == "start")?;
    (start.ios.len() as u64 == result.requests).then_some(&start.ios)
}

/// The devices with most I/Os, most first, and the names of the other devices, which get no plot.
/// A device is its name, its number of I/Os and its content.
fn choose<T>(mut devices: Vec<(String, u64, T)>) -> (Vec<(String, T)>, String) {
    devices.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let rest = devices.split_off(devices.len().min(MOST));
    let names = some_listed(rest.into_iter().map(|(device, ..)| device));
    let left_out = names.map(|names| format!(" Without a chart: {names}."));
    let chosen = devices.into_iter();
    let chosen = chosen.map(|(device, _, content)| (device, content));
    (chosen.collect(), left_out.unwrap_or_default())
}

fn plot(n: usize, device: &str, note: String, view: View) -> Plot {
    let title = format!("Where on {device} do reads and writes go?");
    let plot = Plot::new(format!("offsets-{n}"), title, 460);
    plot.note(note).view(view)
}

type ByteUnit = (&'static str, f64);

/// The unit in which offsets up to `most` bytes are short numbers.
fn unit(most: f64) -> ByteUnit {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
    let units = units.map(|(name, bits)| (name, 2f64.powi(bits)));
    let short = units.into_iter().find(|(_, bytes)| most < 4096.0 * bytes);
    short.unwrap_or(units[3])
}

fn offsets_over_time(label: &'static str, unit: ByteUnit) -> View {
    View::over_time(label, PlotAxis::new(format!("offset, {}", unit.0)))
}

fn plots_of_ios(ios: &[ExcerptIo]) -> Vec<Plot> {
    let moves = |io: &&ExcerptIo| io.bytes > 0 && ["read", "write"].contains(&io.op.as_str());
    let counted = grouped(ios.iter().filter(moves).map(|io| (&io.device, io))).into_iter();
    let counted = counted.map(|(device, ios)| (device.clone(), ios.len() as u64, ios));
    let (shown, left_out) = choose(counted.collect());
    let what = "Each I/O is a dot, where it begins on the device and when it was queued.";
    let plot_of = |(n, (device, ios)): (usize, (String, Vec<&ExcerptIo>))| {
        plot(n, &device, format!("{what}{left_out}"), dots(&ios))
    };
    shown.into_iter().enumerate().map(plot_of).collect()
}

fn dots(ios: &[&ExcerptIo]) -> View {
    let offset = |io: &ExcerptIo| io.sector as f64 * 512.0;
    let unit = unit(ios.iter().map(|io| offset(io)).fold(0.0, f64::max));
    let dots = |op, name, colour, symbol| {
        let moved = ios.iter().filter(|io| io.op == op);
        let place = |io: &&ExcerptIo| (ends_of(io).0 as f64 / 1e9, offset(io) / unit.1);
        let dots = PlotSeries::dots(name, moved.clone().map(place)).exact();
        let dots = dots.colour(colour).size(7.0).symbol(symbol);
        let dots = dots.texts(moved.map(|io| about(io)));
        dots.hover_alone("{text}").if_any()
    };
    let view = offsets_over_time("dots", unit).legend(true);
    view.series(dots("read", "reads", READS, "circle"))
        .series(dots("write", "writes", WRITES, "diamond"))
}

fn about(io: &ExcerptIo) -> String {
    let (op, sector, bytes) = (&io.op, io.sector, size(Bytes(io.bytes)));
    let begin = duration(ends_of(io).0 as f64);
    format!("{op} of {bytes} at sector {sector}, {begin}")
}

fn plots_of_maps(maps: &[OffsetMap]) -> Vec<Plot> {
    let counted = maps.iter().map(|map| (map.device.clone(), map.ios(), map));
    let (shown, left_out) = choose(counted.filter(|(_, ios, _)| *ios > 0).collect());
    // Many cells make the page large.
    let is_alone = shown.len() == 1;
    let most = if is_alone { (256, 128) } else { (128, 64) };
    let plot_of = |(n, (device, map)): (usize, (String, &OffsetMap))| {
        let grid = OffsetGrid::from_map(map, most);
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
        plot(n, &device, note, grid_view(&grid))
    };
    shown.into_iter().enumerate().map(plot_of).collect()
}

/// Reads above writes on the same axes; if one of the two is missing, the other alone.
fn grid_view(grid: &OffsetGrid) -> View {
    let unit = unit(grid.end());
    let (reads, writes) = (grid.reads.as_ref(), grid.writes.as_ref());
    let mut view = offsets_over_time("map", unit);
    if reads.and(writes).is_some() {
        view = view.halved();
    }
    let reads = reads.map(|counts| ("reads", counts, "@ramp-a"));
    let writes = writes.map(|counts| ("writes", counts, "@ramp-poll"));
    for (name, counts, scale) in reads.into_iter().chain(writes) {
        let panel = view.series.len();
        let most = counts.iter().flatten().flatten().max().copied();
        let map = counts_map(grid, counts, unit).name(name).panel(panel);
        let colours = Colours::new(name)
            .scale(scale)
            .spanning(most.map(|most| (0.0, most as f64)));
        view = view
            .series([map.hover_alone(format!("{{z}} {name} at {{y:.6g}} {}, {{x:.4g}} s", unit.0))])
            .colours(colours.most_ticks(most.map_or(2, |most| most.clamp(2, 5))));
    }
    view
}

fn counts_map(grid: &OffsetGrid, counts: &OffsetCounts, unit: ByteUnit) -> PlotSeries {
    let times = PlotPlaces::Even(grid.first_s, grid.window_ns * 1e-9);
    let offsets = PlotPlaces::Even(grid.first_offset() / unit.1, grid.range_bytes / unit.1);
    let row = |counts: &Vec<Option<u64>>| counts.iter().map(|n| Some((*n)? as f64)).collect();
    PlotSeries::heat_map(times, offsets, counts.iter().map(row)).exact()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_told_in_a_unit_that_keeps_them_short() {
        assert_eq!(unit(0.0).0, "KiB");
        assert_eq!(unit(5e6).0, "MiB");
        assert_eq!(unit(1e12).0, "GiB");
        assert_eq!(unit(1e13), ("TiB", 2f64.powi(40)));
    }
}
