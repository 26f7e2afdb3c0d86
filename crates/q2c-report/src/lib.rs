//! Reports made from results, and from nothing else: no device, no clock, no network.
//!
//! - [`terminal`]: tables for the one who ran it;
//! - [`html`]: one self-contained page with charts, to keep and to hand on;
//! - [`csv`]: the numbers, for other programs;
//! - [`advice`]: a recommendation in words, as all of them say it.
//!
//! Every string in a result may come from outside (device names, paths, file contents); each report
//! makes it harmless in its own language: control characters for the terminal, markup for HTML.

pub mod advice;
mod analysis;
mod bench;
pub mod columns;
mod compare;
pub mod csv;
pub mod html;
mod invalid;
mod label;
mod metric;
mod quantity;
mod replay;
mod said;
mod shortlist;
pub mod terminal;
