//! Binary blktrace: the tests encode records by the table of the layout, and compare the I/Os with
//! expected times.

mod bad;
mod btt_defects;
pub mod encode;
pub mod expect;
mod layouts;
mod lives;
mod lossy;
mod no_allocation;
mod through_blkparse;
mod truth;

use encode::{E, LITTLE_7, file};
use q2c_model::Fault;
use q2c_trace::Span;
use q2c_trace::blktrace::{EventFile, MatchSummary, Matcher, Merge, match_events};
use std::path::Path;

pub(crate) fn read_files(
    files: &[Vec<u8>],
    skip_bad: bool,
) -> Result<(Vec<Span>, MatchSummary), Fault> {
    read_limited(files, skip_bad, Matcher::LIMIT)
}

pub(crate) fn read_limited(
    files: &[Vec<u8>],
    skip_bad: bool,
    limit: usize,
) -> Result<(Vec<Span>, MatchSummary), Fault> {
    let open =
        |(cpu, bytes)| EventFile::new(Path::new(&format!("t.blktrace.{cpu}")), bytes, 0, skip_bad);
    let merge = Merge::new(files.iter().map(Vec::as_slice).enumerate().map(open))?;
    let mut spans = Vec::new();
    let read = match_events(merge, limit, |batch, _notes| {
        spans.extend_from_slice(batch);
        Ok::<(), Fault>(())
    })?;
    Ok((spans, read))
}

/// The I/Os of events on one CPU in the given order, encoded as little-endian version 7.
pub(crate) fn lives(events: &[E]) -> (Vec<Span>, MatchSummary) {
    read_files(&[file(LITTLE_7, events)], false).unwrap()
}

/// Times of queue, getrq, insert, issue and complete in us; -1 if unknown.
pub(crate) fn times(span: &Span) -> [i64; 5] {
    let us = |ns: u64| match ns {
        u64::MAX => -1,
        ns => i64::try_from(ns / 1000).unwrap(),
    };
    [
        span.begin_ns,
        span.getrq_ns,
        span.insert_ns,
        span.issue_ns,
        span.end_ns,
    ]
    .map(us)
}

pub(crate) fn unmatched(read: &MatchSummary) -> Vec<(&'static str, u64)> {
    read.counts.unmatched.clone().into_iter().collect()
}
