//! The commands, one module each.

pub mod analyze;
pub mod bench;
pub mod calibrate;
pub mod capture;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod fs;
pub mod machine;
pub mod place;
pub mod poll;
pub mod ramdisk;
mod record;
pub mod replay;
pub mod reproduce;
pub mod restore;
mod run_folder;
pub mod runs;
pub mod scale;
pub mod shell;
pub mod top;
pub mod trace;
pub mod tune;
pub mod watch;
