//! Limits that a run must keep (`--fail-if`), judged when its result is written and printed.

use crate::output::{NewFile, say, write_new};
use q2c_model::{Fault, OrFault};
use q2c_report::difference::{ComparableResult, Limit};
use q2c_result::Exit;
use q2c_result::diff::JudgedLimit;
use q2c_run::arguments::LimitArgs;
use q2c_run::kept_text;
use serde::Serialize;
use std::path::Path;

pub(crate) struct RunLimits<'a> {
    limits: &'a [Limit],
    baseline: Option<ComparableResult>,
    junit: Option<&'a Path>,
}

impl<'a> RunLimits<'a> {
    /// The limits of a run whose result will have the schema `schema`. What is wrong with them is
    /// told here, before anything is measured.
    pub(crate) fn new(args: &'a LimitArgs, schema: &str) -> Result<Self, Fault> {
        let baseline = args.baseline.as_deref();
        let baseline = baseline.map(|run| read(run, schema)).transpose()?;
        if let (Some(run), true) = (&args.baseline, args.fail_if.is_empty()) {
            let message = format!(
                "compare with {}: expected a limit such as --fail-if 'p99>+5%', found none; q2c diff compares without limits",
                run.display()
            );
            return Err(Fault::new(Exit::Usage, message));
        }
        // The file is made when limits are judged, but a name that is taken must not cost the run.
        NewFile::if_named(args.junit.as_ref())?;
        let figures = q2c_report::difference::declared(schema);
        q2c_report::difference::check(&args.fail_if, &figures, baseline.is_some())
            .or_exit(Exit::Usage)?;
        Ok(RunLimits {
            limits: &args.fail_if,
            baseline,
            junit: args.junit.as_deref(),
        })
    }

    /// Judges the result of a run that ended with `exit`, and tells each limit on stderr. Returns
    /// the exit code of the command. A run without all of its trials is not judged.
    pub(crate) fn end(
        &self,
        exit: Exit,
        folder: &Path,
        result: &impl Serialize,
    ) -> Result<Exit, Fault> {
        if self.limits.is_empty() {
            return Ok(exit);
        }
        if exit != Exit::Done {
            say("limits are not judged: the run did not end with all of its trials, valid ones");
            return Ok(exit);
        }
        let value = serde_json::to_value(result).or_exit(Exit::Internal)?;
        let name = folder.display().to_string();
        let measured = q2c_report::difference::measured(&name, &value).or_exit(Exit::Internal)?;
        let judged = q2c_report::difference::judge(self.limits, &measured, self.baseline.as_ref());
        let judged = judged.or_exit(Exit::Usage)?;
        for limit in &judged {
            say(&format!("limit {}", q2c_report::diff::limit(limit)));
        }
        end(&name, &judged, self.junit)
    }
}

/// Writes judged limits for the system that runs builds, where there is one, and returns the exit
/// code that they mean. `name` is that of the run.
pub(crate) fn end(name: &str, judged: &[JudgedLimit], junit: Option<&Path>) -> Result<Exit, Fault> {
    if let Some(file) = junit {
        let xml = q2c_report::limits::junit(name, judged).or_exit(Exit::Internal)?;
        write_new(file, xml.as_bytes())?;
    }
    if std::env::var("GITHUB_ACTIONS").is_ok_and(|set| set == "true") {
        for line in q2c_report::limits::annotations(judged) {
            say(&line);
        }
    }
    let kept = judged.iter().all(|limit| limit.broken.is_empty());
    Ok(if kept { Exit::Done } else { Exit::Requirements })
}

/// The run to compare with, whose result has this schema.
fn read(run: &Path, schema: &str) -> Result<ComparableResult, Fault> {
    let (path, text) = kept_text(run)?;
    let reason = match q2c_report::difference::read(&path.display().to_string(), &text) {
        Ok(read) if read.schema == schema => return Ok(read),
        Ok(read) => format!(
            "expected a result of {schema}, found {}; a run is compared with one of the same command",
            read.schema
        ),
        Err(error) => error.to_string(),
    };
    let message = format!("compare with {}: {reason}", run.display());
    Err(Fault::new(Exit::Input, message))
}
