//! The sums of one configuration over volumes, which add up in any order.

use crate::batch::{CostTables, Stopped, Sums, ranks};
use crate::outcome::SimOutcome;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most of any sum. It leaves room for two of them to be added.
const MOST: i64 = 1 << 61;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Totals {
    pub sums: Sums,
    pub wall: i64,
    latencies: BTreeMap<u16, u64>,
    /// Number of volumes on which a sleep was asked for that is too long.
    pub too_long: u64,
}

impl Totals {
    pub(crate) fn from_stopped(stopped: &Stopped, wall: i64) -> Self {
        let latencies = stopped.latencies.iter();
        Totals {
            sums: stopped.sums,
            wall: wall.max(0),
            latencies: latencies
                .map(|(class, n)| (*class, u64::from(*n)))
                .collect(),
            too_long: stopped.too_long.into(),
        }
    }

    /// Both; `None` when that is too much to be counted.
    pub(crate) fn checked_add(mut self, other: &Totals) -> Option<Totals> {
        self.sums += other.sums;
        self.wall += other.wall;
        for (class, more) in &other.latencies {
            let count = self.latencies.entry(*class).or_default();
            *count = count.checked_add(*more)?;
        }
        self.too_long = self.too_long.checked_add(other.too_long)?;
        self.is_sound().then_some(self)
    }

    pub(crate) fn is_sound(&self) -> bool {
        let counts = self.latencies.values().all(|count| *count <= MOST as u64);
        counts && self.sums.is_below(MOST) && (0..=MOST).contains(&self.wall)
    }

    /// As that of so many lanes over the mean of their times; `None`: a sleep was too long.
    pub(crate) fn outcome(&self, volumes: usize, costs: &CostTables) -> Option<SimOutcome> {
        let classes = self.latencies.iter().rev();
        let classes = classes.map(|(class, count)| (usize::from(*class), *count));
        let ranks = ranks(self.sums.ios as u64, &classes);
        let wall = self.wall as f64 / volumes as f64;
        let outcome = || self.sums.outcome(wall, volumes, costs, ranks);
        (self.too_long == 0).then(outcome)
    }
}
