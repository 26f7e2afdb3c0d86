//! Makes reports from results alone: it uses no device, no clock and no network.
//!
//! - [`terminal`]: tables for the user who ran the command;
//! - [`html`]: one self-contained page with charts, to keep and to hand on;
//! - [`csv`]: the figures, for other programs;
//! - [`kept`]: a result of any kind, read back from its JSON;
//! - [`advice`]: a recommendation in words, the same in terminal and page;
//! - [`cpu_trials`]: the short trials of a target from several CPUs, in words;
//! - [`limits`]: judged limits, for systems that run builds;
//! - [`program`]: a recorded program and the workload that copies it, in words;
//! - [`prometheus`]: the totals of a live view, for Prometheus.
//!
//! Any string in a result may come from outside (device names, paths, file contents). Each report
//! makes it harmless: control characters for the terminal, markup for HTML.

pub mod advice;
mod analysis;
mod apart;
mod bench;
mod compare;
mod conclusion;
mod corun;
mod course;
pub mod cpu_trials;
mod csv;
pub mod diff;
pub mod difference;
mod document;
mod facts;
mod fs;
mod heat;
pub mod html;
mod inexact;
mod invalid;
pub mod kept;
mod kernel_tune;
mod label;
mod late;
mod lead;
pub mod limits;
mod metric;
pub mod mode;
mod most_time;
mod offset_grid;
mod phrase;
mod place;
mod place_run;
mod place_watch;
mod plot;
mod plots;
mod poll_search;
mod poll_study;
pub mod program;
pub mod prometheus;
mod quantity;
mod rates;
mod replay;
pub mod reproduce;
mod said;
mod scale;
mod sim;
mod sim_machine;
mod simulated;
mod stages;
mod sweep;
mod taken_as;
pub mod terminal;
mod tune_jobs;

pub use csv::csv;
pub use document::{Document, DocumentAnswer, Reported, count_settings};
pub use phrase::counted;
pub use replay::not_captured;
pub use sim_machine::service_times;
