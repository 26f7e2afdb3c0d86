//! The I/Os in flight, found by examining all I/Os at each instant at which one begins or ends.

use q2c_result::analyze::TraceActivity;
use q2c_trace::Span;
use q2c_trace::span::NONE;
use std::collections::BTreeMap;

pub(super) struct OracleFigures {
    pub(super) most: u64,
    pub(super) integral: u128,
    pub(super) activity: TraceActivity,
    /// For each class of load: its smallest number in flight, and the I/Os queued in it.
    pub(super) classes: Vec<(u64, u64)>,
}

impl OracleFigures {
    pub(super) fn from_spans(spans: &[Span]) -> OracleFigures {
        let has_times = |s: &&Span| s.begin_ns != NONE && s.end_ns != NONE;
        let timed = spans.iter().filter(has_times);
        let ios: Vec<(u64, u64)> = timed.map(|s| (s.begin_ns, s.end_ns)).collect();
        let mut classes = BTreeMap::new();
        let mut most = 0;
        for (index, (begin, _)) in ios.iter().enumerate() {
            // The I/O itself, and those queued before it that end after its begin.
            let before = ios[..index].iter().filter(|(_, end)| end > begin);
            let depth = 1 + before.count() as u64;
            most = most.max(depth);
            let class = (0..63).map(|k| 1u64 << k).filter(|k| *k <= depth).max();
            *classes.entry(class.expect("at least 1")).or_default() += 1;
        }
        let activity = activity(&ios);
        let integral = ios.iter().map(|(from, to)| u128::from(to - from)).sum();
        OracleFigures {
            most,
            integral,
            activity,
            classes: classes.into_iter().collect(),
        }
    }
}

/// Sums active and idle times between successive instants.
fn activity(ios: &[(u64, u64)]) -> TraceActivity {
    let mut instants: Vec<u64> = ios.iter().flat_map(|io| [io.0, io.1]).collect();
    instants.sort_unstable();
    let mut activity = TraceActivity::default();
    let mut pause = 0;
    for pair in instants.windows(2).filter(|pair| pair[0] < pair[1]) {
        let length = pair[1] - pair[0];
        if ios.iter().any(|io| io.0 <= pair[0] && pair[1] <= io.1) {
            activity.active_ns += length;
            activity.longest_idle_ns = activity.longest_idle_ns.max(pause);
            activity.pauses += u64::from(pause >= TraceActivity::PAUSE_NS);
            pause = 0;
        } else {
            activity.idle_ns += length;
            pause += length;
        }
    }
    activity
}
