//! Joins the slices of single lanes to intervals of all lanes, each under one order to the lanes.
//!
//! A *step* lies between two instants at which every lane ended a slice. It holds the slices of all
//! lanes from the first instant to the second: one for each lane when no lane was late. Steps of
//! the same order are joined until an edge of the intervals is reached. The edges are the multiples
//! of the number of slices in an interval.

use super::WorkloadInterval;
use q2c_engine::measure::{PhaseStats, combine_lanes, combine_phases};
use q2c_engine::{LiveSlice, Sample};
use q2c_policy::method::Means;
use q2c_workbench::workload::{Boundary, Site};
use std::collections::VecDeque;

pub(super) struct SliceGatherer {
    /// Slices of each lane that are in no step yet, in order.
    waiting: Vec<VecDeque<LiveSlice>>,
    /// Number of foreground lanes; they come before the background's.
    foreground: usize,
    slices_per_interval: u64,
    start_ns: u64,
    open: Option<OpenInterval>,
    pub ready: VecDeque<WorkloadInterval>,
}

struct OpenInterval {
    /// Number of the slice with which the interval began.
    first_slice: u64,
    order: Option<u64>,
    begin_ns: u64,
    end_ns: u64,
    /// Statistics of each slice, by lane.
    stats: Vec<Vec<PhaseStats>>,
    samples: Vec<Vec<Sample>>,
    polls_by: Option<Means>,
}

/// `order` is `None` when lanes had different orders.
struct SliceStep {
    first_slice: u64,
    last_slice: u64,
    order: Option<u64>,
    lanes: Vec<Vec<LiveSlice>>,
}

impl SliceGatherer {
    pub(crate) fn new(lanes: usize, foreground: usize, slices: u64, start_ns: u64) -> Self {
        SliceGatherer {
            waiting: vec![VecDeque::new(); lanes],
            foreground,
            slices_per_interval: slices,
            start_ns,
            open: None,
            ready: VecDeque::new(),
        }
    }

    pub(crate) fn add(&mut self, slice: LiveSlice) {
        self.waiting[slice.lane].push_back(slice);
        while let Some(step) = self.take_step() {
            self.join(step);
        }
    }

    /// Takes out the next step, when every lane has reached the step's end.
    fn take_step(&mut self) -> Option<SliceStep> {
        let (first_lane, other_lanes) = self.waiting.split_first()?;
        let is_in_all = |number: &u64| {
            let mut lanes = other_lanes.iter();
            lanes.all(|lane| lane.iter().any(|s| s.number == *number))
        };
        let last_slice = first_lane.iter().map(|s| s.number).find(is_in_all)?;
        let take_reached = |lane: &mut VecDeque<LiveSlice>| {
            let count = lane.partition_point(|s| s.number <= last_slice);
            lane.drain(..count).collect::<Vec<_>>()
        };
        let lanes: Vec<Vec<_>> = self.waiting.iter_mut().map(take_reached).collect();
        let slices = || lanes.iter().flatten();
        let order = slices().next().map(|s| s.order);
        Some(SliceStep {
            first_slice: slices().map(|s| s.number).min()?,
            last_slice,
            order: order.filter(|&order| slices().all(|s| s.order == order)),
            lanes,
        })
    }

    fn join(&mut self, step: SliceStep) {
        let order = self.open.as_ref().map(|open| open.order);
        if order.is_some_and(|order| order != step.order) {
            self.close();
        }
        let last_slice = step.last_slice;
        let new_interval = || OpenInterval::from_step(&step);
        let open = self.open.get_or_insert_with(new_interval);
        open.add(step);
        let interval_of = |slice| slice / self.slices_per_interval;
        if interval_of(last_slice + 1) > interval_of(open.first_slice) {
            self.close();
        }
    }

    fn close(&mut self) {
        let Some(mut open) = self.open.take() else {
            return;
        };
        open.samples.truncate(self.foreground);
        let lanes: Vec<PhaseStats> = open.stats.iter().map(|s| combine_phases(s)).collect();
        let (foreground, background) = lanes.split_at(self.foreground);
        let since_start = |t_ns: u64| t_ns.saturating_sub(self.start_ns);
        self.ready.push_back(WorkloadInterval {
            span: (since_start(open.begin_ns), since_start(open.end_ns)),
            order: open.order,
            foreground: combine_lanes(foreground),
            background: combine_lanes(background),
            polls_by: open.polls_by,
            samples: open.samples,
            ..WorkloadInterval::default()
        });
    }
}

impl OpenInterval {
    fn from_step(step: &SliceStep) -> Self {
        let slices = || step.lanes.iter().flatten();
        OpenInterval {
            first_slice: step.first_slice,
            order: step.order,
            begin_ns: slices().map(|s| s.span.0).min().unwrap_or(0),
            end_ns: 0,
            stats: vec![Vec::new(); step.lanes.len()],
            samples: vec![Vec::new(); step.lanes.len()],
            polls_by: slices().next().map(|s| s.facts.polls_by),
        }
    }

