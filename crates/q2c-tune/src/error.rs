//! The errors with which a tune run ends without a result.

use q2c_engine::RunError as EngineRunError;
use q2c_model::Bytes;
use q2c_result::Exit;
use q2c_run::run_dir::RunDirError;
use q2c_run::runner::RunError as RunnerError;
use q2c_sim::RecordingError;
use q2c_trace::TraceError;
use q2c_workbench::calibrate::CalibrateError;
use thiserror::Error;

/// Why a tune run ends without a result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TuneError {
    /// The calibration failed or was stopped.
    #[error(transparent)]
    Calibrate(#[from] CalibrateError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineRunError),
    /// An I/O of the workload failed; the text names it.
    #[error("{0}")]
    Io(String),
    /// The run folder failed.
    #[error(transparent)]
    Folder(#[from] RunDirError),
    /// The runner failed.
    #[error(transparent)]
    Runner(#[from] RunnerError),
    /// The recording could not be stored.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A recording in the run folder could not be read.
    #[error("{0}; the file was changed by other hands, or the disk lost data: start a new run")]
    Unread(TraceError),
    /// The recording cannot be replayed.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// A recording has no I/O in it.
    #[error(
        "record classic polling at {bs}: expected I/Os in {seconds} s, found none ({lost} had no room); tune a device whose \
         I/Os take longer, or with less --think"
    )]
    NothingRecorded {
        /// Block size of the I/Os.
        bs: Bytes,
        /// Length of the recording, seconds.
        seconds: f64,
        /// I/Os for which there was no room.
        lost: u64,
    },
    /// A file kept in the run folder is broken.
    #[error("read {path} of the run to be resumed: {problem}; start a new run instead")]
    Kept {
        /// Path of the file.
        path: String,
        /// The problem in words.
        problem: String,
    },
    /// The run was stopped before the first trial.
    #[error(
        "tune: stopped by a signal before the first trial; finished stages are kept for --resume"
    )]
    Stopped,
}

impl TuneError {
    /// The program's exit code for this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            TuneError::Stopped | TuneError::Calibrate(CalibrateError::Stopped) => Exit::Interrupted,
            TuneError::Io(_) | TuneError::Calibrate(CalibrateError::Io(_)) => Exit::Device,
            TuneError::Engine(_) | TuneError::Calibrate(_) => Exit::Environment,
            TuneError::Folder(error) => error.exit(),
            TuneError::Runner(error) => error.exit(),
            TuneError::NothingRecorded { .. } => Exit::Target,
            TuneError::Trace(_) => Exit::Device,
            TuneError::Unread(_) | TuneError::Recording(_) | TuneError::Kept { .. } => Exit::Input,
        }
    }
}
