use super::remedy::Remedy;
use q2c_result::CheckVerdict;

/// The result of one check; the registry adds name and group to make a [`q2c_result::Check`], which
/// tells what the fields mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub verdict: CheckVerdict,
    pub columns: Vec<String>,
    pub found: String,
    pub means: String,
    pub remedy: Option<Remedy>,
}

impl Finding {
    fn new(verdict: CheckVerdict, found: impl Into<String>, means: &str) -> Finding {
        Finding {
            verdict,
            columns: Vec::new(),
            found: found.into(),
            means: means.to_owned(),
            remedy: None,
        }
    }

    pub(crate) fn pass(found: impl Into<String>, means: &str) -> Finding {
        Finding::new(CheckVerdict::Pass, found, means)
    }

    pub(crate) fn warn(found: impl Into<String>, means: &str) -> Finding {
        Finding::new(CheckVerdict::Warn, found, means)
    }

    pub(crate) fn invalidates(columns: &[&str], found: impl Into<String>, means: &str) -> Finding {
        Finding {
            columns: columns.iter().map(|&c| c.to_owned()).collect(),
            ..Finding::new(CheckVerdict::Invalidates, found, means)
        }
    }

    pub(crate) fn unknown(found: impl Into<String>, means: &str) -> Finding {
        Finding::new(CheckVerdict::Unknown, found, means)
    }

    pub(crate) fn mend(self, remedy: impl Into<Option<Remedy>>) -> Finding {
        Finding {
            remedy: remedy.into(),
            ..self
        }
    }
}
