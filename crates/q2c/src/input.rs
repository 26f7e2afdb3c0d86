//! Files that the user names and that are read as a whole.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Most bytes of a result; those of a bench of very many points have some dozens of MB.
pub const RESULT: u64 = 1 << 30;
/// Most bytes of a file that somebody wrote by hand.
pub const BY_HAND: u64 = 1 << 20;

/// Reads a file of up to `most` bytes. It may be a device or a pipe without an end.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::other(format!(
            "expected up to {most} bytes, found more"
        ))),
        false => Ok(bytes),
    }
}

/// As [`read`], for text.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_refused() {
        let told = read(Path::new("/dev/zero"), BY_HAND).unwrap_err();
        assert!(told.to_string().contains("up to 1048576 bytes"), "{told}");
        assert_eq!(read_text(Path::new("/dev/null"), BY_HAND).unwrap(), "");
    }
}
