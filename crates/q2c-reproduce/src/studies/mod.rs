//! The studies other than the study of jobs.

pub mod compare;
pub mod mix;
pub mod mount;
pub mod place;
pub mod rules;
