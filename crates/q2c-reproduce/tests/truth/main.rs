//! Every experiment in small, on simulated devices of known truth: claims hold where it is as
//! published, and do not where it was turned round.
//!
//! A test changes in the experiment's file only what a simulated machine cannot have: device,
//! needs, and some values of axes. Claims whose figures no simulated device has are judged on
//! figures that are written down (`literal`).

#[cfg(test)]
mod cores;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod interference;
#[cfg(test)]
mod literal;
#[cfg(test)]
mod placements;
#[cfg(test)]
mod rules;
