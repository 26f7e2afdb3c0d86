//! The exit codes of errors about traces, for the command line and the Python package. Crates that
//! read and write traces know no exit codes, so an error that wraps one of theirs gets its code
//! here, too. Every other error of a library says its code by its method `exit`.

use q2c_analyze::AnalyzeError;
use q2c_result::Exit;
use q2c_trace::TraceError;
use q2c_trace::export::ExportError;
use q2c_trace::import::ImportError;
use q2c_trace::recording::RecordingError;
use std::error::Error;
use std::io;

/// Whether a limit on open files is the reason of an error: it is the machine's, whatever file it
/// was met at.
fn is_limit(error: &(dyn Error + 'static)) -> bool {
    let mut reasons = std::iter::successors(Some(error), |error| (*error).source());
    reasons.any(|reason| {
        let system = reason.downcast_ref::<io::Error>();
        system.is_some_and(Exit::is_limit)
    })
}

/// For a trace that cannot be written, or whose content cannot be used.
#[must_use]
pub fn trace_exit(error: &TraceError) -> Exit {
    match error {
        _ if is_limit(error) => Exit::Environment,
        TraceError::Stopped { .. } => Exit::Interrupted,
        TraceError::Exists { .. } => Exit::Usage,
        TraceError::Thread { .. } => Exit::Environment,
        TraceError::NotMade { source, .. } => Exit::of_output(source),
        TraceError::Io { .. }
        | TraceError::DiskFull { .. }
        | TraceError::Parquet { .. }
        | TraceError::NotNamed { .. }
        | TraceError::Incomplete { .. }
        | TraceError::Describe { .. } => Exit::Device,
        _ => Exit::Input,
    }
}

/// For a trace that cannot be read.
#[must_use]
pub fn unread_exit(error: &TraceError) -> Exit {
    match error {
        _ if is_limit(error) => Exit::Environment,
        TraceError::Stopped { .. } => Exit::Interrupted,
        TraceError::Thread { .. } => Exit::Environment,
        _ => Exit::Input,
    }
}

/// For a file of rows that memory does not hold: its disk is full, or it cannot be made there.
fn spill_exit(source: &io::Error) -> Exit {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Exit::Device,
        _ => Exit::Environment,
    }
}

/// For a recording that cannot be read or used.
#[must_use]
pub fn import_exit(error: &ImportError) -> Exit {
    match error {
        _ if is_limit(error) => Exit::Environment,
        ImportError::Trace(error) => trace_exit(error),
        ImportError::Option { .. }
        | ImportError::Map { .. }
        | ImportError::Pattern { .. }
        | ImportError::Unused { .. }
        | ImportError::Needless { .. }
        | ImportError::Merge { .. }
        | ImportError::Carried { .. }
        | ImportError::NoFormat { .. } => Exit::Usage,
        ImportError::Sort { source, .. } => spill_exit(source),
        _ => Exit::Input,
    }
}

/// For a capture that cannot be kept.
#[must_use]
pub fn recording_exit(error: &RecordingError) -> Exit {
    match error {
        RecordingError::Trace(error) => trace_exit(error),
        RecordingError::Spill { source, .. } => spill_exit(source),
        RecordingError::InFlight => Exit::Environment,
    }
}

/// For a trace that cannot be exported.
#[must_use]
pub fn export_exit(error: &ExportError) -> Exit {
    match error {
        ExportError::Trace(TraceError::Stopped { .. }) => Exit::Interrupted,
        ExportError::Exists { .. } | ExportError::Unfit { .. } => Exit::Usage,
        ExportError::Trace(_) | ExportError::Nothing { .. } => Exit::Input,
        ExportError::Create { source, .. } => Exit::of_output(source),
        ExportError::Write { .. } => Exit::Device,
    }
}

/// For a recording that cannot be analysed.
#[must_use]
pub fn analyze_exit(error: &AnalyzeError) -> Exit {
    match error {
        AnalyzeError::Import(error) => import_exit(error),
        AnalyzeError::Empty { .. } | AnalyzeError::Untimed { .. } | AnalyzeError::Process(_) => {
            Exit::Input
        }
    }
}

/// For a recording that cannot be simulated.
#[must_use]
pub fn study_exit(error: &q2c_study::SourceError) -> Exit {
    use q2c_study::SourceError;
    match error {
        SourceError::Stopped { .. } => Exit::Interrupted,
        SourceError::Spill { source, .. } => spill_exit(source),
        SourceError::Library { source, .. } => Exit::of_output(source),
        SourceError::Import(error) => import_exit(error),
        _ => Exit::Input,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full disk is code 6 by the table of exit codes, wherever it is met; a folder that is not
    /// there is the machine's lack.
    #[test]
    fn a_full_disk_is_told_as_one() {
        for (kind, exit) in [
            (io::ErrorKind::StorageFull, Exit::Device),
            (io::ErrorKind::QuotaExceeded, Exit::Device),
            (io::ErrorKind::NotFound, Exit::Environment),
        ] {
            let spill = RecordingError::Spill {
                folder: "spill".into(),
                source: kind.into(),
            };
            assert_eq!(recording_exit(&spill), exit);
        }
        let full = TraceError::DiskFull {
            doing: "write trace",
            path: "x".into(),
        };
        assert_eq!(trace_exit(&full), Exit::Device);
    }

    #[test]
    fn a_damaged_trace_is_a_bad_input() {
        let damaged = || TraceError::BrokenPages {
            doing: "read trace",
            path: "x".into(),
        };
        assert_eq!(import_exit(&ImportError::Trace(damaged())), Exit::Input);
        assert_eq!(import_exit(&ImportError::BadTrace(damaged())), Exit::Input);
        let unknown = ImportError::Unknown { path: "x".into() };
        assert_eq!(import_exit(&unknown), Exit::Input);
    }

    /// EMFILE is the machine's, also where an input is opened.
    #[test]
    fn a_limit_on_open_files_is_the_machines() {
        let limit = || io::Error::from_raw_os_error(24);
        let read = |source| ImportError::Read {
            path: "x".into(),
            source,
        };
        let unread = read(limit());
        assert_eq!(import_exit(&unread), Exit::Environment);
        let missing = read(io::ErrorKind::NotFound.into());
        assert_eq!(import_exit(&missing), Exit::Input);
        let open = || TraceError::Io {
            doing: "open trace",
            path: "x".into(),
            source: limit(),
        };
        assert_eq!(
            import_exit(&ImportError::BadTrace(open())),
            Exit::Environment
        );
        assert_eq!(unread_exit(&open()), Exit::Environment);
    }
}
