//! The figures of `q2c analyze` in the layout of btt, for readers and scripts that know it: seconds
//! with nine decimals.
//!
//! The figures differ from btt's in meaning: nothing is clamped to 1 ns; overlapping I/Os and
//! requests without Insert are counted (G2D is their stage); and no device is left out for its
//! major number.

use super::screen::printable;
use q2c_result::analyze::AnalyzeResult;

const STAGES: [&str; 9] = [
    "Q2Q", "Q2G", "G2I", "Q2M", "I2D", "G2D", "M2D", "D2C", "Q2C",
];

/// btt's sections All Devices, Device Overhead, Device Merge Information and Q2Q seeks.
#[must_use]
pub fn btt(result: &AnalyzeResult) -> String {
    [
        all(result),
        overhead(result),
        merging(result),
        seeks(result),
    ]
    .concat()
}

fn title(words: &str) -> String {
    format!("==================== {words} ====================\n\n")
}

fn all(result: &AnalyzeResult) -> String {
    let mut text = title("All Devices");
    text += &format!(
        "{:>15} {:>13} {:>13} {:>13} {:>11}\n",
        "ALL", "MIN", "AVG", "MAX", "N"
    );
    text += &format!("--------------- {0} {0} {0} -----------\n", "-".repeat(13));
    for (name, of) in STAGES
        .iter()
        .filter_map(|name| Some((name, result.stages.get(*name)?)))
    {
        let [min, mean, max] = [of.min_ns as f64, of.mean_ns, of.max_ns as f64].map(|ns| ns / 1e9);
        text += &format!(
            "{name:<15} {min:>13.9} {mean:>13.9} {max:>13.9} {:>11}\n",
            of.n
        );
    }
    text + "\n"
}

fn overhead(result: &AnalyzeResult) -> String {
    let Some(found) = &result.bottleneck else {
        return String::new();
    };
    let shown: Vec<&&str> = STAGES
        .iter()
        .filter(|name| found.shares.contains_key(**name))
        .collect();
    let mut text = title("Device Overhead") + &format!("{:>10} ", "ALL");
    text += &shown
        .iter()
        .map(|name| format!("| {name:>9} "))
        .collect::<String>();
    text += &format!("\n{}", "-".repeat(11));
    text += &shown
        .iter()
        .map(|_| format!("+{}", "-".repeat(11)))
        .collect::<String>();
    text += &format!("\n{:>10} ", "Overall");
    let share = |name: &&&str| format!("| {:>8.4}% ", found.shares[**name] * 100.0);
    text + &shown.iter().map(share).collect::<String>() + "\n\n"
}

fn merging(result: &AnalyzeResult) -> String {
    let issued = result.issued;
    let queued = issued + result.merged;
    let ratio = result.merge_ratio.unwrap_or(0.0);
    title("Device Merge Information")
        + &format!("{:>10} {:>12} {:>12} {:>8}\n", "ALL", "#Q", "#D", "Ratio")
        + &format!("{:>10} {queued:>12} {issued:>12} {ratio:>8.1}\n\n", "TOTAL")
}

fn seeks(result: &AnalyzeResult) -> String {
    let mut text = title("Device Q2Q Seek Information");
    text += &format!(
        "{:>10} {:>15} {:>15} {:>15}\n",
        "DEV", "NSEEKS", "MEAN", "MEDIAN"
    );
    for seeks in &result.seeks {
        let device = printable(&seeks.device);
        let (n, mean, median) = (seeks.n, seeks.mean_sectors, seeks.median_sectors);
        text += &format!("{device:>10} {n:>15} {mean:>15.1} {median:>15.0}\n");
    }
    text
}
