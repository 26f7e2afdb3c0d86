//! Reads files completely. A file that is not a regular file, or is too large, is refused before it
//! costs time or memory.

use q2c_model::{Exit, Fault};
use rustix::fs::OFlags;
use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Most bytes of a result or a run's journal. A bench with very many points has some hundreds of
/// MB.
pub const MAX_RESULT: u64 = 1 << 30;
/// Most bytes of the other files that q2c writes: plans, states, calibrations.
pub const MAX_SMALL: u64 = 1 << 26;
/// Most bytes of a file that a user wrote by hand.
pub const MAX_TEXT: u64 = 1 << 20;

/// Reads a regular file of up to `max_bytes`. A pipe could block forever, and a device has no end.
pub(crate) fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    // The open of a pipe without a writer must not wait.
    let without_wait = OFlags::NONBLOCK.bits() as i32;
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(without_wait).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        read_up_to(file, max_bytes)
    } else {
        let message = format!("expected a regular file, found {}", kind_name(kind));
        Err(io::Error::other(message))
    }
}

/// Reads a text file of up to `max_bytes` bytes, like [`read`].
pub fn read_text(path: &Path, max_bytes: u64) -> io::Result<String> {
    text(read(path, max_bytes)?)
}

/// Reads up to `max_bytes` of a file that the user names on the command line. It may be a pipe,
/// such as that of `<(command)`; the call waits for its end, as every reader of a pipe does.
pub fn read_named(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    read_up_to(File::open(path)?, max_bytes)
}

/// Reads a text file that the user names, like [`read_named`].
pub fn read_named_text(path: &Path, max_bytes: u64) -> io::Result<String> {
    text(read_named(path, max_bytes)?)
}

fn read_up_to(file: File, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(max_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 <= max_bytes {
        return Ok(bytes);
    }
    let message = format!("expected up to {max_bytes} bytes, found more");
    Err(io::Error::other(message))
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn kind_name(kind: FileType) -> &'static str {
    match () {
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_char_device() => "a character device",
        () if kind.is_block_device() => "a block device",
        () if kind.is_socket() => "a socket",
        () => "something else",
    }
}

fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => "; q2c runs lists the runs that are here",
        io::ErrorKind::PermissionDenied => "; run q2c as the user whose run it is",
        _ => "",
    }
}

/// Reads the result of a run: `run` is the run's folder, or a file with a result. Returns the path
/// of the file and its text.
pub fn read_result_text(run: &Path) -> Result<(PathBuf, String), Fault> {
    let (path, text) = if run.is_dir() {
        let path = run.join("result.json");
        let text = read_text(&path, MAX_RESULT);
        (path, text)
    } else {
        let text = read_named_text(run, MAX_RESULT);
        (run.to_owned(), text)
    };
    let text = text.map_err(|source| {
        let reason = match source.kind() {
            io::ErrorKind::NotFound if run.is_dir() => {
                "expected the result of q2c tune, bench, analyze, replay or compare, found none: the run has not ended, or was another command's; \
                 q2c runs lists the runs that are here"
                    .to_owned()
            }
            _ => format!("{source}{}", advice(&source)),
        };
        Fault::new(Exit::Input, format!("read {}: {reason}", path.display())).with_source(source)
    })?;
    Ok((path, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_refused() {
        let error = read_named(Path::new("/dev/zero"), MAX_TEXT).unwrap_err();
        assert!(error.to_string().contains("up to 1048576 bytes"), "{error}");
        let empty = read_named_text(Path::new("/dev/null"), MAX_TEXT);
        assert_eq!(empty.unwrap(), "");
    }

    /// The pipe has no writer: an ordinary open of it would not return.
    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        for (path, kind) in [
            (pipe.as_path(), "a pipe"),
            (folder.path(), "a folder"),
            (Path::new("/dev/zero"), "a character device"),
        ] {
            let message = read(path, MAX_TEXT).unwrap_err().to_string();
            assert_eq!(message, format!("expected a regular file, found {kind}"));
        }
        let file = folder.path().join("file");
        std::fs::write(&file, "text").unwrap();
        assert_eq!(read_text(&file, 4).unwrap(), "text");
        let message = read(&file, 3).unwrap_err().to_string();
        assert_eq!(message, "expected up to 3 bytes, found more");
    }
}
