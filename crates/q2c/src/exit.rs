//! The exit codes of errors about traces. Crates that read and write traces know no exit codes, so
//! an error that wraps one of theirs gets its code here, too. Every other error of a library says
//! its code by its method `exit`.

use q2c_analyze::AnalyzeError;
use q2c_replay::ReplayError;
use q2c_result::Exit;
use q2c_trace::TraceError;
use q2c_trace::export::ExportError;
use q2c_trace::import::ImportError;
use q2c_trace::recording::RecordingError;

/// For a trace that cannot be written.
pub fn trace_exit(error: &TraceError) -> Exit {
    match error {
        TraceError::Stopped { .. } => Exit::Interrupted,
        TraceError::Exists { .. } => Exit::Usage,
        _ => Exit::Device,
    }
}

/// For a recording that cannot be read or used.
pub fn import_exit(error: &ImportError) -> Exit {
    match error {
        ImportError::Trace(error) => trace_exit(error),
        ImportError::Option { .. }
        | ImportError::Map { .. }
        | ImportError::Pattern { .. }
        | ImportError::Merge { .. }
        | ImportError::Unknown { .. } => Exit::Usage,
        ImportError::Sort { .. } => Exit::Environment,
        _ => Exit::Input,
    }
}

/// For a capture that cannot be kept.
pub fn recording_exit(error: &RecordingError) -> Exit {
    match error {
        RecordingError::Trace(error) => trace_exit(error),
        RecordingError::Spill { .. } | RecordingError::InFlight => Exit::Environment,
    }
}

/// For a trace that cannot be exported.
pub fn export_exit(error: &ExportError) -> Exit {
    match error {
        ExportError::Trace(TraceError::Stopped { .. }) => Exit::Interrupted,
        ExportError::Exists { .. } | ExportError::Unfit { .. } => Exit::Usage,
        ExportError::Trace(_) | ExportError::Nothing { .. } => Exit::Input,
        ExportError::Write { .. } | ExportError::Create { .. } => Exit::Device,
    }
}

/// For a recording that cannot be analysed.
pub fn analyze_exit(error: &AnalyzeError) -> Exit {
    match error {
        AnalyzeError::Import(error) => import_exit(error),
        AnalyzeError::Empty { .. } => Exit::Input,
    }
}

/// For a recording that cannot be simulated.
pub fn study_exit(error: &q2c_study::SourceError) -> Exit {
    use q2c_study::SourceError;
    match error {
        SourceError::Stopped { .. } => Exit::Interrupted,
        SourceError::Spill { .. } => Exit::Environment,
        SourceError::Import(error) => import_exit(error),
        _ => Exit::Input,
    }
}

/// For a trace that cannot be replayed.
pub fn replay_exit(error: &q2c_compare::SourceError) -> Exit {
    use q2c_compare::SourceError;
    match error {
        SourceError::Import(error) => import_exit(error),
        SourceError::Stopped => Exit::Interrupted,
        SourceError::Unfit(ReplayError::TooSmall { .. }) => Exit::Target,
        SourceError::Read(_)
        | SourceError::Empty { .. }
        | SourceError::Unfit(ReplayError::NoCompletions { .. } | ReplayError::NoKey(_)) => {
            Exit::Input
        }
        SourceError::Unfit(_) => Exit::Environment,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_compare::SourceError;
    use q2c_trace::TraceReader;

    #[test]
    fn a_trace_that_cannot_be_read_is_a_bad_input() {
        let folder = tempfile::tempdir().unwrap();
        let cut = folder.path().join("cut.parquet");
        std::fs::write(&cut, b"PAR1 and no more").unwrap();
        let Err(error) = TraceReader::open(&cut) else {
            panic!("a file without a trace was opened");
        };
        assert_eq!(replay_exit(&SourceError::Read(error)), Exit::Input);
        assert_eq!(replay_exit(&SourceError::Stopped), Exit::Interrupted);
    }
}
