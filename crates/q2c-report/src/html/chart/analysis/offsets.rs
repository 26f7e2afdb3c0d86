//! Where on a device reads and writes begin, over time: each I/O as a dot where there are few, else
//! a map of their number.

mod grid;

use crate::html::chart::{Chart, View, axis};
use crate::html::escape::chart_text;
use crate::quantity::{count, duration, size};
use grid::Grid;
use q2c_model::Bytes;
use q2c_model::facts::STATED_SECTOR;
use q2c_result::analyze::{AnalyzeResult, ExcerptIo, OffsetMap};
use serde_json::json;
use std::collections::BTreeMap;

/// Most devices that have a chart.
const MOST: usize = 4;
/// Colours of reads and of writes, in all charts of an analysis.
pub(crate) const READS: &str = "@a";
pub(crate) const WRITES: &str = "@poll";

/// A chart for each of the devices with most I/Os.
pub(crate) fn charts(result: &AnalyzeResult) -> Vec<Chart> {
    if result.input.facts.contains_key(STATED_SECTOR) {
        return Vec::new();
    }
    match whole_excerpt(result) {
        Some(ios) => of_ios(ios),
        None => of_maps(&result.offsets),
    }
}

/// All I/Os one by one, where the excerpt of the start has them all.
fn whole_excerpt(result: &AnalyzeResult) -> Option<&[ExcerptIo]> {
    let start = result.excerpts.iter().find(|part| part.what == "start")?;
    (start.ios.len() as u64 == result.requests).then_some(&start.ios)
}

/// The devices in the order of their numbers of I/Os, most first, and the names of those that have
/// no chart.
fn chosen<T>(mut all: Vec<(String, u64, T)>) -> (Vec<(String, T)>, String) {
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let rest = all.split_off(all.len().min(MOST));
    let names: Vec<String> = rest.into_iter().map(|(device, ..)| device).collect();
    let left_out = match names.is_empty() {
        true => String::new(),
        false => format!(" Without a chart: {}.", names.join(", ")),
    };
    let charts = all.into_iter().map(|(device, _, of)| (device, of));
    (charts.collect(), left_out)
}

fn chart(n: usize, device: &str, note: String, view: View) -> Chart {
    Chart {
        id: format!("offsets-{n}"),
        title: format!("Where on {device} do reads and writes go?").into(),
        note,
        height: 460,
        wide: true,
        views: vec![view],
    }
}

/// A unit in which offsets up to `most` bytes are short numbers: its name and its bytes.
fn unit(most: f64) -> (&'static str, f64) {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let short = units
        .into_iter()
        .find(|(_, bits)| most < 4096.0 * f64::from(1u32 << bits));
    let (name, bits) = short.unwrap_or(("TiB", 40));
    (name, (1u64 << bits) as f64)
}

fn of_ios(ios: &[ExcerptIo]) -> Vec<Chart> {
    let mut devices: BTreeMap<&str, Vec<&ExcerptIo>> = BTreeMap::new();
    let moves = |io: &&ExcerptIo| io.bytes > 0 && ["read", "write"].contains(&io.op.as_str());
    for io in ios.iter().filter(moves) {
        devices.entry(&io.device).or_default().push(io);
    }
    let counted = devices
        .into_iter()
        .map(|(device, ios)| (device.to_owned(), ios.len() as u64, ios));
    let (shown, left_out) = chosen(counted.collect());
    let one = |(n, (device, ios)): (usize, (String, Vec<&ExcerptIo>))| {
        let note = format!(
            "Each I/O is a dot, where it begins on the device and when it was queued.{left_out}"
        );
        chart(n, &device, note, dots(&ios))
    };
    shown.into_iter().enumerate().map(one).collect()
}

fn offset(io: &ExcerptIo) -> f64 {
    io.sector as f64 * 512.0
}

