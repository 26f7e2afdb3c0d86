//! The figures of `q2c analyze` in the layout of btt, for readers and scripts that know it: seconds
//! with nine decimals.
//!
//! The figures differ from btt's in three ways: no value is raised to 1 ns; overlapping I/Os and
//! requests without Insert are counted (their stage is G2D); no device is left out because of its
//! major number.

use super::screen::printable;
use q2c_result::analyze::AnalyzeResult;

const STAGES: [&str; 9] = [
    "Q2Q", "Q2G", "G2I", "Q2M", "I2D", "G2D", "M2D", "D2C", "Q2C",
];

/// btt's sections All Devices, Device Overhead, Device Merge Information and Q2Q seeks.
#[must_use]
pub fn btt(result: &AnalyzeResult) -> String {
    stages(result) + &overhead(result) + &merges(result) + &seeks(result)
}

fn heading(title: &str) -> String {
    format!("==================== {title} ====================\n\n")
}

fn stages(result: &AnalyzeResult) -> String {
    let [name, min, mean, max, n] = ["ALL", "MIN", "AVG", "MAX", "N"];
    let mut text = heading("All Devices");
    text += &format!("{name:>15} {min:>13} {mean:>13} {max:>13} {n:>11}\n");
    text += &format!("--------------- {0} {0} {0} -----------\n", "-".repeat(13));
    let rows = STAGES.iter();
    let rows = rows.filter_map(|name| Some((name, result.stages.get(*name)?)));
    for (name, stats) in rows {
        let (min, mean) = (stats.min_ns as f64 / 1e9, stats.mean_ns / 1e9);
        let (max, n) = (stats.max_ns as f64 / 1e9, stats.n);
        text += &format!("{name:<15} {min:>13.9} {mean:>13.9} {max:>13.9} {n:>11}\n");
    }
    text + "\n"
}

fn overhead(result: &AnalyzeResult) -> String {
    let Some(bottleneck) = &result.bottleneck else {
        return String::new();
    };
    let shares = STAGES.map(|name| Some((name, bottleneck.shares.get(name)?)));
    let columns = |write: fn(&str, f64) -> String| -> String {
        let shown = shares.iter().flatten();
        shown.map(|(name, share)| write(name, **share)).collect()
    };
    let dashes = "-".repeat(11);
    heading("Device Overhead")
        + &format!("{:>10} ", "ALL")
        + &columns(|name, _| format!("| {name:>9} "))
        + &format!("\n{dashes}")
        + &columns(|_, _| "+-----------".to_owned())
        + &format!("\n{:>10} ", "Overall")
        + &columns(|_, share| format!("| {:>8.4}% ", share * 100.0))
        + "\n\n"
}

fn merges(result: &AnalyzeResult) -> String {
    let issued = result.issued;
    let queued = issued + result.merged;
    let ratio = result.merge_ratio.unwrap_or(0.0);
    heading("Device Merge Information")
        + &format!("{:>10} {:>12} {:>12} {:>8}\n", "ALL", "#Q", "#D", "Ratio")
        + &format!("{:>10} {queued:>12} {issued:>12} {ratio:>8.1}\n\n", "TOTAL")
}

fn seeks(result: &AnalyzeResult) -> String {
    let [device, n, mean, median] = ["DEV", "NSEEKS", "MEAN", "MEDIAN"];
    let mut text = heading("Device Q2Q Seek Information");
    text += &format!("{device:>10} {n:>15} {mean:>15} {median:>15}\n");
    for seeks in &result.seeks {
        let device = printable(&seeks.device);
        let (n, mean, median) = (seeks.n, seeks.mean_sectors, seeks.median_sectors);
        text += &format!("{device:>10} {n:>15} {mean:>15.1} {median:>15.0}\n");
    }
    text
}
