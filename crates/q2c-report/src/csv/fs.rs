//! The points of `q2c fs bench` as CSV.

use super::{field, text};
use q2c_result::fs::FsResult;

/// The points, one row each; a quantity that was not measured is an empty field.
///
/// # Errors
/// The CSV writer refused a row; the types of the rows leave no way for that.
pub fn fs(result: &FsResult) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "fs",
        "sharing",
        "access",
        "caching",
        "jobs",
        "bs_bytes",
        "trials",
        "iops",
        "iops_min",
        "iops_max",
        "in_flight",
        "in_flight_min",
        "in_flight_max",
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
            cell.iops.trials.to_string(),
        ];
        for interval in [cell.iops, cell.in_flight] {
            let values = [interval.median, interval.min, interval.max];
            let there = interval.trials > 0;
            row.extend(values.map(|value| if there { field(value) } else { String::new() }));
        }
        let ratio = result.ratios.iter().find(|ratio| ratio.point == *point);
        let ratio = ratio.map(|of| of.shared_to_private);
        let values = ratio.map(|ratio| [ratio.ratio, ratio.low, ratio.high].map(field));
        row.extend(values.unwrap_or_default());
        writer.write_record(row)?;
    }
    text(writer)
}
