//! The state of a sweep's configurations between two parts of one device's I/Os.

use super::asked::{SweepQuestion, broken, too_long, too_many_corners};
use crate::batch::{
    AloneSimulator, CostTables, CountingLimit, FIRST_LATENCIES, Stopped, Sums, ranks,
};
use crate::outcome::SimOutcome;
use crate::recording::LaneRecording;
use q2c_model::{Exit, Fault};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SweepDevice {
    pub fed: Fed,
    /// The first recorded latencies, ns. They set the limit above which all latencies are counted.
    first: Vec<i32>,
    pub stopped: Vec<Stopped>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Fed {
    pub ios: u64,
    digest: u64,
}

impl Fed {
    fn with(self, some: &LaneRecording) -> Fed {
        let mut digest = self.digest ^ some.first_at.to_bits();
        for i in 0..some.len() {
            let times = [some.submit[i], some.wait[i], some.gap[i]].map(f32::to_bits);
            for word in [some.ios[i]].into_iter().chain(times) {
                digest = (digest.rotate_left(5) ^ u64::from(word)).wrapping_mul(MIX);
            }
        }
        Fed {
            ios: self.ios + some.len() as u64,
            digest,
        }
    }

    pub(crate) fn combined_with(self, other: Fed) -> Fed {
        Fed {
            ios: self.ios.saturating_add(other.ios),
            digest: self.digest.wrapping_add(other.digest),
        }
    }

    pub(crate) fn finished(self) -> Fed {
        let digest = (self.digest ^ self.ios.rotate_left(32)).wrapping_mul(MIX);
        Fed { digest, ..self }
    }
}

/// The fraction of the golden ratio: an odd number without a pattern, to mix the digest.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

impl SweepDevice {
    pub(crate) fn new(asked: &SweepQuestion) -> Result<Self, Fault> {
        let nothing = [LaneRecording::default()];
        let machine = machine(&nothing, asked, Vec::new()).ok_or_else(too_many_corners)?;
        let begin = |policy| match machine.stopped(policy) {
            Some(stopped) => Ok(stopped),
            None => {
                let policy = policy.map(ToString::to_string).unwrap_or_default();
                let text = format!(
                    "sweep {policy} in parts: expected sleeps up to 0.27 s, and a rule whose state can be handed over, found others; sweep the whole"
                );
                Err(Fault::new(Exit::Usage, text))
            }
        };
        let stopped = asked.rules().into_iter().map(begin);
        Ok(SweepDevice {
            fed: Fed::default(),
            first: Vec::new(),
            stopped: stopped.collect::<Result<_, _>>()?,
        })
    }

    pub(crate) fn update(
        &mut self,
        asked: &SweepQuestion,
        some: &LaneRecording,
    ) -> Result<(), Fault> {
        if some.is_empty() {
            return Ok(());
        }
        let mut first = self.first.clone();
        let room = FIRST_LATENCIES - first.len();
        let times = some.submit.iter().zip(some.wait.iter()).take(room);
        first.extend(times.map(|(&submit, &wait)| submit as i32 + wait as i32));
        let part = [some.clone()];
        let machine = machine(&part, asked, first.clone()).ok_or_else(too_long)?;
        let mut stopped = self.stopped.clone();
        let went = machine.go_through(&asked.rules(), &mut stopped);
        went.ok_or_else(broken)?;
        if !stopped.iter().all(Stopped::is_sound) {
            return Err(too_long());
        }
        *self = SweepDevice {
            fed: self.fed.with(some),
            first,
            stopped,
        };
        Ok(())
    }

    pub(crate) fn is_done(&self, asked: &SweepQuestion) -> bool {
        let (_, stop) = asked.drive.counts();
        self.stopped.iter().all(|stopped| stopped.is_done(stop))
    }

    pub(crate) fn totals(&self, asked: &SweepQuestion) -> Vec<Totals> {
        let (warm_up, stop) = asked.drive.counts();
        let one = |stopped: &Stopped| {
            let done = stopped.is_done(stop);
            let until = if done { stop } else { stopped.last };
            Totals::from_stopped(stopped, until.saturating_sub(warm_up))
        };
        self.stopped.iter().map(one).collect()
    }

    pub(crate) fn is_sound(&self, count: usize) -> bool {
        self.stopped.len() == count
            && self.first.len() <= FIRST_LATENCIES
            && self.stopped.iter().all(Stopped::is_sound)
    }

    /// Checks that its configurations can resume, by feeding a part without I/Os.
    pub(crate) fn check(&self, asked: &SweepQuestion) -> Result<(), Fault> {
        let nothing = [LaneRecording::default()];
        let machine = machine(&nothing, asked, Vec::new()).ok_or_else(too_many_corners)?;
        let fits = machine.resumes(&asked.rules(), &self.stopped);
        fits.then_some(()).ok_or_else(broken)
    }
}

/// `first` are the recorded latencies, ns, that set the limit above which all are counted.
fn machine<'a>(
    part: &'a [LaneRecording; 1],
    asked: &SweepQuestion,
    first: Vec<i32>,
) -> Option<AloneSimulator<'a>> {
    let limit = CountingLimit::new(first);
    AloneSimulator::of_part(part, &asked.cost, asked.drive, limit)
}

/// Limit of each sum and count. It leaves room to add two of them.
const MOST: i64 = 1 << 61;

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

    /// Adds both; `None` if a sum or count gets too large.
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
