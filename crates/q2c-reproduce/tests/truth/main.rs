//! Every experiment in small, on simulated devices of known truth: the claims hold where the truth
//! is as published, and do not hold where it was turned round.
//!
//! A test takes the experiment's own file and changes only what a simulated machine cannot have:
//! the device becomes a simulated one, needs of the machine are taken away, and some values of axes
//! are left out. The claims stay as they are. Times are shortened where many cores do many I/Os.
//!
//! Claims whose figures no simulated device has are judged on figures that are written down
//! (`literal`).

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
