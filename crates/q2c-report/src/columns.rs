//! The cells of a sweep by column, for other table formats.

use q2c_model::Simulated;
use q2c_result::sweep::SweepResult;
use std::collections::BTreeSet;

/// A column with its name. All columns of a table have the same length; [`f64::NAN`] means that
/// there is no value.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// A column of texts: name and values.
    Text(String, Vec<String>),
    /// A column of numbers: name, with the unit in it, and values.
    Number(String, Vec<f64>),
}

/// A column of a sweep's rates: name, with the unit in it, and the function that reads it.
type Rate = (&'static str, fn(&Simulated) -> f64);

pub(crate) const RATES: [Rate; 12] = [
    ("iops", |r| r.rates.iops),
    ("cpu_pct", |r| r.rates.cpu_pct),
    ("cpu_ns_per_io", |r| r.cpu_ns_per_io),
    ("kiops_per_core", |r| r.kiops_per_core),
    ("miss_rate", |r| r.rates.miss_rate),
    ("effective_sleep_ns", |r| r.rates.effective_sleep_ns),
    ("t_over", |r| r.t_over),
    ("t_under", |r| r.t_under),
    ("mean_ns", |r| r.latencies.mean_ns),
    ("p50_ns", |r| r.latencies.p50_ns),
    ("p99_ns", |r| r.latencies.p99_ns),
    ("p999_ns", |r| r.latencies.p999_ns),
];

/// The cells of a sweep, one row each, with the columns `input`, `rule`, `policy`, `bs_bytes`, one
/// for every parameter that occurs (`param_ratio`) and one for every rate.
#[must_use]
pub fn sweep(result: &SweepResult) -> Vec<Column> {
    let cells = &result.cells;
    let text = |name: &str, of: &dyn Fn(usize) -> String| {
        Column::Text(name.to_owned(), (0..cells.len()).map(of).collect())
    };
    let number = |name: String, of: &dyn Fn(usize) -> f64| {
        Column::Number(name, (0..cells.len()).map(of).collect())
    };
    let mut columns = vec![
        text("input", &|i| result.inputs[cells[i].input].path.clone()),
        text("rule", &|i| cells[i].rule.clone()),
        text("policy", &|i| cells[i].policy.clone()),
        number("bs_bytes".to_owned(), &|i| cells[i].bs.0 as f64),
    ];
    let params: BTreeSet<&String> = cells.iter().flat_map(|c| c.params.keys()).collect();
    for param in params {
        let of = |i: usize| cells[i].params.get(param).copied().unwrap_or(f64::NAN);
        columns.push(number(format!("param_{param}"), &of));
    }
    columns.extend(RATES.map(|(name, of)| number(name.to_owned(), &|i| of(&cells[i].gives))));
    columns
}
