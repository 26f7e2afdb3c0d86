//! The serialised form of an analysis: a header of 24 bytes (`q2cstate`, version, checksum and
//! length of the body), then the body in the postcard format. All numbers are little-endian.

use crate::Analyzer;
use crate::state::Broken;
use thiserror::Error;

const MAGIC: &[u8; 8] = b"q2cstate";
/// Version of the body. Any change of a type in it is a new version.
const VERSION: u32 = 1;
const HEADER: usize = 24;

/// Bytes that are no analysis, or an analysis that has no bytes.
#[derive(Debug, Error)]
pub enum StateError {
    /// They begin with something else.
    #[error(
        "read the state of an analysis: expected bytes that begin with \"q2cstate\" and {HEADER} bytes at least, found {found} bytes of another kind"
    )]
    Foreign {
        /// Number of bytes.
        found: usize,
    },
    /// They were written by another version.
    #[error(
        "read the state of an analysis: expected version {VERSION}, found version {found}; make it anew with this version of q2c"
    )]
    Version {
        /// The version found.
        found: u32,
    },
    /// Some are missing, or there are more.
    #[error(
        "read the state of an analysis: expected {expected} bytes behind the header, found {found}; copy it again"
    )]
    Length {
        /// The length that the header tells.
        expected: u64,
        /// The length found.
        found: u64,
    },
    /// They were changed on the way.
    #[error(
        "read the state of an analysis: expected a body of checksum {expected:08x}, found {found:08x}; copy it again"
    )]
    Damaged {
        /// The checksum that the header tells.
        expected: u32,
        /// That of the body.
        found: u32,
    },
    /// The body is not in the format, although the checksum is right.
    #[error("read or write the body of an analysis's state, whose version is {VERSION}: {0}")]
    Body(#[from] postcard::Error),
    /// The body has figures that no I/Os have.
    #[error("read the state of an analysis: {0}")]
    Broken(#[from] Broken),
}

impl Analyzer {
    /// The serialised form: some 100 KB, and for a later part up to 4 MB more for its first I/Os.
    ///
    /// # Errors
    /// [`StateError::Body`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, StateError> {
        let body = postcard::to_allocvec(self)?;
        let mut bytes = Vec::with_capacity(HEADER + body.len());
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(crc32fast::hash(&body).to_le_bytes());
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(body);
        Ok(bytes)
    }

    /// The analysis that [`Analyzer::to_bytes`] made these bytes of.
    ///
    /// # Errors
    /// When the bytes are of another kind or version, damaged, or not whole.
    pub fn from_bytes(bytes: &[u8]) -> Result<Analyzer, StateError> {
        let analyzer: Analyzer = postcard::from_bytes(body(bytes)?)?;
        analyzer.check()?;
        Ok(analyzer)
    }
}

/// The body, once the header agrees with it.
fn body(bytes: &[u8]) -> Result<&[u8], StateError> {
    let found = bytes.len();
    let foreign = StateError::Foreign { found };
    let Some((header, body)) = bytes.split_at_checked(HEADER) else {
        return Err(foreign);
    };
    let Some(rest) = header.strip_prefix(MAGIC) else {
        return Err(foreign);
    };
    let number = |from: usize| -> u32 {
        let bytes = rest[from..].first_chunk().copied().unwrap_or_default();
        u32::from_le_bytes(bytes)
    };
    let (found, checksum) = (number(0), number(4));
    if found != VERSION {
        return Err(StateError::Version { found });
    }
    let expected = u64::from(number(8)) | u64::from(number(12)) << 32;
    let found = body.len() as u64;
    if found != expected {
        return Err(StateError::Length { expected, found });
    }
    match (checksum, crc32fast::hash(body)) {
        (expected, found) if expected != found => Err(StateError::Damaged { expected, found }),
        _ => Ok(body),
    }
}
