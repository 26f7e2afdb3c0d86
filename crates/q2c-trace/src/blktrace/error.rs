use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A blktrace file that could not be read or used.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum BlktraceError {
    #[error("read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("read {}, offset {offset}: expected {expected}, found {found}; copy or record it again, or skip and count what is bad with --skip-bad", path.display())]
    Record {
        path: PathBuf,
        offset: u64,
        expected: String,
        found: String,
    },
    #[error("read {}: expected {expected} as in {}, found {found}; the files are of different traces", path.display(), first.display())]
    Mixed {
        path: PathBuf,
        first: PathBuf,
        expected: String,
        found: String,
    },
    #[error("find the files of blktrace {}: expected {}.blktrace.N or a blktrace file of that name, found none", base.display(), base.display())]
    Absent { base: PathBuf },
    #[error("read blktrace {}: expected at least one event, found none in {files} files; was anything done on the device?", base.display())]
    Empty { base: PathBuf, files: usize },
}
