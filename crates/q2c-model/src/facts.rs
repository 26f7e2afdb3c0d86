//! Names of the facts in a trace's metadata ([`TraceMeta::facts`](crate::TraceMeta::facts)) that
//! one part of q2c writes and another one reads.

use crate::DevId;

/// Name of the fact that the source has no offsets, so that each sector is 0 and means nothing.
pub const STATED_SECTOR: &str = "stated.sector";

/// Name of the fact that the source names no operation, and which one was stated for all requests.
pub const STATED_OP: &str = "stated.op";

/// Name of the fact that the source has no lengths, and which one was stated for all requests.
pub const STATED_BYTES: &str = "stated.bytes";

/// Name of the fact that holds the columns of a source that its import read nothing of.
pub const COLUMNS_NOT_TAKEN: &str = "columns_not_taken";

/// Name of the fact that it is not known how many records the source lost, and why.
pub const LOST: &str = "lost";

/// Name of the fact that an analysis is of the I/Os of one process, and of which.
pub const ONE_PROCESS: &str = "analyzed.process";

/// Name of the fact that holds the most CPU time that a thread of the user layer takes between two
/// of its I/Os, ns, where it sleeps there. Without it threads are taken to run all the while.
pub const THINK_CPU: &str = "think_cpu_ns";

/// Name of the fact that holds a device's `queue/io_poll_delay` at the time of the recording: the
/// number as the kernel shows it, -1 for classic polling.
pub fn poll_delay(device: DevId) -> String {
    format!("device.{device}.io_poll_delay")
}

/// Name of the fact that holds the hardware queues of a device at the time of the recording, with
/// the CPUs that submit to each: `0:0-3 1:4-7`, in the order of their numbers.
pub fn queue_map(device: DevId) -> String {
    format!("device.{device}.queues")
}
