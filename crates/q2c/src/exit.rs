//! The exit codes of errors about replays of traces. Those of other errors about traces come from
//! `q2c-exit`; every other error of a library says its code by its method `exit`.

pub use q2c_exit::{
    analyze_exit, export_exit, import_exit, recording_exit, study_exit, trace_exit,
};

use q2c_engine::engine::EngineError;
use q2c_exit::unread_exit;
use q2c_replay::ReplayError;
use q2c_result::Exit;

/// For a trace that cannot be replayed.
pub fn replay_exit(error: &q2c_compare::SourceError) -> Exit {
    use q2c_compare::SourceError;
    match error {
        SourceError::Import(error) => import_exit(error),
        SourceError::Stopped => Exit::Interrupted,
        SourceError::Read(error) => unread_exit(error),
        SourceError::Empty { .. } => Exit::Input,
        SourceError::Unfit(error) => replay_error_exit(error),
    }
}

/// For a replay that cannot be run.
pub fn replay_error_exit(error: &ReplayError) -> Exit {
    match error {
        ReplayError::Trace(error) => unread_exit(error),
        ReplayError::Empty { .. }
        | ReplayError::Process(_)
        | ReplayError::NoCompletions { .. }
        | ReplayError::NoKey(_) => Exit::Input,
        ReplayError::TooSmall { .. } => Exit::Target,
        ReplayError::Engine(EngineError::ServiceTimes { .. }) => Exit::Input,
        ReplayError::Engine(EngineError::Precondition { .. }) => Exit::Device,
        ReplayError::Panic(_) => Exit::Internal,
        ReplayError::Record(error) => recording_exit(error),
        // Engines and threads that cannot be set up.
        _ => Exit::Environment,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_compare::SourceError;
    use q2c_trace::recording::RecordingError;
    use q2c_trace::{TraceError, TraceReader};
    use std::io;

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

    /// A full disk is code 6 by the table of exit codes, wherever it is met; a folder that is not
    /// there is the machine's lack.
    #[test]
    fn a_full_disk_is_told_as_one() {
        let spill = |kind: io::ErrorKind| RecordingError::Spill {
            folder: "spill".into(),
            source: kind.into(),
        };
        for (kind, exit) in [
            (io::ErrorKind::StorageFull, Exit::Device),
            (io::ErrorKind::QuotaExceeded, Exit::Device),
            (io::ErrorKind::NotFound, Exit::Environment),
        ] {
            let record = ReplayError::Record(spill(kind));
            assert_eq!(replay_error_exit(&record), exit);
        }
        let full = || TraceError::DiskFull {
            doing: "write trace",
            path: "x".into(),
        };
        let record = ReplayError::Record(RecordingError::Trace(full()));
        assert_eq!(replay_error_exit(&record), Exit::Device);
    }

    /// The same damage is code 3 where the trace is read, also within a trial.
    #[test]
    fn a_damaged_trace_is_a_bad_input() {
        let damaged = || TraceError::BrokenPages {
            doing: "read trace",
            path: "x".into(),
        };
        assert_eq!(replay_error_exit(&damaged().into()), Exit::Input);
    }

    /// EMFILE is the machine's, also where an input is opened.
    #[test]
    fn a_limit_on_open_files_is_the_machines() {
        let limit = || io::Error::from_raw_os_error(24);
        let open = || TraceError::Io {
            doing: "open trace",
            path: "x".into(),
            source: limit(),
        };
        assert_eq!(replay_exit(&SourceError::Read(open())), Exit::Environment);
    }

    /// Each device of a trace gets a part of the target, and there are too many for it.
    #[test]
    fn a_target_without_room_for_the_devices_is_unfit() {
        let small = ReplayError::TooSmall {
            size: 1 << 20,
            needed: 4096,
            devices: 1 << 20,
        };
        assert_eq!(replay_error_exit(&small), Exit::Target);
    }
}
