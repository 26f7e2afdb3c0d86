//! Reads recordings into traces that can be simulated.

use crate::args::{RecordingArgs, temporary};
use clap::Args;
use q2c_host::{Roots, machine};
use q2c_model::{Bytes, DevId, DeviceTime, Fault, LanesBy, parse_size};
use q2c_sim::Taking;
use q2c_study::{Holding, SimTrace, SourceOptions, read};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Memory for the recordings where the system does not say how much is free.
const MEMORY: Bytes = Bytes(1 << 30);

/// Help of `--bs`, which here also chooses the calibration.
const BLOCK_SIZE: &str = "Block size: of requests that have none [default: 4k], and of the calibration that is used [default: the trace's]";

/// What an input that is no q2c trace does not say itself. The block size is also that of the
/// calibration.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("bs", |bs| bs.help(BLOCK_SIZE)))]
pub(crate) struct SourceArgs {
    /// Its format, and what it does not say itself.
    #[command(flatten)]
    pub recording: RecordingArgs,
    /// Block layer: what is the device's time: d2c, i2c or q2c
    ///
    /// Block layer: the interval that is the device's time: d2c (from the hand-over to the driver),
    /// i2c (from the insertion into the scheduler) or q2c (from queued); what is before it is the
    /// submission [default: d2c, or q2c of a trace without hand-overs]
    #[arg(long, value_name = "INTERVAL")]
    pub latency: Option<DeviceTime>,
    /// Block layer: whose requests form lanes of depth 1, thread or device; requests that overlap
    /// are dealt to several [default: thread]
    #[arg(long, value_name = "WHOSE")]
    pub lanes: Option<LanesBy>,
    /// Take the requests of this device alone, such as 259:0
    #[arg(long, value_name = "MAJOR:MINOR")]
    pub device: Option<DevId>,
    /// Hold so much of the recordings in memory, 16 bytes per I/O, and the rest in unnamed files
    /// [default: half of what is free]
    #[arg(long, hide_short_help = true, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<Bytes>,
    /// Where these files are made [default: $TMPDIR, or /var/tmp]
    #[arg(long, hide_short_help = true, value_name = "FOLDER")]
    pub spill: Option<PathBuf>,
}

impl SourceArgs {
    /// The options as `q2c_study` takes them, for one of `inputs` recordings that share the memory.
    pub(crate) fn options(&self, inputs: usize) -> SourceOptions {
        let free = || machine::free_memory(&Roots::live()).map(|free| Bytes(free.0 / 2));
        let memory = self.memory.or_else(free).unwrap_or(MEMORY);
        SourceOptions {
            format: self.recording.format.clone(),
            import: self.recording.options(),
            taking: Taking {
                latency: self.latency,
                lanes: self.lanes,
                device: self.device,
            },
            holding: Holding {
                memory: Bytes(memory.0 / inputs.max(1) as u64),
                folder: self.spill.clone().unwrap_or_else(temporary),
                new_file: q2c_workbench::lane_file::new,
            },
        }
    }
}

/// Reads the recording at `path`, one of `inputs`, which share the memory and the options.
pub(super) fn trace(
    path: &Path,
    args: &SourceArgs,
    inputs: &[PathBuf],
    stop: &AtomicBool,
) -> Result<SimTrace, Fault> {
    let mut options = args.options(inputs.len());
    options.import = options.import.for_recordings(inputs);
    read(path, &options, stop)
}
