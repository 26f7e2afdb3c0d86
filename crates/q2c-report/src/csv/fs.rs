//! The points of `q2c fs bench` as CSV.

use super::{field, text};
use q2c_result::fs::FsResult;
use q2c_stats::Interval;

/// The points, one row each; a quantity that was not measured is an empty field.
///
/// # Errors
/// The CSV writer refused a row; the types of the rows leave no way for that.
pub fn fs(result: &FsResult) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    if let Some(program) = &result.program {
        writer.write_record(["fs", "cpus", "trials", "value", "value_min", "value_max"])?;
        for cell in &program.cells {
            let counts = [cell.point.cpus, cell.value.trials].map(|n| n.to_string());
            let name = [cell.point.fs.to_string()];
            let row = name.into_iter().chain(counts).chain(fields(cell.value));
            writer.write_record(row)?;
        }
        return text(writer);
    }
    writer.write_record([
        "fs",
        "sharing",
        "access",
        "caching",
        "jobs",
        "bs_bytes",
        "readahead_bytes",
        "trials",
        "iops",
        "iops_min",
        "iops_max",
        "in_flight",
        "in_flight_min",
        "in_flight_max",
        "from_device",
        "from_device_min",
        "from_device_max",
        "shared_to_private",
        "shared_to_private_low",
        "shared_to_private_high",
    ])?;
    for cell in &result.cells {
        let point = &cell.point;
        let mut row = vec![
            point.fs.to_string(),
            point.sharing.to_string(),
            point.access.to_string(),
            point.caching.to_string(),
            point.jobs.to_string(),
            point.bs.0.to_string(),
            point
                .readahead
                .map_or_else(String::new, |bytes| bytes.0.to_string()),
            cell.iops.trials.to_string(),
        ];
        for interval in [
            cell.iops,
            cell.in_flight,
            cell.from_device.unwrap_or_default(),
        ] {
            row.extend(fields(interval));
        }
        let ratio = result.ratios.iter().find(|ratio| ratio.point == *point);
        let ratio = ratio.map(|of| of.shared_to_private);
        let values = ratio.map(|ratio| [ratio.ratio, ratio.low, ratio.high].map(field));
        row.extend(values.unwrap_or_default());
        writer.write_record(row)?;
    }
    text(writer)
}

/// Median and ends; empty without a trial.
fn fields(of: Interval) -> [String; 3] {
    let there = of.trials > 0;
    let text = |value: f64| if there { field(value) } else { String::new() };
    [of.median, of.min, of.max].map(text)
}
