//! The state of a watch: the methods to choose from, the running method, and the intervals so far.
//! This module uses neither device nor terminal.

use super::display::Action;
use q2c_model::Nanos;
use q2c_policy::{LaneMethod, PolicySpec};
use q2c_result::live::LatencyCounts;
use q2c_result::watch::{WatchCounts, WatchInterval, WatchLine, WatchMethod};
use q2c_watch::{WorkloadInterval, counts, latency, mode, numbers, settle_time, summarize};

#[derive(Clone, Debug)]
pub(crate) enum WatchOrder {
    Method(LaneMethod),
    /// Turns the background on (true) or off.
    Background(bool),
}

/// The state of a watch. [`WatchState::act`] turns a key's action into an order. The caller gives
/// the order to the workload, and then calls [`WatchState::note_order`] with the number that the
/// workload assigned. [`WatchState::add_interval`] gets intervals with the number of their order.
#[derive(Default)]
pub(crate) struct WatchState {
    /// The methods to choose from. Keys change the ratio of the selected one.
    pub methods: Vec<LaneMethod>,
    pub selected: usize,
    /// True if the background was turned on; `None` without a background.
    pub background: Option<bool>,
    /// A note to the user, which stays until the next key. It is empty if there is none.
    pub note: String,
    /// For each order number, the requested method, and true if the background was turned on.
    /// Number 0 is the start.
    orders: Vec<(LaneMethod, bool)>,
    /// Number of the latest interval's order, and the time at which that order took effect, ns.
    current: (u64, u64),
    /// The methods so far, each with the state of the background. An interval's method is an index
    /// into this list.
    rows: Vec<(LaneMethod, bool)>,
    intervals: Vec<WatchInterval>,
    counts: WatchCounts,
    latency: LatencyCounts,
    not_kept: u64,
    frozen: Option<ShownIntervals>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ShownIntervals {
    /// Number of the first of `intervals`, counted from the start of the watch.
    pub first_number: u64,
    pub intervals: Vec<WatchInterval>,
    pub latency: LatencyCounts,
}

/// Intervals stored for the summary: a day of seconds. If there are more, the older half is
/// dropped.
const MAX_INTERVALS: usize = 86_400;
/// The parameter that keys change: the share of the statistic to sleep.
pub(crate) const RATIO: &str = "ratio";
/// Number of steps of a ratio from 0 to 1.
const RATIO_STEPS: f64 = 20.0;

impl WatchState {
    /// The state at the start: the first of `methods` runs, and the background is on, if there is
    /// one.
    pub(crate) fn new(methods: Vec<LaneMethod>, has_background: bool) -> Self {
        WatchState {
            orders: vec![(methods[0].clone(), has_background)],
            methods,
            background: has_background.then_some(true),
            ..WatchState::default()
        }
    }

    /// Carries out a key's action. Returns the order to give to the workload, if any.
    pub(crate) fn act(&mut self, action: Action) -> Option<WatchOrder> {
        self.note.clear();
        match action {
            Action::Method { next } => {
                let count = self.methods.len();
                self.selected = (self.selected + if next { 1 } else { count - 1 }) % count;
                (count > 1).then(|| self.method_order())
            }
            Action::Ratio { up } => self.change_ratio(up),
            Action::Background => self.toggle_background(),
            Action::Pause => {
                let frozen = self.frozen.take();
                self.frozen = frozen.is_none().then(|| self.latest(usize::MAX));
                None
            }
            Action::Quit | Action::Interrupt | Action::Redraw => None,
        }
    }

    fn method_order(&self) -> WatchOrder {
        WatchOrder::Method(self.methods[self.selected].clone())
    }

    fn change_ratio(&mut self, up: bool) -> Option<WatchOrder> {
        let changed = match &self.methods[self.selected] {
            LaneMethod::Hybrid(policy) => with_next_ratio(policy, up),
            _ => Err("this method has no ratio"),
        };
        match changed {
            Ok(policy) => {
                self.methods[self.selected] = LaneMethod::Hybrid(policy);
                Some(self.method_order())
            }
            Err(note) => {
                note.clone_into(&mut self.note);
                None
            }
        }
    }

    fn toggle_background(&mut self) -> Option<WatchOrder> {
        match self.background {
            Some(on) => {
                self.background = Some(!on);
                Some(WatchOrder::Background(!on))
            }
            None => {
                "there is no background: name it with --background".clone_into(&mut self.note);
                None
            }
        }
    }

    /// Records that the workload took the latest order as `number`. Numbers increase by one.
    pub(crate) fn note_order(&mut self, number: u64) {
        debug_assert_eq!(number, self.orders.len() as u64);
        let method = self.methods[self.selected].clone();
        self.orders.push((method, self.background == Some(true)));
    }

