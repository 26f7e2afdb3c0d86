//! The machine that q2c runs on: readers of sysfs and procfs, CPU accounting, target checks, the
//! restore guard and the doctor. The crate holds safe code only; unsafe code is in `q2c-sys`.
//!
//! Every reader takes the [`Roots`] of the trees it reads, so that tests can pass a fake tree
//! instead of the live one. Facts have the types of `q2c-result` (pure data), which this crate
//! therefore uses beside `q2c-model` and `q2c-sys`.
#![forbid(unsafe_code)]

mod attr;
mod cpu_list;
pub mod ramdisk;
mod roots;
#[cfg(test)]
#[path = "../tests/host/tree.rs"]
mod tree;

pub mod block;
pub mod capabilities;
pub mod cpu_time;
pub mod doctor;
pub mod kernel_config;
pub mod kernel_version;
pub mod machine;
pub mod own_folder;
pub mod program;
pub mod restore;
pub mod signals;
pub mod target;
pub mod tasks;
pub mod topology;

pub use cpu_list::parse as parse_cpu_list;
pub use roots::Roots;
