//! Excerpts: the first I/Os of the trace, those around the slowest, and those of a time window.

use crate::stage::between;
use crate::state::InexactMarks;
use crate::stored;
use q2c_result::analyze::{Excerpt, ExcerptIo, InexactFigure, InexactReason};
use q2c_trace::Span;
use q2c_trace::span::{NONE, NONE_32};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::Range;

/// I/Os kept on each side of the slowest one. Four times as many are kept of the trace's start.
const NEIGHBOURS: usize = 96;
/// Most I/Os of the window that are kept.
const MAX_WINDOW_IOS: usize = 4096;

const START_IOS: usize = 4 * NEIGHBOURS;

#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Excerpts {
    #[serde(with = "stored::spans")]
    start: Vec<Span>,
    #[serde(with = "stored::spans")]
    recent: VecDeque<Span>,
    #[serde(with = "stored::spans")]
    slowest: Vec<Span>,
    longest: u64,
    /// Number of I/Os in `slowest` before the slowest one, and those after it still to be kept.
    before: usize,
    still_to_keep: usize,
    pub(crate) window: Option<Range<u64>>,
    #[serde(with = "stored::spans")]
    in_window: Vec<Span>,
    left_out: u64,
    /// Start of the trace's first I/O, ns.
    first: Option<u64>,
}

impl Excerpts {
    pub(crate) fn add(&mut self, span: &Span) {
        if self.start.len() < START_IOS {
            self.start.push(*span);
        }
        self.update_slowest(span);
        let first = *self.first.get_or_insert(span.first_ns());
        let Some(window) = &self.window else { return };
        let from = span.first_ns().saturating_sub(first);
        let to = span.end_ns.max(span.first_ns()).saturating_sub(first);
        if from < window.end && to >= window.start {
            if self.in_window.len() < MAX_WINDOW_IOS {
                self.in_window.push(*span);
            } else {
                self.left_out += 1;
            }
        }
    }

    fn update_slowest(&mut self, span: &Span) {
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
            self.still_to_keep = NEIGHBOURS;
        } else if self.still_to_keep > 0 {
            self.slowest.push(*span);
            self.still_to_keep -= 1;
        }
        if self.recent.len() == NEIGHBOURS {
            self.recent.pop_front();
        }
        self.recent.push_back(*span);
    }

    fn trim_recent(&mut self) {
        let excess = self.recent.len().saturating_sub(NEIGHBOURS);
        self.recent.drain(..excess);
    }

    pub(crate) fn join(&mut self, later: &Excerpts, marks: &mut InexactMarks) {
        if self.window.is_some() && !later.start.is_empty() {
            marks.add(InexactFigure::Excerpts, InexactReason::Window);
        }
        if later.longest > self.longest {
            let lacking = NEIGHBOURS.saturating_sub(later.before);
            let added = self.recent.len().min(lacking);
            self.slowest.clear();
            let from = self.recent.len() - added;
            self.slowest.extend(self.recent.range(from..));
            self.slowest.extend(&later.slowest);
            self.before = later.before.saturating_add(added);
            (self.longest, self.still_to_keep) = (later.longest, later.still_to_keep);
        } else {
            let added = self.still_to_keep.min(later.start.len());
            self.slowest.extend(&later.start[..added]);
            self.still_to_keep -= added;
        }
        let room = START_IOS.saturating_sub(self.start.len());
        self.start.extend(later.start.iter().take(room));
        self.recent.extend(&later.recent);
        self.trim_recent();
        self.first = self.first.or(later.first);
    }

    /// Adds other devices over the same time. The slowest I/O keeps the neighbours of its own part.
    pub(crate) fn merge_devices(&mut self, other: Excerpts) {
        let order = |span: &Span| (span.first_ns(), span.id, span.device);
        self.start.extend(other.start);
        self.start.sort_by_key(order);
        self.start.truncate(START_IOS);
        self.recent.extend(other.recent);
        self.recent.make_contiguous().sort_by_key(order);
        self.trim_recent();
        let slowest_order = |spans: &[Span], before: usize| spans.get(before).map(order);
        let ours = slowest_order(&self.slowest, self.before);
        let theirs = slowest_order(&other.slowest, other.before);
        if other.longest > self.longest || other.longest == self.longest && theirs < ours {
            (self.slowest, self.longest) = (other.slowest, other.longest);
            (self.before, self.still_to_keep) = (other.before, other.still_to_keep);
        }
        self.first = self.first.into_iter().chain(other.first).min();
    }

    /// Times are relative to `first`. `slowest` is left out if the start has all of its I/Os.
    pub(crate) fn excerpts(&self, first: u64) -> Vec<Excerpt> {
        let in_start = |span: &Span| self.start.iter().any(|kept| kept.id == span.id);
        let excerpt = |what: &str, spans: &[Span], left_out| Excerpt {
            what: what.to_owned(),
            ios: spans.iter().map(|span| excerpt_io(span, first)).collect(),
            left_out,
        };
        let mut excerpts = vec![excerpt("start", &self.start, 0)];
        if !self.slowest.iter().all(in_start) {
            excerpts.push(excerpt("slowest", &self.slowest, 0));
        }
        excerpts.push(excerpt("window", &self.in_window, self.left_out));
        excerpts.retain(|excerpt| !excerpt.ios.is_empty());
        excerpts
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
