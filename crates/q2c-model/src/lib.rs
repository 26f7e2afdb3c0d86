//! Units, operations, the I/O record, the cost model, the options of a replay, and faults with
//! their exit codes: the types that all other crates share.
//!
//! The crate is pure data: it reads no clock and touches no device.

mod cost;
mod exit;
pub mod facts;
mod fault;
mod fleet;
pub mod lost;
mod op;
mod parts;
mod rates;
mod record;
pub mod replay;
mod size;
pub mod stored;
mod taken;
mod trace_summary;
mod units;
mod values;

pub use cost::{CostModel, Curve, WakeDelay};
pub use exit::Exit;
pub use fault::{Fault, OrFault};
pub use fleet::FleetMeta;
pub use op::{Direction, Layer, Op, OpFlags, ParseOpError};
pub use parts::U2cParts;
pub use rates::{Latencies, Rates, Simulated};
pub use record::{IoRecord, TraceMeta};
pub use size::{ParseUnitError, parse_duration, parse_percent, parse_size, parse_time};
pub use taken::{Assumed, DeviceTime, LanesBy, LeftOut, TakenAs};
pub use trace_summary::{TraceLatency, TraceSummary};
pub use units::{Bytes, CpuId, DevId, Nanos, ParseDevIdError, Sectors};
pub use values::{
    List, parse_budget, parse_counts, parse_cpus, parse_names, parse_numbers, seconds_within,
    time_within,
};

/// For [`kept_as_text`].
#[doc(hidden)]
pub use serde;
