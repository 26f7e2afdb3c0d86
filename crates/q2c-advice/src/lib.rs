//! Which method and sleep rule a device should be used with: simulation proposes, trials decide.
//!
//! [`Referee`] is asked for the next round of trials and given what they measured, round after
//! round; between two rounds it corrects the cost model where the trials contradict it
//! ([`Correction`]), simulates again, drops what has lost and adds what now looks better.
//! [`decide`] turns the trials into a verdict, and looks at nothing else than what was measured
//! where a floor has to be kept. No part of it touches a device: who runs the trials, and on what,
//! is the caller's.

mod candidates;
mod correction;
mod decide;
mod evidence;
mod fit;
mod goal;
mod outlook;
mod predict;
mod referee;

pub use candidates::Role;
pub use correction::Correction;
pub use decide::{Contender, Decision, decide};
pub use evidence::{Beside, Estimate, Noise, Predicted, Trial, relative};
pub use goal::{FLOOR, Goal, SAVING, WORTH};
pub use outlook::{Outlook, Setting};
pub use predict::{predict, settling};
pub use referee::{LINUX, Order, Referee, Subject};
