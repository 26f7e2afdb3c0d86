//! Analyses a trace of I/Os in one pass and bounded memory.
//!
//! [`recording()`] makes an [`AnalyzeResult`](q2c_result::analyze::AnalyzeResult) from a file in
//! one call. [`Analyzer`] takes [`q2c_trace::Span`]s in the order of queueing and computes the
//! figures of the result. It keeps the I/Os in flight, and histograms of at most 512 groups for
//! each property. It can be stored, and joined from analyses of a trace's parts. [`LiveAnalysis`]
//! analyses a running capture at intervals, and [`analyze_capture()`] one that has ended.
//!
//! A stage of an I/O is the time between two of its events:
//!
//! - **Q2G**: from queueing to the allocation of a request;
//! - **Q2M**: from queueing to the merge into another request;
//! - **G2I**: from the request to the scheduler;
//! - **I2D**: in the scheduler;
//! - **G2D**: from the request to the driver, where there is no scheduler;
//! - **M2D**: from the merge to the driver;
//! - **D2C**: in driver and device;
//! - **Q2C**: from queueing to completion.
//!
//! The stages of an I/O that has all its events add up to Q2C. **Q2Q** is the time since the I/O
//! that was queued before it on the same device.

mod analysis_state;
mod analyzer;
mod balance;
mod bottleneck;
mod excerpt;
mod group;
mod in_flight;
pub mod late;
mod live;
mod load;
mod names;
mod offsets;
mod queue_map;
mod recording;
mod seeks;
mod stage;
mod state;
mod stored;
mod tags;
mod warnings;
mod windows;

#[cfg(test)]
mod tests;

pub use analysis_state::PartialAnalysis;
pub use analyzer::{Analyzer, AnalyzerThread};
pub use live::{CapturedIo, LiveAnalysis, RecorderCounts, analyze_capture};
pub use recording::{Options, RecordingAnalysis, recording};
