//! The stored form of a value that moves between machines: a header of 24 bytes (eight letters that
//! name the kind, then version, checksum and length of the body), then the body in postcard format.
//! All numbers are little-endian.

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// Length of the header, bytes: eight letters, then its numbers.
const HEADER: usize = 8 + NUMBERS;
const NUMBERS: usize = 16;

/// One kind of stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredForm {
    /// The first bytes, which name the kind: eight letters.
    pub letters: &'static str,
    /// Version of the body; every change of a type in it needs a new version.
    pub version: u32,
    /// Description of the value for messages, such as "the state of an analysis".
    pub what: &'static str,
}

/// An error for bytes that are not of a stored form, or for a value that cannot be stored.
#[derive(Debug, Error)]
#[error("read {what}: {reason}")]
pub struct StoredError {
    /// Description of the value that was to be read.
    pub what: &'static str,
    /// The reason why reading or storing failed.
    pub reason: StoredMistake,
}

/// A reason why bytes are not of a stored form, or a value cannot be stored.
#[derive(Debug, Error)]
pub enum StoredMistake {
    /// The bytes begin with something else.
    #[error(
        "expected bytes that begin with \"{letters}\" and {HEADER} bytes at least, found {found} bytes of another kind"
    )]
    Foreign {
        /// The first bytes of this form.
        letters: &'static str,
        /// Number of bytes.
        found: usize,
    },
    /// Another version wrote the bytes.
    #[error(
        "expected version {expected}, found version {found}; make it anew with this version of q2c"
    )]
    Version {
        /// The version of this program.
        expected: u32,
        /// The version found.
        found: u32,
    },
    /// Bytes are missing, or there are too many.
    #[error("expected {expected} bytes behind the header, found {found}; copy it again")]
    Length {
        /// The body's length by the header, bytes.
        expected: u64,
        /// The body's length, bytes.
        found: u64,
    },
    /// The body was changed on the way.
    #[error("expected a body of checksum {expected:08x}, found {found:08x}; copy it again")]
    Damaged {
        /// The checksum in the header.
        expected: u32,
        /// The checksum of the body.
        found: u32,
    },
    /// The body cannot be decoded, although the checksum is right.
    #[error("expected a body of version {version}, found one that cannot be taken apart: {source}")]
    Body {
        /// The version of the body.
        version: u32,
        /// The decoder's error.
        source: postcard::Error,
    },
    /// The body is longer than the value, although the checksum is right.
    #[error("expected a body of version {version}, found {found} bytes more behind it")]
    More {
        /// The version of the body.
        version: u32,
        /// Number of bytes after the value.
        found: usize,
    },
}

impl StoredForm {
    /// Serialises a value. Fails if the format cannot hold its type.
    pub fn to_bytes<T: Serialize>(&self, value: &T) -> Result<Vec<u8>, StoredError> {
        let body = postcard::to_allocvec(value).map_err(|source| self.body_error(source))?;
        let mut bytes = Vec::with_capacity(HEADER + body.len());
        bytes.extend(self.letters.as_bytes());
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(crc32fast::hash(&body).to_le_bytes());
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(body);
        Ok(bytes)
    }

    /// Restores a value from the bytes of [`StoredForm::to_bytes`].
    pub fn from_bytes<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, StoredError> {
        let body = self.body(bytes).map_err(|reason| self.error(reason))?;
        let decoded = postcard::take_from_bytes(body);
        let (value, unread_bytes) = decoded.map_err(|source| self.body_error(source))?;
        match (unread_bytes.len(), self.version) {
            (0, _) => Ok(value),
            (found, version) => Err(self.error(StoredMistake::More { version, found })),
        }
    }

    /// Returns the body if the header agrees with it.
    fn body<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], StoredMistake> {
        let contents = bytes.strip_prefix(self.letters.as_bytes());
        let Some((numbers, body)) = contents.and_then(<[u8]>::split_first_chunk::<NUMBERS>) else {
            let (letters, found) = (self.letters, bytes.len());
            return Err(StoredMistake::Foreign { letters, found });
        };
        // The version is at byte 0, the checksum at 4, and the length at 8 and 12.
        let number = |from: usize| u32::from_le_bytes(std::array::from_fn(|i| numbers[from + i]));
        let (expected, found) = (self.version, number(0));
        if found != expected {
            return Err(StoredMistake::Version { expected, found });
        }
        let length = u64::from(number(8)) | u64::from(number(12)) << 32;
        let (expected, found) = (length, body.len() as u64);
        if found != expected {
            return Err(StoredMistake::Length { expected, found });
        }
        match (number(4), crc32fast::hash(body)) {
            (expected, found) if expected == found => Ok(body),
            (expected, found) => Err(StoredMistake::Damaged { expected, found }),
        }
    }

    fn body_error(&self, source: postcard::Error) -> StoredError {
        let version = self.version;
        self.error(StoredMistake::Body { version, source })
    }

    fn error(&self, reason: StoredMistake) -> StoredError {
        let what = self.what;
        StoredError { what, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: StoredForm = StoredForm {
        letters: "q2cthing",
        version: 3,
        what: "a thing",
    };

    /// In postcard, 300 is 2 groups of 7 bits, the lower one first: 0xac 0x02. The checksum is
    /// zlib's.
    #[test]
    fn a_number_has_these_bytes() {
        let bytes = FORM.to_bytes(&300_u32).unwrap();
        let mut by_hand = b"q2cthing\x03\0\0\0".to_vec();
        by_hand.extend(0xad65_8036_u32.to_le_bytes());
        by_hand.extend(*b"\x02\0\0\0\0\0\0\0\xac\x02");
        assert_eq!(bytes, by_hand);
        assert_eq!(FORM.from_bytes::<u32>(&bytes).unwrap(), 300);
    }

    #[test]
    fn other_bytes_are_refused_with_the_reason() {
        let message = |bytes: &[u8]| FORM.from_bytes::<u32>(bytes).unwrap_err().to_string();
        let whole = FORM.to_bytes(&300_u32).unwrap();
        let changed = |place: usize, byte: u8| {
            let mut other = whole.clone();
            other[place] = byte;
            message(&other)
        };
        assert!(message(b"").contains("24 bytes at least, found 0 bytes of another kind"));
        assert!(changed(0, b'Q').contains("of another kind"));
        assert!(changed(8, 4).contains("expected version 3, found version 4"));
        assert!(changed(25, 3).contains("checksum ad658036"));
        assert!(message(&whole[..25]).contains("expected 2 bytes behind the header, found 1"));
        let wider = StoredForm::to_bytes(&FORM, &(300_u32, 1_u8)).unwrap();
        assert!(message(&wider).contains("found 1 bytes more behind it"));
        let shorter = FORM.to_bytes(&()).unwrap();
        assert!(message(&shorter).contains("cannot be taken apart"));
    }
}