    pub(crate) fn add_interval(&mut self, watched: &WorkloadInterval) {
        let mut interval = WatchInterval {
            end_s: watched.span.1 as f64 / 1e9,
            length_s: (watched.span.1 - watched.span.0) as f64 / 1e9,
            unrecorded: watched.foreground.ios - watched.foreground.latencies.len() as u64,
            numbers: numbers(watched),
            misses: watched.misses.clone(),
            ..WatchInterval::default()
        };
        if let Some(order) = watched.order {
            if self.current.0 != order {
                self.current = (order, watched.span.0);
            }
            let row = self.orders[order as usize].clone();
            let ((method, _), (_, effective_ns)) = (&row, self.current);
            interval.was = Some(mode(method, watched));
            interval.settled = watched.span.0 - effective_ns >= settle_time(method).0;
            interval.method = self.find_row(&row).or_else(|| {
                self.rows.push(row);
                Some(self.rows.len() - 1)
            });
        }
        if self.intervals.len() == MAX_INTERVALS {
            self.not_kept += (MAX_INTERVALS / 2) as u64;
            self.intervals.drain(..MAX_INTERVALS / 2);
        }
        self.intervals.push(interval);
        (self.counts, self.latency) = (counts(watched), latency(watched));
    }

    pub(crate) fn line(&self) -> Option<WatchLine> {
        let interval = self.intervals.last()?.clone();
        let row = interval.method.map(|row| &self.rows[row]);
        let background = row.map(|(_, background)| *background);
        Some(WatchLine {
            method_name: row.map(|(method, _)| method.clone().into()),
            background: background.filter(|_| self.background.is_some()),
            counts: self.counts,
            latency: self.latency.clone(),
            interval,
        })
    }

    fn find_row(&self, row: &(LaneMethod, bool)) -> Option<usize> {
        self.rows.iter().position(|known| known == row)
    }

    /// The row that counts intervals of `method` with the present state of the background; `None`
    /// before the first such interval.
    pub(crate) fn row_of_method(&self, method: &LaneMethod) -> Option<usize> {
        self.find_row(&(method.clone(), self.background == Some(true)))
    }

    /// True if the latest order has been in force for `period`, so that the next method is due.
    pub(crate) fn is_order_over(&self, period: Nanos) -> bool {
        let (order, effective_ns) = self.current;
        let end_ns = self.intervals.last().map_or(0.0, |i| i.end_s * 1e9);
        order + 1 == self.orders.len() as u64 && end_ns - effective_ns as f64 >= period.0 as f64
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.frozen.is_some()
    }

    /// The last `n` intervals; on a frozen screen, those at the moment of freezing.
    pub(crate) fn shown(&self, n: usize) -> ShownIntervals {
        self.frozen.clone().unwrap_or_else(|| self.latest(n))
    }

    fn latest(&self, n: usize) -> ShownIntervals {
        let from = self.intervals.len().saturating_sub(n.min(MAX_SHOWN));
        ShownIntervals {
            first_number: self.not_kept + from as u64,
            intervals: self.intervals[from..].to_vec(),
            latency: self.latency.clone(),
        }
    }

    /// The methods of the rows so far, without their figures.
    pub(crate) fn names(&self) -> Vec<WatchMethod> {
        let rows = self.rows.iter();
        let rows = rows.map(|(method, on)| WatchMethod::new(method.clone().into(), *on));
        rows.collect()
    }

    /// Ends the watch. Returns a row per method, the stored intervals, and the number of dropped
    /// intervals.
    pub(crate) fn into_rows(self) -> (Vec<WatchMethod>, Vec<WatchInterval>, u64) {
        let methods = summarize(&self.rows, &self.intervals);
        (methods, self.intervals, self.not_kept)
    }

    pub(crate) fn last_interval(&self) -> Option<&WatchInterval> {
        self.intervals.last()
    }
}

/// Intervals that are drawn: a minute of the shortest ones (100 ms).
const MAX_SHOWN: usize = 600;

/// The rule with its ratio at the next step, or a note to the user that there is no such ratio.
fn with_next_ratio(policy: &PolicySpec, up: bool) -> Result<PolicySpec, &'static str> {
    let mut params = policy.params().into_iter();
    let ratio = params.find(|(name, _)| *name == RATIO);
    let (_, value) = ratio.ok_or("this rule has no ratio")?;
    // A ratio between two steps moves to the nearest step above or below.
    let steps = value * RATIO_STEPS;
    let next = if up {
        (steps + 1e-9).floor() + 1.0
    } else {
        (steps - 1e-9).ceil() - 1.0
    };
    let changed = policy.with_param(RATIO, next / RATIO_STEPS);
    changed.map_err(|_| "the ratio goes no further")
}

#[cfg(test)]
mod tests;