    fn add(&mut self, step: SliceStep) {
        let lanes = self.stats.iter_mut().zip(&mut self.samples);
        for ((stats, samples), slices) in lanes.zip(step.lanes) {
            for slice in slices {
                let (_, slice_end_ns) = slice.span;
                self.end_ns = self.end_ns.max(slice_end_ns);
                stats.push(slice.stats);
                samples.extend(slice.samples);
            }
        }
    }
}

/// The device's counters at the last reading, which is shortly after an interval's end.
pub(super) struct DeviceCounters<'a> {
    site: &'a Site,
    last_reading: Boundary,
    /// True if a slice has arrived since the last reading.
    pub slice_arrived: bool,
}

impl<'a> DeviceCounters<'a> {
    pub(crate) fn new(site: &'a Site) -> Self {
        DeviceCounters {
            site,
            last_reading: Boundary::read(site),
            slice_arrived: false,
        }
    }

    /// Adds the counts since the last reading, if no other interval ended at once (`is_last`).
    pub(crate) fn add_counts(&mut self, interval: &mut WorkloadInterval, is_last: bool) {
        let now = Boundary::read(self.site);
        if std::mem::take(&mut self.slice_arrived) && is_last {
            let activity = now.since(&self.last_reading);
            interval.interrupts = activity.interrupts;
            interval.requests = activity.requests;
        }
        self.last_reading = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_engine::engine::EngineFacts;

    /// The slices of these numbers as one, 10 ns each, of a lane that does one I/O per ns.
    fn slice(lane: usize, numbers: std::ops::RangeInclusive<u64>, order: u64) -> LiveSlice {
        let (first, number) = (*numbers.start(), *numbers.end());
        let span = (1_000 + first * 10, 1_010 + number * 10);
        let ios = span.1 - span.0;
        let stats = PhaseStats {
            lanes: 1,
            wall_ns: ios as f64,
            ios,
            ..PhaseStats::default()
        };
        LiveSlice {
            lane,
            number,
            order,
            span,
            stats,
            facts: EngineFacts::default(),
            samples: vec![Sample::default(); ios as usize],
        }
    }

    /// Begin, end, order, I/Os of the foreground, I/Os of the background.
    type IntervalRow = (u64, u64, Option<u64>, u64, u64);

    /// Rows of two lanes, the second of which is the background, with three slices per interval.
    fn rows(slices: Vec<LiveSlice>) -> Vec<IntervalRow> {
        let mut gather = SliceGatherer::new(2, 1, 3, 1_000);
        slices.into_iter().for_each(|slice| gather.add(slice));
        let row = |i: WorkloadInterval| {
            let ios = (i.foreground.ios, i.background.ios);
            // Samples are kept of the foreground alone.
            let samples: Vec<usize> = i.samples.iter().map(Vec::len).collect();
            assert_eq!(samples, [i.foreground.ios as usize]);
            (i.span.0, i.span.1, i.order, ios.0, ios.1)
        };
        gather.ready.into_iter().map(row).collect()
    }

    #[test]
    fn three_slices_of_every_lane_are_an_interval() {
        let lane = |number| (0..7).map(move |n| slice(number, n..=n, 0));
        let wanted = [(0, 30, Some(0), 30, 30), (30, 60, Some(0), 30, 30)];
        assert_eq!(rows(lane(0).chain(lane(1)).collect()), wanted);
        let turns = lane(1).zip(lane(0)).flat_map(|(a, b)| [a, b]).collect();
        assert_eq!(rows(turns), wanted);
        assert_eq!(rows(lane(0).collect()), [], "the other lane is missing");
    }

    #[test]
    fn a_new_order_cuts_and_the_next_interval_ends_at_its_edge() {
        let order = |n| u64::from(n >= 4);
        let lane = |number| (0..9).map(move |n| slice(number, n..=n, order(n)));
        let wanted = [
            (0, 30, Some(0), 30, 30),
            (30, 40, Some(0), 10, 10),
            (40, 60, Some(1), 20, 20),
            (60, 90, Some(1), 30, 30),
        ];
        assert_eq!(rows(lane(0).chain(lane(1)).collect()), wanted);
    }

    /// The background was busy with one I/O from slice 1 to 3, so the interval ends with 3.
    #[test]
    fn a_late_lane_makes_a_longer_interval() {
        let front = (0..6).map(|n| slice(0, n..=n, 0));
        let back = [0..=0, 1..=3, 4..=4, 5..=5].map(|numbers| slice(1, numbers, 0));
        let wanted = [(0, 40, Some(0), 40, 40), (40, 60, Some(0), 20, 20)];
        assert_eq!(rows(front.chain(back).collect()), wanted);
    }

    /// The background takes up the new order at slice 3 only.
    #[test]
    fn lanes_of_different_orders_are_of_none() {
        let front = (0..6).map(|n| slice(0, n..=n, u64::from(n >= 1)));
        let back = (0..6).map(|n| slice(1, n..=n, u64::from(n >= 3)));
        let wanted = [
            (0, 10, Some(0), 10, 10),
            (10, 30, None, 20, 20),
            (30, 60, Some(1), 30, 30),
        ];
        assert_eq!(rows(front.chain(back).collect()), wanted);
    }
}
