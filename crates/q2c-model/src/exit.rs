//! The exit codes of all commands.

use std::error::Error;
use std::io;

/// How a command ended, as its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, and the result can be trusted.
    Done = 0,
    /// A fault of q2c itself.
    Internal = 1,
    /// The command line is wrong: unknown option, policy or unit.
    Usage = 2,
    /// An input file is missing, malformed or empty.
    Input = 3,
    /// The machine or kernel lacks what is needed (io_uring forbidden, memlock, no such CPU).
    Environment = 4,
    /// The target is unfit or may not be touched (holes, too small, no O_DIRECT, write protection).
    Target = 5,
    /// The device failed while running (EIO, short transfer) or the run's disk is full.
    Device = 6,
    /// The command ran, but a requirement was missed; the result says which one.
    Requirements = 7,
    /// Stopped by a signal; finished cells are kept.
    Interrupted = 130,
}

impl Exit {
    /// Every code with its meaning, for the help text and the documentation.
    pub const TABLE: [(Exit, &str); 9] = [
        (Exit::Done, "done"),
        (Exit::Internal, "a fault of q2c itself"),
        (Exit::Usage, "the command line is wrong"),
        (Exit::Input, "an input file is missing, malformed or empty"),
        (
            Exit::Environment,
            "the machine or kernel lacks what is needed",
        ),
        (Exit::Target, "the target is unfit, or may not be written"),
        (Exit::Device, "the device or the disk failed while running"),
        (
            Exit::Requirements,
            "ran, but a stated requirement was missed",
        ),
        (
            Exit::Interrupted,
            "stopped by a signal; finished cells are kept",
        ),
    ];

    /// For a file or a folder that the user named for output and that cannot be made: the name is
    /// wrong, the machine forbids it, or its disk fails.
    #[must_use]
    pub fn of_output(error: &io::Error) -> Exit {
        match error.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidFilename => Exit::Usage,
            _ if Exit::is_of_disk(error) => Exit::Device,
            _ => Exit::Environment,
        }
    }

    /// Whether a disk fails, or is full: EIO, ENXIO, ENODEV, ENOSPC, EBADMSG, ETIMEDOUT, ESTALE,
    /// EUCLEAN, EREMOTEIO, EDQUOT. Anything else is refused, by permissions or by a file system
    /// that has no such thing. An error without a number is of q2c's own reading or writing.
    fn is_of_disk(error: &io::Error) -> bool {
        let number = error.raw_os_error();
        let full = matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        );
        full || number
            .is_none_or(|n| matches!(n, 5 | 6 | 19 | 28 | 74 | 110 | 116 | 117 | 121 | 122))
    }

    /// For a file of rows that memory does not hold: its disk is full, or it cannot be made there.
    #[must_use]
    pub fn of_spill(error: &io::Error) -> Exit {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Exit::Device,
            _ => Exit::Environment,
        }
    }

    /// Whether the error, or one behind it, is a limit on open files, of the process (EMFILE) or of
    /// the system (ENFILE). It is the machine's, whatever file it was met at.
    #[must_use]
    pub fn is_limit(error: &(dyn Error + 'static)) -> bool {
        let mut causes = std::iter::successors(Some(error), |error| (*error).source());
        causes.any(|cause| {
            let system = cause.downcast_ref::<io::Error>();
            let number = system.and_then(io::Error::raw_os_error);
            matches!(number, Some(23 | 24))
        })
    }

    /// The status given to the operating system.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_fails_by_its_name_by_the_machine_or_by_its_disk() {
        // ENOENT, ENOTDIR, EPERM, EACCES, EROFS, EOVERFLOW, EOPNOTSUPP, ENFILE, EMFILE, EIO and
        // ENOSPC.
        for (errno, exit) in [
            (2, Exit::Usage),
            (20, Exit::Usage),
            (1, Exit::Environment),
            (13, Exit::Environment),
            (30, Exit::Environment),
            (75, Exit::Environment),
            (95, Exit::Environment),
            (23, Exit::Environment),
            (24, Exit::Environment),
            (5, Exit::Device),
            (28, Exit::Device),
        ] {
            let error = io::Error::from_raw_os_error(errno);
            assert_eq!(Exit::of_output(&error), exit, "{error}");
        }
    }

    #[test]
    fn the_readme_has_the_same_table() {
        let readme = include_str!("../../../README.md");
        let (_, section) = readme.split_once("## Exit codes").unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| "));
        let rows = rows.filter_map(|row| row.strip_suffix(" |"));
        let told: Vec<(String, String)> = rows
            .skip(1)
            .map_while(|row| row.split_once(" | "))
            .map(|(code, meaning)| (code.to_owned(), meaning.to_owned()))
            .collect();
        let wanted = Exit::TABLE.map(|(exit, means)| (exit.code().to_string(), means.to_owned()));
        assert_eq!(told, wanted);
    }
}
