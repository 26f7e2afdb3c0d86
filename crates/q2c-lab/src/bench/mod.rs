//! Throughput over interfaces and jobs: what the numbers mean.

mod rules;
pub mod suspects;
