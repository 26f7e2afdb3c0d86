//! The serialised form of an analysis.

use crate::Analyzer;
use q2c_model::stored::StoredForm;
use q2c_model::{Exit, Fault, OrFault};

const FORM: StoredForm = StoredForm {
    letters: "q2cstate",
    version: 2,
    what: "the state of an analysis",
};

impl Analyzer {
    /// The serialised form: some 100 KB, up to 150 KB more for each of 8 devices that is
    /// read and written all over, and for a later part up to 4 MB more for its first I/Os.
    ///
    /// # Errors
    /// When the format has no form for it.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Fault> {
        FORM.to_bytes(self).or_exit(Exit::Internal)
    }

    /// The analysis that [`Analyzer::to_bytes`] made these bytes of.
    ///
    /// # Errors
    /// When the bytes are of another kind or version, damaged, or not whole.
    pub fn from_bytes(bytes: &[u8]) -> Result<Analyzer, Fault> {
        let analyzer: Analyzer = FORM.from_bytes(bytes).or_exit(Exit::Input)?;
        analyzer.check()?;
        Ok(analyzer)
    }
}
