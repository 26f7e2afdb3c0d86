//! The serialised form of an analysis.

use crate::Analyzer;
use crate::state::Broken;
use q2c_model::stored::{StoredError, StoredForm};
use thiserror::Error;

const FORM: StoredForm = StoredForm {
    letters: "q2cstate",
    version: 2,
    what: "the state of an analysis",
};

/// Bytes that are no analysis, or an analysis that has no bytes.
#[derive(Debug, Error)]
pub enum StateError {
    /// They are of another kind or version, damaged, or not whole.
    #[error(transparent)]
    Stored(#[from] StoredError),
    /// The body has figures that no I/Os have.
    #[error("read the state of an analysis: {0}")]
    Broken(#[from] Broken),
}

impl Analyzer {
    /// The serialised form: some 100 KB, up to 150 KB more for each of 8 devices that is
    /// read and written all over, and for a later part up to 4 MB more for its first I/Os.
    ///
    /// # Errors
    /// When the format has no form for it.
    pub fn to_bytes(&self) -> Result<Vec<u8>, StateError> {
        Ok(FORM.to_bytes(self)?)
    }

    /// The analysis that [`Analyzer::to_bytes`] made these bytes of.
    ///
    /// # Errors
    /// When the bytes are of another kind or version, damaged, or not whole.
    pub fn from_bytes(bytes: &[u8]) -> Result<Analyzer, StateError> {
        let analyzer: Analyzer = FORM.from_bytes(bytes)?;
        analyzer.check()?;
        Ok(analyzer)
    }
}
