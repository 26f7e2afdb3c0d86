//! Settings that several measuring commands have in common, as they are typed and as plans keep
//! them.

mod goal;
mod machine;
mod rule;
mod workload;

pub use goal::GoalArgs;
pub use machine::{MachineArgs, MachineName};
pub use rule::{RuleArgs, period};
pub use workload::{JobsArg, WorkloadArgs};