fn dots(ios: &[&ExcerptIo]) -> View {
    let unit = unit(ios.iter().map(|io| offset(io)).fold(0.0, f64::max));
    let kinds = [
        ("read", "reads", READS, "circle"),
        ("write", "writes", WRITES, "diamond"),
    ];
    let trace = |(op, name, colour, symbol): (&str, &str, &str, &str)| {
        let own: Vec<&&ExcerptIo> = ios.iter().filter(|io| io.op == op).collect();
        let at = |io: &&&ExcerptIo| super::excerpts::ends_of(io).0;
        let text = |io: &&&ExcerptIo| {
            chart_text(&format!(
                "{} of {} at sector {}, {}",
                io.op,
                size(Bytes(io.bytes)),
                io.sector,
                duration(at(io) as f64)
            ))
        };
        (!own.is_empty()).then(|| {
            json!({
                "type": "scatter", "mode": "markers", "name": name,
                // All digits: those of other charts would move I/Os far out on a device.
                "x": own.iter().map(|io| at(io) as f64 / 1e9).collect::<Vec<f64>>(),
                "y": own.iter().map(|io| offset(io) / unit.1).collect::<Vec<f64>>(),
                "text": own.iter().map(text).collect::<Vec<String>>(),
                "marker": {"color": colour, "size": 7, "symbol": symbol},
                "hovertemplate": "%{text}<extra></extra>",
            })
        })
    };
    let mut layout = axis::single(
        &axis::over_time("time, s"),
        &axis::titled(&format!("offset, {}", unit.0)),
    );
    layout["showlegend"] = json!(true);
    View {
        label: "dots",
        traces: kinds.into_iter().filter_map(trace).collect(),
        layout,
    }
}

fn of_maps(maps: &[OffsetMap]) -> Vec<Chart> {
    let counted = maps.iter().map(|map| (map.device.clone(), map.ios(), map));
    let (shown, left_out) = chosen(counted.filter(|(_, ios, _)| *ios > 0).collect());
    // Many cells make the page large.
    let most = match shown.len() {
        1 => (256, 128),
        _ => (128, 64),
    };
    let one = |(n, (device, map)): (usize, (String, &OffsetMap))| {
        let grid = Grid::of(map, most);
        let note = format!(
            "Colour: how many {} begin in {} of the device and {}. Level bands: one place again and \
             again; slopes: one place behind the other; clouds: anywhere. Of {} I/Os with \
             data.{left_out}",
            match (grid.reads.is_some(), grid.writes.is_some()) {
                (true, true) => "reads (above) and writes (below)",
                (true, false) => "reads",
                _ => "writes",
            },
            Bytes(grid.range_bytes as u64),
            duration(grid.window_ns),
            count(map.ios()),
        );
        chart(n, &device, note, view(&grid))
    };
    shown.into_iter().enumerate().map(one).collect()
}

/// Reads above writes on the same axes, or one of the two alone.
fn view(grid: &Grid) -> View {
    let unit = unit(grid.end());
    let kinds = [
        ("reads", &grid.reads, "@ramp-a"),
        ("writes", &grid.writes, "@ramp-poll"),
    ];
    let there = kinds
        .into_iter()
        .filter_map(|(name, of, ramp)| Some((name, of.as_ref()?, ramp)));
    let there: Vec<_> = there.collect();
    let both = there.len() > 1;
    let trace = |(n, (name, counts, ramp)): (usize, &(&str, &grid::Counts, &str))| {
        let most = counts.iter().flatten().flatten().max();
        let mut trace = json!({
            "type": "heatmap", "name": name, "z": counts,
            "x0": grid.first_s, "dx": grid.window_ns * 1e-9,
            "y0": grid.first_offset() / unit.1, "dy": grid.range_bytes / unit.1,
            "zmin": 0, "zmax": most, "colorscale": ramp, "hoverongaps": false,
            "colorbar": {
                "title": {"text": name}, "thickness": 12, "outlinewidth": 0,
                "nticks": most.map_or(2, |most| (*most).clamp(2, 5)),
            },
            "hovertemplate": format!("%{{z}} {name} at %{{y:.6g}} {}, %{{x:.4g}} s<extra></extra>", unit.0),
        });
        if both {
            trace["colorbar"]["len"] = json!(0.5);
            trace["colorbar"]["y"] = json!([0.77, 0.23][n.min(1)]);
        }
        if n > 0 {
            trace["yaxis"] = json!("y2");
        }
        trace
    };
    let (time, offset) = (
        axis::over_time("time, s"),
        axis::titled(&format!("offset, {}", unit.0)),
    );
    let traces = there.iter().enumerate().map(trace).collect();
    let layout = match both {
        true => axis::halves(&time, &offset),
        false => axis::single(&time, &offset),
    };
    View {
        label: "map",
        traces,
        layout,
    }
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
