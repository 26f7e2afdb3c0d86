//! The state of a sweep's configurations between two parts of one device's I/Os.

use super::plan::{SweepPlan, broken_state, too_long_ios, too_many_corners};
use crate::batch::{
    CostTables, CountingLimit, FIRST_LATENCIES, PausedRun, SingleSimulator, Sums, ranks,
};
use crate::outcome::SimOutcome;
use crate::recording::LaneRecording;
use q2c_model::{Exit, Fault};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SweepDevice {
    pub input: InputDigest,
    /// The first recorded latencies, ns, for the [`CountingLimit`].
    first: Vec<i32>,
    pub simulations: Vec<PausedRun>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct InputDigest {
    pub ios: u64,
    digest: u64,
}

impl InputDigest {
    fn with_part(self, part: &LaneRecording) -> InputDigest {
        let mut digest = self.digest ^ part.first_at.to_bits();
        for i in 0..part.len() {
            let times = [part.submit[i], part.wait[i], part.gap[i]].map(f32::to_bits);
            for word in [part.ios[i]].into_iter().chain(times) {
                digest = (digest.rotate_left(5) ^ u64::from(word)).wrapping_mul(MIX);
            }
        }
        let ios = self.ios + part.len() as u64;
        InputDigest { ios, digest }
    }

    pub(crate) fn combined_with(self, other: InputDigest) -> InputDigest {
        let ios = self.ios.saturating_add(other.ios);
        let digest = self.digest.wrapping_add(other.digest);
        InputDigest { ios, digest }
    }

    /// The digest of all I/Os of a device, which can be combined with those of other devices.
    pub(crate) fn finished(self) -> InputDigest {
        let digest = (self.digest ^ self.ios.rotate_left(32)).wrapping_mul(MIX);
        InputDigest { digest, ..self }
    }
}

/// The fraction of the golden ratio: an odd number without a pattern, to mix the digest.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

impl SweepDevice {
    pub(crate) fn new(plan: &SweepPlan) -> Result<Self, Fault> {
        let nothing = [LaneRecording::default()];
        let machine = simulator(&nothing, plan, Vec::new()).ok_or_else(too_many_corners)?;
        let start = |policy| match machine.pause(policy) {
            Some(paused) => Ok(paused),
            None => {
                let policy = policy.map(ToString::to_string).unwrap_or_default();
                let text = format!(
                    "sweep {policy} in parts: expected sleeps up to 0.27 s, and a rule whose state can be handed over, found others; sweep the whole"
                );
                Err(Fault::new(Exit::Usage, text))
            }
        };
        let simulations = plan.rules().into_iter().map(start);
        Ok(SweepDevice {
            input: InputDigest::default(),
            first: Vec::new(),
            simulations: simulations.collect::<Result<_, _>>()?,
        })
    }

    pub(crate) fn update(&mut self, plan: &SweepPlan, part: &LaneRecording) -> Result<(), Fault> {
        if part.is_empty() {
            return Ok(());
        }
        let mut first = self.first.clone();
        let room = FIRST_LATENCIES - first.len();
        let times = part.submit.iter().zip(part.wait.iter()).take(room);
        first.extend(times.map(|(&submit, &wait)| submit as i32 + wait as i32));
        let lanes = [part.clone()];
        let machine = simulator(&lanes, plan, first.clone()).ok_or_else(too_long_ios)?;
        let mut simulations = self.simulations.clone();
        let simulated = machine.simulate_part(&plan.rules(), &mut simulations);
        simulated.ok_or_else(broken_state)?;
        if !simulations.iter().all(PausedRun::is_sound) {
            return Err(too_long_ios());
        }
        *self = SweepDevice {
            input: self.input.with_part(part),
            first,
            simulations,
        };
        Ok(())
    }

    pub(crate) fn is_done(&self, plan: &SweepPlan) -> bool {
        let (_, stop) = plan.drive.counted_range();
        self.simulations.iter().all(|paused| paused.is_done(stop))
    }

    pub(crate) fn totals(&self, plan: &SweepPlan) -> Vec<Totals> {
        let (warm_up, stop) = plan.drive.counted_range();
        let run_totals = |paused: &PausedRun| {
            let done = paused.is_done(stop);
            let end = if done { stop } else { paused.last };
            Totals::from_paused(paused, end.saturating_sub(warm_up))
        };
        self.simulations.iter().map(run_totals).collect()
    }

    pub(crate) fn is_sound(&self, count: usize) -> bool {
        self.simulations.len() == count
            && self.first.len() <= FIRST_LATENCIES
            && self.simulations.iter().all(PausedRun::is_sound)
    }

    /// Checks that the configurations can resume, by feeding a part without I/Os.
    pub(crate) fn check(&self, plan: &SweepPlan) -> Result<(), Fault> {
        let nothing = [LaneRecording::default()];
        let machine = simulator(&nothing, plan, Vec::new()).ok_or_else(too_many_corners)?;
        let fits = machine.can_resume(&plan.rules(), &self.simulations);
        fits.then_some(()).ok_or_else(broken_state)
    }
}

/// `first` are the first recorded latencies, ns, for the [`CountingLimit`].
fn simulator<'a>(
    part: &'a [LaneRecording; 1],
    plan: &SweepPlan,
    first: Vec<i32>,
) -> Option<SingleSimulator<'a>> {
    let limit = CountingLimit::new(first);
    SingleSimulator::for_part(part, &plan.cost, plan.drive, limit)
}

/// Limit of each sum and count. It leaves room to add two of them.
const MAX_TOTAL: i64 = 1 << 61;

/// The sums of one configuration over volumes, which add up in any order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Totals {
    pub sums: Sums,
    pub wall: i64,
    latencies: BTreeMap<u16, u64>,
    /// Number of volumes on which the configuration asked for a sleep that is too long.
    pub too_long: u64,
}

impl Totals {
    pub(crate) fn from_paused(paused: &PausedRun, wall: i64) -> Self {
        let latencies = paused.latencies.iter();
        Totals {
            sums: paused.sums,
            wall: wall.max(0),
            latencies: latencies
                .map(|(class, n)| (*class, u64::from(*n)))
                .collect(),
            too_long: paused.too_long.into(),
        }
    }

    /// Returns the sum of both; `None` if a sum or count gets too large.
    pub(crate) fn checked_add(mut self, other: &Totals) -> Option<Totals> {
        self.sums += other.sums;
        self.wall += other.wall;
        for (class, added) in &other.latencies {
            let count = self.latencies.entry(*class).or_default();
            *count = count.checked_add(*added)?;
        }
        self.too_long = self.too_long.checked_add(other.too_long)?;
        self.is_sound().then_some(self)
    }

    pub(crate) fn is_sound(&self) -> bool {
        let is_small = |count: &u64| *count <= MAX_TOTAL as u64;
        self.latencies.values().all(is_small)
            && self.sums.is_below(MAX_TOTAL)
            && (0..=MAX_TOTAL).contains(&self.wall)
    }

    /// The outcome as of `volumes` lanes over their mean time; `None` if a sleep was too long.
    pub(crate) fn outcome(&self, volumes: usize, costs: &CostTables) -> Option<SimOutcome> {
        let classes = self.latencies.iter().rev();
        let classes = classes.map(|(class, count)| (usize::from(*class), *count));
        let ranks = ranks(self.sums.ios as u64, &classes);
        let wall = self.wall as f64 / volumes as f64;
        let outcome = || self.sums.outcome(wall, volumes, costs, ranks);
        (self.too_long == 0).then(outcome)
    }
}
