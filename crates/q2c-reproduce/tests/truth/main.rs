//! Every experiment in small, on simulated devices with a known truth. Claims hold if the truth is
//! as published, and do not hold if it is reversed.
//!
//! A test changes only those parts of a file that a simulated machine cannot have: device, needs,
//! and some values of axes. Claims whose figures no simulated device has are judged on written
//! figures (`literal`).

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
