//! The methods of `q2c poll tune-kernel` as CSV.

use super::{field, text};
use q2c_result::kernel_tune::{KernelMethod, KernelTuneResult};
use q2c_stats::Interval;

/// A quantity: the name of its column, its measured interval, and its prediction.
type Quantity = (
    &'static str,
    fn(&KernelMethod) -> Interval,
    fn(&KernelMethod) -> f64,
);

const QUANTITIES: [Quantity; 8] = [
    (
        "iops",
        |m| m.measured.rates.iops,
        |m| m.predicted.rates.iops,
    ),
    (
        "cpu_pct",
        |m| m.measured.rates.cpu_pct,
        |m| m.predicted.rates.cpu_pct,
    ),
    (
        "miss_rate",
        |m| m.measured.rates.miss_rate,
        |m| m.predicted.rates.miss_rate,
    ),
    (
        "effective_sleep_ns",
        |m| m.measured.rates.effective_sleep_ns,
        |m| m.predicted.rates.effective_sleep_ns,
    ),
    (
        "kiops_per_core",
        |m| m.measured.kiops_per_core,
        |m| m.predicted.kiops_per_core,
    ),
    ("relative_iops", |m| m.relative.iops, |_| f64::NAN),
    (
        "relative_kiops_per_core",
        |m| m.relative.kiops_per_core,
        |_| f64::NAN,
    ),
    ("d2c_p99_ns", |m| m.measured.d2c_p99_ns, |_| f64::NAN),
];

/// The methods, one row each. A quantity that was not measured or not predicted is an empty field.
///
/// # Errors
/// The CSV writer refused a row; the types of the rows leave no way for that.
pub fn kernel_tune(result: &KernelTuneResult) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let names = QUANTITIES.iter().flat_map(|(name, ..)| {
        ["median", "min", "max", "predicted"].map(|part| format!("{name}_{part}"))
    });
    let head = ["method", "policy", "role", "trials"].map(str::to_owned);
    writer.write_record(head.into_iter().chain(names))?;
    for method in &result.methods {
        writer.write_record(row(method))?;
    }
    text(writer)
}

fn row(method: &KernelMethod) -> Vec<String> {
    let mut row = vec![
        method.method.name().to_owned(),
        method.method.detail(),
        method.role.text().to_owned(),
        method.measured.rates.iops.trials.to_string(),
    ];
    for (_, measured, predicted) in QUANTITIES {
        let of = measured(method);
        let there = |value: f64| if of.trials > 0 { value } else { f64::NAN };
        row.extend(
            [
                there(of.median),
                there(of.min),
                there(of.max),
                predicted(method),
            ]
            .map(field),
        );
    }
    row
}
