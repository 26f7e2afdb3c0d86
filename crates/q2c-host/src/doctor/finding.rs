use super::remedy::Remedy;
use q2c_result::Verdict;

/// The result of one check; the registry adds name and group to make a [`q2c_result::Check`], which
/// tells what the fields mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub verdict: Verdict,
    pub columns: Vec<String>,
    pub found: String,
    pub means: String,
    pub remedy: Option<Remedy>,
}

impl Finding {
    fn new(verdict: Verdict, found: impl Into<String>, means: &str) -> Finding {
        Finding {
            verdict,
            columns: Vec::new(),
            found: found.into(),
            means: means.to_owned(),
            remedy: None,
        }
    }

    pub fn pass(found: impl Into<String>, means: &str) -> Finding {
        Finding::new(Verdict::Pass, found, means)
    }

    pub fn warn(found: impl Into<String>, means: &str) -> Finding {
        Finding::new(Verdict::Warn, found, means)
    }

    pub fn invalidates(columns: &[&str], found: impl Into<String>, means: &str) -> Finding {
        Finding {
            columns: columns.iter().map(|&c| c.to_owned()).collect(),
            ..Finding::new(Verdict::Invalidates, found, means)
        }
    }

    pub fn unknown(found: impl Into<String>, means: &str) -> Finding {
        Finding::new(Verdict::Unknown, found, means)
    }

    pub fn mend(self, remedy: impl Into<Option<Remedy>>) -> Finding {
        Finding {
            remedy: remedy.into(),
            ..self
        }
    }
}
