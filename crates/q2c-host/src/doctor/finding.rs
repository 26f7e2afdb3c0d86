//! The result of one check, without its name and group.

use q2c_result::Verdict;

/// The result of one check; the registry adds name and group to make a [`q2c_result::Check`], which
/// tells what the fields mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub verdict: Verdict,
    pub columns: Vec<String>,
    pub found: String,
    pub means: String,
    pub fix: Option<String>,
}

impl Finding {
    fn new(verdict: Verdict, found: impl Into<String>, means: &str) -> Finding {
        Finding {
            verdict,
            columns: Vec::new(),
            found: found.into(),
            means: means.to_owned(),
            fix: None,
        }
    }

    pub fn pass(found: impl Into<String>, means: &str) -> Finding {
        Finding::new(Verdict::Pass, found, means)
    }

    pub fn warn(found: impl Into<String>, means: &str) -> Finding {
        Finding::new(Verdict::Warn, found, means)
    }

    /// The columns of results that the finding makes invalid are named as in [`q2c_result::Check`].
    pub fn invalidates(columns: &[&str], found: impl Into<String>, means: &str) -> Finding {
        Finding {
            columns: columns.iter().map(|&c| c.to_owned()).collect(),
            ..Finding::new(Verdict::Invalidates, found, means)
        }
    }

    pub fn unknown(found: impl Into<String>, means: &str) -> Finding {
        Finding::new(Verdict::Unknown, found, means)
    }

    /// Adds the line that would change the state found.
    pub fn fix(self, line: impl Into<String>) -> Finding {
        Finding {
            fix: Some(line.into()),
            ..self
        }
    }
}

/// The line that writes a value to a file of sysfs or procfs.
pub(super) fn write_line(value: &str, path: &str) -> String {
    format!("echo {value} > {path}")
}
