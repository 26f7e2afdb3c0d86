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

    /// [`Exit::Done`] if a command's outcome meets the requirements, else [`Exit::Requirements`].
    pub fn requirements(met: bool) -> Exit {
        if met { Exit::Done } else { Exit::Requirements }
    }

    /// The exit if a file or folder for output cannot be made: its name is wrong, the machine
    /// forbids it, or its disk fails.
    pub fn from_output_error(error: &io::Error) -> Exit {
        match error.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidFilename => Exit::Usage,
            _ if is_full(error) => Exit::Device,
            // A disk fails or is full: EIO, ENXIO, ENODEV, ENOSPC, EBADMSG, ETIMEDOUT, ESTALE,
            // EUCLEAN, EREMOTEIO, EDQUOT. Other errors come from permissions or from missing
            // features of a file system. An error without a number comes from q2c's own reading or
            // writing.
            _ => match error.raw_os_error() {
                None | Some(5 | 6 | 19 | 28 | 74 | 110 | 116 | 117 | 121 | 122) => Exit::Device,
                Some(_) => Exit::Environment,
            },
        }
    }

    /// The exit if rows that exceed the memory cannot be spilled: disk full, or no file can be
    /// made.
    pub fn from_spill_error(error: &io::Error) -> Exit {
        if is_full(error) {
            Exit::Device
        } else {
            Exit::Environment
        }
    }

    /// True if the error, or one of its sources, is a limit on open files of the process (EMFILE)
    /// or the system (ENFILE). The machine is then to blame, whatever the file.
    pub fn is_limit(error: &(dyn Error + 'static)) -> bool {
        let mut causes = std::iter::successors(Some(error), |error| (*error).source());
        causes.any(|cause| {
            let error = cause.downcast_ref::<io::Error>();
            matches!(error.and_then(io::Error::raw_os_error), Some(23 | 24))
        })
    }

    /// The exit status for the operating system.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_fails_by_its_name_by_the_machine_or_by_its_disk() {
        for (errnos, exit) in [
            // ENOENT, ENOTDIR.
            (&[2, 20][..], Exit::Usage),
            // EPERM, EACCES, EROFS, EOVERFLOW, EOPNOTSUPP, ENFILE, EMFILE.
            (&[1, 13, 30, 75, 95, 23, 24], Exit::Environment),
            // EIO, ENOSPC.
            (&[5, 28], Exit::Device),
        ] {
            for error in errnos
                .iter()
                .map(|errno| io::Error::from_raw_os_error(*errno))
            {
                assert_eq!(Exit::from_output_error(&error), exit, "{error}");
            }
        }
    }

    #[test]
    fn the_docs_have_the_same_table() {
        let docs = include_str!("../../../docs/reading.md");
        let (_, section) = docs.split_once("## Exit codes").unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| "));
        let rows = rows.filter_map(|row| row.strip_suffix(" |"));
        let docs_rows: Vec<&str> = rows.skip(1).take_while(|row| row.contains(" | ")).collect();
        let wanted = Exit::TABLE.map(|(exit, means)| format!("{} | {means}", exit.code()));
        assert_eq!(docs_rows, wanted);
    }
}
