//! Every experiment in small, on simulated devices of known truth: the claims hold where the truth
//! is as published, and do not hold where it was turned round.
//!
//! A test takes the experiment's own file and changes only what a small machine cannot have: the
//! device becomes a simulated one, values of axes are left out, times are shortened, and needs of
//! the machine are taken away. The claims stay as they are. Where times are shortened, periods of
//! sleep rules are shortened as well, so that windows have the periods that a verdict needs.
//!
//! Claims on more cores, or on finer steps, than a small machine can show are judged on figures
//! that are written down (`literal`).

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
