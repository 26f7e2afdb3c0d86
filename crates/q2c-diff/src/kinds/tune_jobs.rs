//! Results of `q2c tune` over several numbers of jobs: each method at each block size, for each
//! number.

use super::{Content, Kind, tune, typed};
use q2c_result::tune::TuneResult;
use q2c_result::tune_jobs::{SCHEMA, TuneJobsResult};
use serde_json::Value;

pub(super) const KIND: Kind = Kind {
    command: "q2c tune",
    schema: SCHEMA,
    figures: tune::FIGURES,
    content,
};

fn content(value: &Value) -> Result<Content, serde_json::Error> {
    let result: TuneJobsResult = typed(value)?;
    let of = |run: &TuneResult| tune::figures(run, &format!("jobs {} ", run.job.jobs));
    Ok(Content {
        figures: result.runs.iter().flat_map(of).collect(),
        version: result.version,
        started_unix_s: Some(result.provenance.started_unix_s),
        complete: result.complete,
        simulated: result
            .runs
            .iter()
            .any(|run| run.machine.simulated.is_some()),
        // The runs differ in their number of jobs alone.
        facts: &["jobs", "runs.0.job", "runs.0.machine", "runs.0.target"],
    })
}
