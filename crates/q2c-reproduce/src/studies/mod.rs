//! The studies other than the study of jobs.

pub mod compare;
pub mod mount;
pub mod place;
pub mod rules;
