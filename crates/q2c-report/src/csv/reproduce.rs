//! The series of `q2c reproduce` as CSV.

use super::{field, text};
use q2c_result::reproduce::{AllResult, ReproduceResult};

/// Every interval of every job, or every figure of studies without jobs, one row each.
///
/// # Errors
/// The CSV writer refused a row; the types of the rows leave no way for that.
pub fn reproduce(result: &ReproduceResult) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "point",
        "trial",
        "phase",
        "job",
        "end_s",
        "iops",
        "handled",
        "miss_rate",
        "effective_sleep_ns",
        "cpu_pct",
        "mean_ns",
        "p99_ns",
        "figure",
        "value",
    ])?;
    for point in &result.points {
        let at: Vec<String> = point
            .at
            .iter()
            .map(|(axis, v)| format!("{axis}={v}"))
            .collect();
        let at = at.join(" ");
        for trial in &point.trials {
            let number = trial.trial.to_string();
            for (name, value) in &trial.figures {
                let mut row = vec![at.clone(), number.clone()];
                row.extend(std::iter::repeat_n(String::new(), 10));
                row.extend([name.clone(), field(*value)]);
                writer.write_record(&row)?;
            }
            for (phase, label) in trial.phases.iter().zip(&result.phases) {
                for job in &phase.jobs {
                    for tick in &job.ticks {
                        // An interval in which no rule handled an I/O has no misses or sleeps.
                        let slept = |value: f64| match tick.handled > 0.0 {
                            true => field(value),
                            false => String::new(),
                        };
                        writer.write_record([
                            at.clone(),
                            number.clone(),
                            label.name.clone(),
                            job.job.clone(),
                            field(phase.begin_s + tick.end_s),
                            field(tick.rates.iops),
                            field(tick.handled),
                            slept(tick.rates.miss_rate),
                            slept(tick.rates.effective_sleep_ns),
                            field(tick.rates.cpu_pct),
                            field(tick.mean_ns),
                            field(tick.p99_ns),
                            String::new(),
                            String::new(),
                        ])?;
                    }
                }
            }
        }
    }
    text(writer)
}

/// The verdicts of all experiments, one row for each claim.
///
/// # Errors
/// As [`reproduce`].
pub fn reproduce_all(result: &AllResult) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "experiment",
        "variant_of",
        "claim",
        "published",
        "verdict",
        "basis",
        "why",
    ])?;
    for experiment in &result.experiments {
        for claim in &experiment.claims {
            writer.write_record([
                experiment.name.as_str(),
                experiment.variant_of.as_deref().unwrap_or_default(),
                &claim.says,
                claim.published.as_deref().unwrap_or_default(),
                claim.verdict.name(),
                claim.basis.name(),
                &claim.why,
            ])?;
        }
    }
    text(writer)
}
