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
    Estimate, Noise, PollingBaseline, Predicted, TrialFigures, WAITS, cores_of, relative,
};
pub use goal::{FLOOR, Goal, KernelWay, SAVING, WORTH, best_of_kernel};
pub use outlook::{Outlook, SimulationInputs, predict, settling};
pub use referee::{COMPARED, Order, PUBLISHED, Referee, RefereeQuestion};
pub use states::Carry;
