//! Carries figures of trials to all states that the device had during the run.
//!
//! A trial sees the device for a second or two. If the device has a rare state, all trials of a
//! method may miss it, and their median does not show what the method loses there. So each method
//! is simulated on what polling saw in the slices of every trial of the run. A trial's own figure
//! is then multiplied by the simulated figure of all states over that of its own state
//! (docs/journal/2026-11-28-states.md).

use crate::evidence::{PollingBaseline, WAITS};
use crate::outlook::predict;
use q2c_model::stats::Rng;
use q2c_model::{CostModel, CpuId, Nanos};
use q2c_policy::LaneMethod;
use q2c_sim::LaneRecording;
use rayon::prelude::*;

/// Number of I/Os drawn for each state; they repeat.
const IOS: usize = 2_000;
/// Simulated time of a method in each state.
const FOR: Nanos = Nanos::from_millis(150);

/// The factors that multiply a trial's figures relative to polling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carry {
    /// The factor for IOPS, at most 1.
    pub iops: f64,
    /// The factor for KIOPS/core.
    pub per_core: f64,
}

pub(crate) struct DeviceStates {
    lanes: Vec<LaneRecording>,
    polled: Vec<Spent>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    iops: f64,
    busy: f64,
}

impl Spent {
    fn over(self, polled: Spent) -> Carry {
        Carry {
            iops: self.iops / polled.iops,
            per_core: self.iops / polled.iops * polled.busy / self.busy,
        }
    }

    fn sum(all: &[Spent]) -> Spent {
        Spent {
            iops: all.iter().map(|s| s.iops).sum(),
            busy: all.iter().map(|s| s.busy).sum(),
        }
    }
}

impl DeviceStates {
    /// The states in polled slices. Submissions and think times are drawn from the lane `like`.
    pub(crate) fn new(
        seen: &[PollingBaseline],
        like: &LaneRecording,
        cost: &CostModel,
        seed: u64,
    ) -> Self {
        let mut rng = Rng::new(seed);
        let mut lane = |beside: &PollingBaseline| drawn(&beside.waits, like, &mut rng);
        let lanes: Vec<LaneRecording> = seen.iter().map(&mut lane).collect();
        let polled = spent(&LaneMethod::Poll, &lanes, cost, seed);
        DeviceStates { lanes, polled }
    }

    /// The factors from each state's figures to those of all states. IOPS are never raised.
    pub(crate) fn carries(&self, method: &LaneMethod, cost: &CostModel, seed: u64) -> Vec<Carry> {
        let spent = spent(method, &self.lanes, cost, seed);
        let overall = Spent::sum(&spent).over(Spent::sum(&self.polled));
        let carry = |(spent, polled): (&Spent, &Spent)| {
            let here = spent.over(*polled);
            Carry {
                // Milder states of other trials do not make up for lost IOPS.
                iops: (overall.iops / here.iops).min(1.0),
                per_core: overall.per_core / here.per_core,
            }
        };
        spent.iter().zip(&self.polled).map(carry).collect()
    }
}

fn spent(method: &LaneMethod, lanes: &[LaneRecording], cost: &CostModel, seed: u64) -> Vec<Spent> {
    // One lane shows how a state affects a rule; more lanes would only take more time.
    let spent_on = |lane: &LaneRecording| {
        let lane = std::slice::from_ref(lane);
        let gives = predict(method, lane, &[CpuId(0)], cost, FOR, seed).gives;
        Spent {
            iops: gives.rates.iops,
            busy: gives.rates.iops / gives.kiops_per_core,
        }
    };
    lanes.par_iter().map(spent_on).collect()
}

fn drawn(waits: &[f32; WAITS], like: &LaneRecording, rng: &mut Rng) -> LaneRecording {
    let mut lane = LaneRecording {
        gap_cpu: like.gap_cpu,
        ..LaneRecording::default()
    };
    for _ in 0..IOS {
        let at = (rng.unit() * WAITS as f64 - 0.5).clamp(0.0, (WAITS - 1) as f64);
        let (below, share) = (at as usize, (at - at.floor()) as f32);
        let above = waits[(below + 1).min(WAITS - 1)];
        let wait = waits[below] + (above - waits[below]) * share;
        let i = (rng.unit() * like.len() as f64) as usize;
        let io = q2c_sim::unpack(like.ios[i]);
        lane.push(io, like.submit[i], wait, like.gap[i]);
    }
    lane
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_policy::Io;

    fn like() -> LaneRecording {
        let mut like = LaneRecording::default();
        like.push(Io::READ_4K, 0.0, 1.0, 0.0);
        like
    }

    /// Sleeps of 50 us cost I/Os of 100 us nothing: 10,000 a second. With 40 us they leave 20,000
    /// of 25,000: 30 of 35 over both. A trial in the faster state is not raised.
    #[test]
    fn a_sleep_is_carried_to_a_faster_state() {
        let beside = |ns: f32| PollingBaseline {
            waits: [ns; WAITS],
            ..PollingBaseline::default()
        };
        let cost = CostModel::delayed(Nanos::ZERO);
        let states = DeviceStates::new(&[beside(100e3), beside(40e3)], &like(), &cost, 1);
        let carries = states.carries(&"hybrid:fixed:50us".parse().unwrap(), &cost, 1);
        for (carry, wanted) in carries.iter().zip([30.0 / 35.0, 1.0]) {
            assert!((carry.iops - wanted).abs() < 1e-3, "{carry:?} for {wanted}");
        }
    }

    /// Draws from an even spread have its mean, and a quarter lies below its first quartile.
    #[test]
    fn waits_are_drawn_as_they_were_seen() {
        let waits = std::array::from_fn(|i| 1e4 + 1e3 * i as f32);
        let lane = drawn(&waits, &like(), &mut Rng::new(3));
        let mean = lane.wait.iter().sum::<f32>() / IOS as f32;
        assert!((mean - 25_500.0).abs() < 600.0, "{mean}");
        let low = lane.wait.iter().filter(|&&wait| wait < 17_500.0).count();
        assert!((low as f32 / IOS as f32 - 0.25).abs() < 0.04, "{low}");
    }
}
