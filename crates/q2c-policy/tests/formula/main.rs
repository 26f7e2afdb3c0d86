//! Formulas: their values, the messages for refused ones, and a parser that no text can break.

mod live;
mod refused;
mod value;

use q2c_policy::{Formula, Statistic};

fn sample(statistic: Statistic) -> f64 {
    match statistic {
        Statistic::Count => 100.0,
        Statistic::Mean => 50_000.0,
        Statistic::Min => 40_001.0,
        Statistic::Max => 200_000.0,
        Statistic::Last => 45_000.0,
        Statistic::Percentile(percent) => 40_000.0 + 1_000.0 * f64::from(percent),
        Statistic::Lmd => 3_000.0,
        Statistic::Misses => 7.0,
    }
}

fn parse(text: &str) -> Formula {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}
