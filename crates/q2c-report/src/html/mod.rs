//! A result as one HTML file that opens without a network: charts, tables, and how to apply the
//! result.
//!
//! The page loads nothing from elsewhere, and its Content-Security-Policy forbids it. Only the two
//! scripts whose hashes the policy names can run, whatever a string in the result says.

mod document;
mod escape;
mod figure;
mod packing;
mod page;
mod plotly;
mod shell;

pub(crate) use document::page;
pub(crate) use page::started;
