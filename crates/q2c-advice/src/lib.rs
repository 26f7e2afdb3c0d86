//! Finds the method and sleep rule to use on a device: simulation proposes, trials decide.
//!
//! [`Referee`] plans a round of trials, takes their results, and plans the next round. Between two
//! rounds it corrects the cost model if the trials contradict it ([`Correction`]), and simulates
//! again. Then it drops methods that have lost and adds those that now look better. [`decide`]
//! turns the trials into a verdict. No part of this crate touches a device: its caller runs the
//! trials.

mod assessment;
mod candidates;
mod correction;
mod decide;
mod evidence;
mod fit;
mod goal;
mod outlook;
mod referee;
mod states;

pub use correction::{Contradiction, Correction};
pub use decide::{AdviceDecision, MethodContender, decide};
pub use evidence::{
    Estimate, Noise, PairedPrediction, PollingBaseline, TrialFigures, WAIT_QUANTILES,
    per_core_divisor, relative,
};
pub use goal::{Goal, KernelWay, MAX_CPU_PCT, MIN_GAIN, STANDARD_FLOOR, best_of_kernel};
pub use outlook::{Outlook, SimulationInputs, predict, settle_time};
pub use referee::{MIN_COMPARED_TRIALS, Order, PUBLISHED, Referee, RefereeQuestion};
pub use states::Carry;
