//! Excerpts: the first I/Os of the trace, those around the slowest, and those of a time window.

use crate::stage::between;
use crate::state::Marks;
use crate::stored;
use q2c_result::analyze::{Excerpt, ExcerptIo, InexactFigure, InexactReason};
use q2c_trace::Span;
use q2c_trace::span::{NONE, NONE_32};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::Range;

/// I/Os kept before and after the slowest each. The start of the trace keeps four times as many.
const AROUND: usize = 96;
/// Most I/Os of the window that are kept.
const MOST: usize = 4096;

const START: usize = 4 * AROUND;

#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Excerpts {
    #[serde(with = "stored::all")]
    start: Vec<Span>,
    #[serde(with = "stored::all")]
    recent: VecDeque<Span>,
    #[serde(with = "stored::all")]
    slowest: Vec<Span>,
    longest: u64,
    /// Number of I/Os kept before the slowest.
    before: usize,
    /// Number of I/Os after the slowest that are still to be kept.
    to_come: usize,
    pub(crate) window: Option<Range<u64>>,
    #[serde(with = "stored::all")]
    asked: Vec<Span>,
    left_out: u64,
    first: Option<u64>,
}

impl Excerpts {
    pub(crate) fn add(&mut self, span: &Span) {
        if self.start.len() < START {
            self.start.push(*span);
        }
        self.around(span);
        let first = *self.first.get_or_insert(span.first_ns());
        let Some(window) = &self.window else { return };
        let from = span.first_ns().saturating_sub(first);
        let to = span.end_ns.max(span.first_ns()).saturating_sub(first);
        if from < window.end && to >= window.start {
            if self.asked.len() < MOST {
                self.asked.push(*span);
            } else {
                self.left_out += 1;
            }
        }
    }

    fn around(&mut self, span: &Span) {
        let took = match between(span.begin_ns, span.end_ns) {
            NONE => 0,
            took => took,
        };
        if took > self.longest {
            self.longest = took;
            self.slowest.clear();
            self.slowest.extend(&self.recent);
            self.before = self.recent.len();
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

    fn forget_beyond(&mut self) {
        let beyond = self.recent.len().saturating_sub(AROUND);
        self.recent.drain(..beyond);
    }

    pub(crate) fn join(&mut self, later: &Excerpts, marks: &mut Marks) {
        if self.window.is_some() && !later.start.is_empty() {
            marks.add(InexactFigure::Excerpts, InexactReason::Window);
        }
        if later.longest > self.longest {
            let lacking = AROUND.saturating_sub(later.before);
            let known = self.recent.len().min(lacking);
            self.slowest.clear();
            let from = self.recent.len() - known;
            self.slowest.extend(self.recent.range(from..));
            self.slowest.extend(&later.slowest);
            self.before = later.before.saturating_add(known);
            (self.longest, self.to_come) = (later.longest, later.to_come);
        } else {
            let behind = self.to_come.min(later.start.len());
            self.slowest.extend(&later.start[..behind]);
            self.to_come -= behind;
        }
        let room = START.saturating_sub(self.start.len());
        self.start.extend(later.start.iter().take(room));
        self.recent.extend(&later.recent);
        self.forget_beyond();
        self.first = self.first.or(later.first);
    }

    /// Adds other devices over the same time. The slowest I/O stays among those of its own part.
    pub(crate) fn merge_devices(&mut self, other: Excerpts) {
        let order = |span: &Span| (span.first_ns(), span.id, span.device);
        self.start.extend(other.start);
        self.start.sort_by_key(order);
        self.start.truncate(START);
        self.recent.extend(other.recent);
        self.recent.make_contiguous().sort_by_key(order);
        self.forget_beyond();
        let slowest_order = |spans: &[Span], before: usize| spans.get(before).map(order);
        let ours = slowest_order(&self.slowest, self.before);
        let theirs = slowest_order(&other.slowest, other.before);
        if other.longest > self.longest || other.longest == self.longest && theirs < ours {
            (self.slowest, self.longest) = (other.slowest, other.longest);
            (self.before, self.to_come) = (other.before, other.to_come);
        }
        self.first = self.first.into_iter().chain(other.first).min();
    }

    /// Times are relative to `first`. The slowest is left out if the start holds all of its I/Os.
    pub(crate) fn excerpts(&self, first: u64) -> Vec<Excerpt> {
        let has = |span: &Span| self.start.iter().any(|kept| kept.id == span.id);
        let inside = self.slowest.iter().all(has);
        let parts = [
            ("start", &self.start, 0),
            ("slowest", &self.slowest, 0),
            ("window", &self.asked, self.left_out),
        ];
        let is_wanted = |(what, spans, _): &(&str, &Vec<Span>, u64)| {
            !spans.is_empty() && (*what != "slowest" || !inside)
        };
        let excerpt = |(what, spans, left_out): (&str, &Vec<Span>, u64)| Excerpt {
            what: what.to_owned(),
            ios: spans.iter().map(|span| excerpt_io(span, first)).collect(),
            left_out,
        };
        parts.into_iter().filter(is_wanted).map(excerpt).collect()
    }
}

fn excerpt_io(span: &Span, first: u64) -> ExcerptIo {
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
