//! Studies without a device: simulates recorded latencies with many sleep rules.

mod answer;
mod cost;
#[cfg(test)]
mod fixtures;
mod lanes;
mod leave_out;
mod library;
mod notes;
mod policies;
mod poll_study;
mod recorded_costs;
mod search;
mod sim;
mod source;
mod sweep;
mod volumes;

pub use cost::{ChosenCosts, Costs};
pub use lanes::{LaneFile, LaneFileMaker, LaneStorage};
pub use leave_out::{Contest, GroupLoss};
pub use library::read_library;
pub use policies::{LONG_RUN_S, SweepPolicies, standard_policies};
pub use recorded_costs::{RecordedCost, recorded_costs};
pub use search::Search;
pub use sim::{Simulation, Timing};
pub use source::{SimTrace, SourceOptions, read, read_input, read_records, service_times};
pub use sweep::{CellProgress, Study};
pub use volumes::{choose_over, volumes_result};
