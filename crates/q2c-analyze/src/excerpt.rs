//! Excerpts of single I/Os: the first of the trace, those around the slowest, and those of a window
//! that was asked for.

use q2c_result::analyze::{Excerpt, ExcerptIo};
use q2c_trace::Span;
use q2c_trace::span::{NONE, NONE_32};
use std::collections::VecDeque;
use std::ops::Range;

/// I/Os that are kept before the slowest and behind it. The excerpt of the start has four times as
/// many.
const AROUND: usize = 96;
/// Most I/Os of the window that are kept.
const MOST: usize = 4096;

/// Keeps the I/Os of the excerpts as they pass.
#[derive(Default)]
pub(crate) struct Excerpts {
    start: Vec<Span>,
    recent: VecDeque<Span>,
    slowest: Vec<Span>,
    longest: u64,
    /// How many I/Os behind the slowest are still to be kept.
    to_come: usize,
    window: Option<Range<u64>>,
    asked: Vec<Span>,
    left_out: u64,
    first: Option<u64>,
}

impl Excerpts {
    /// Keeps also the I/Os that are in flight between these times, ns from the first start.
    pub(crate) fn window(&mut self, window: Range<u64>) {
        self.window = Some(window);
    }

    pub(crate) fn add(&mut self, span: &Span) {
        if self.start.len() < 4 * AROUND {
            self.start.push(*span);
        }
        self.around(span);
        let first = *self.first.get_or_insert(span.first_ns());
        let Some(window) = &self.window else { return };
        let from = span.first_ns().saturating_sub(first);
        let to = span.end_ns.max(span.first_ns()).saturating_sub(first);
        if from < window.end && to >= window.start {
            match self.asked.len() < MOST {
                true => self.asked.push(*span),
                false => self.left_out += 1,
            }
        }
    }

    fn around(&mut self, span: &Span) {
        let took = match span.begin_ns == NONE || span.end_ns == NONE {
            true => 0,
            false => span.end_ns.saturating_sub(span.begin_ns),
        };
        if took > self.longest {
            self.longest = took;
            self.slowest.clear();
            self.slowest.extend(&self.recent);
            self.slowest.push(*span);
            self.to_come = AROUND;
        } else if self.to_come > 0 {
            self.slowest.push(*span);
            self.to_come -= 1;
        }
        if self.recent.len() == AROUND {
            self.recent.pop_front();
        }
        self.recent.push_back(*span);
    }

    /// The excerpts, with times from `first`. The slowest is left out when the start holds all of
    /// its I/Os.
    pub(crate) fn told(&self, first: u64) -> Vec<Excerpt> {
        let has = |span: &Span| self.start.iter().any(|own| own.id == span.id);
        let inside = self.slowest.iter().all(has);
        let parts = [
            ("start", &self.start, 0),
            ("slowest", &self.slowest, 0),
            ("window", &self.asked, self.left_out),
        ];
        let wanted = parts
            .into_iter()
            .filter(|(what, spans, _)| !spans.is_empty() && (*what != "slowest" || !inside));
        let told = |(what, spans, left_out): (&str, &Vec<Span>, u64)| Excerpt {
            what: what.to_owned(),
            ios: spans.iter().map(|span| one(span, first)).collect(),
            left_out,
        };
        wanted.map(told).collect()
    }
}

fn one(span: &Span, first: u64) -> ExcerptIo {
    let at = |time: u64| (time != NONE).then(|| time.saturating_sub(first));
    let known = |value: u32| (value != NONE_32).then_some(value);
    ExcerptIo {
        id: span.id,
        device: span.device.to_string(),
        op: span.op.to_string(),
        sector: span.sector,
        bytes: span.bytes,
        cpu: known(span.cpu_submit),
        hctx: known(span.hctx),
        pid: known(span.pid),
        merged: span.merged_into != NONE,
        queue_ns: at(span.begin_ns),
        getrq_ns: at(span.getrq_ns),
        insert_ns: at(span.insert_ns),
        issue_ns: at(span.issue_ns),
        complete_ns: at(span.end_ns),
    }
}
