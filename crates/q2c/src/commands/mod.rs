//! The commands, one file each.

pub mod calibrate;
pub mod doctor;
pub mod reproduce;
pub mod restore;
pub mod tune;
