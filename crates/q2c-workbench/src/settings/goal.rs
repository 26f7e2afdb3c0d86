//! Arguments that say which rule is best, and which limits it must keep.

use clap::Args;
use q2c_model::{Nanos, parse_duration};
use q2c_sim::{Limits, MinIops, Objective};
use serde::{Deserialize, Serialize};

/// Options of commands that choose a rule.
#[derive(Clone, Debug, PartialEq, Args, Serialize, Deserialize)]
pub struct GoalArgs {
    /// What is best: kiops-per-core, iops or cpu
    #[arg(long, default_value = "kiops-per-core")]
    pub objective: Objective,
    /// The chosen rule keeps at least this many IOPS, or this share of polling's: 9300, 93%
    /// [default: 97%; of the best clean sleep in poll sweep]
    #[arg(long, value_name = "IOPS")]
    pub min_iops: Option<MinIops>,
    /// The chosen rule keeps the 99th percentile of the latency below this, such as 200us
    #[arg(long, value_name = "DURATION", value_parser = latency)]
    #[serde(rename = "max_p99_ns")]
    pub max_p99: Option<Nanos>,
    /// The chosen rule uses at most this much CPU, percent of one CPU and thread
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_hyphen_values = true)]
    #[serde(rename = "max_cpu_pct")]
    pub max_cpu: Option<f64>,
}

impl GoalArgs {
    /// The limits that the chosen rule must keep.
    pub fn limits(&self) -> Limits {
        Limits {
            min_iops: self.min_iops,
            max_p99_ns: self.max_p99.map(|p99| p99.0 as f64),
            max_cpu_pct: self.max_cpu,
        }
    }
}

fn latency(text: &str) -> Result<Nanos, String> {
    let time = parse_duration(text).map_err(|e| e.to_string())?;
    Some(time)
        .filter(|time| *time > Nanos::ZERO)
        .ok_or_else(|| format!("expected a latency above 0, such as 200us, found `{text}`"))
}

fn percent(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.strip_suffix('%').unwrap_or(text).parse().ok();
    let value = value.filter(|percent| *percent > 0.0 && *percent <= 100.0);
    value.ok_or_else(|| format!("expected a percentage above 0 and up to 100, found `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_above_nothing() {
        for text in ["nan", "-5", "0", "inf", "%", "100000%"] {
            assert!(percent(text).is_err(), "{text}");
        }
        assert_eq!(percent("25%"), Ok(25.0));
        assert!(latency("0").is_err() && latency("0us").is_err());
        assert_eq!(latency("200us"), Ok(Nanos::from_micros(200)));
    }
}
