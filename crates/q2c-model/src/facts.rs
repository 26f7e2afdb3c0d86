//! Names of the facts in a trace's metadata ([`TraceMeta::facts`](crate::TraceMeta::facts)) that
//! one part of q2c writes and another one reads.

use crate::DevId;

/// Name of the fact that the source has no offsets; all sectors are 0 and mean nothing.
pub const STATED_SECTOR: &str = "stated.sector";

/// Name of the fact that holds the operation stated for all requests of a source without
/// operations.
pub const STATED_OP: &str = "stated.op";

/// Name of the fact that holds the length stated for all requests of a source without lengths.
pub const STATED_BYTES: &str = "stated.bytes";

/// Name of the fact that lists the source's columns that the import did not read.
pub const COLUMNS_NOT_TAKEN: &str = "columns_not_taken";

/// Name of the fact that says why the number of lost records is unknown.
pub const LOST: &str = "lost";

/// Name of the fact that holds the one process whose I/Os were analysed.
pub const ONE_PROCESS: &str = "analyzed.process";

/// Name of the fact that holds the most CPU time of a user-layer thread between two of its I/Os,
/// ns, if it sleeps there. Without this fact, threads are assumed to run all the time.
pub const THINK_CPU: &str = "think_cpu_ns";

/// Name of the fact that holds a device's `queue/io_poll_delay` during the recording: the number as
/// the kernel prints it, -1 for classic polling.
pub fn poll_delay(device: DevId) -> String {
    format!("device.{device}.io_poll_delay")
}

/// Name of the fact that holds a device's hardware queues during the recording, with the CPUs that
/// submit to each: `0:0-3 1:4-7`, sorted by queue.
pub fn queue_map(device: DevId) -> String {
    format!("device.{device}.queues")
}
