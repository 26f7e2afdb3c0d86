//! Studies other than that of jobs.

pub mod place;
