//! Result types: the versioned JSON that every run leaves and that every report is made from.
//!
//! Nothing in this crate measures or prints. A number has its unit in the name or in the doc of its
//! field.

pub mod analyze;
pub mod bench;
pub mod compare;
pub mod corun;
pub mod diff;
pub mod doctor;
pub mod figures;
pub mod fs;
pub mod kernel_tune;
pub mod kernel_watch;
pub mod late;
pub mod lead;
pub mod live;
pub mod machine;
pub mod mode;
pub mod place;
pub mod place_run;
pub mod place_watch;
pub mod poll_search;
pub mod poll_study;
pub mod program;
pub mod proof;
pub mod provenance;
pub mod ramdisk;
pub mod replay;
pub mod reproduce;
pub mod role;
pub mod runs;
pub mod scale;
pub mod sim;
pub mod steer;
pub mod sweep;
pub mod trace;
pub mod tune;
pub mod tune_jobs;
pub mod volumes;
pub mod waits;
pub mod warning;
pub mod watch;

pub use doctor::{Check, DoctorFix, DoctorReport, Verdict};
pub use machine::{CpuTrial, Device, Machine, Target, TargetKind};
pub use provenance::Provenance;
pub use q2c_model::Exit;
pub use warning::Warning;
