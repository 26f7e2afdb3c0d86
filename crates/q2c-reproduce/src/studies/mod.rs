//! Studies other than that of jobs.

pub mod compare;
pub mod place;
pub mod rules;
