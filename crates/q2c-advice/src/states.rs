//! Carries figures of trials to all states that the device had during the run.
//!
//! A trial sees the device for a second or two. If the device has a rare state, all trials of a
//! method may miss it, and their median does not show what the method loses there. So each method
//! is simulated on what polling saw in the slices of every trial of the run. A trial's own figure
//! is then multiplied by the simulated figure of all states over that of its own state
//! (docs/journal/2026-11-28-states.md).

use crate::evidence::{PollingBaseline, WAIT_QUANTILES};
use crate::outlook::predict;
use q2c_model::stats::Rng;
use q2c_model::{CostModel, CpuId, Nanos};
use q2c_policy::LaneMethod;
use q2c_sim::LaneRecording;
use rayon::prelude::*;

/// Number of I/Os drawn for each state; they repeat.
const DRAWN_IOS: usize = 2_000;
/// Simulated time of a method in each state.
const STATE_TIME: Nanos = Nanos::from_millis(150);

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
    polled: Vec<StateRates>,
}

#[derive(Clone, Copy, Debug, Default)]
struct StateRates {
    iops: f64,
    busy_cpus: f64,
}

impl StateRates {
    fn relative_to(self, polled: StateRates) -> Carry {
        Carry {
            iops: self.iops / polled.iops,
            per_core: self.iops / polled.iops * polled.busy_cpus / self.busy_cpus,
        }
    }

    fn sum(all: &[StateRates]) -> StateRates {
        StateRates {
            iops: all.iter().map(|s| s.iops).sum(),
            busy_cpus: all.iter().map(|s| s.busy_cpus).sum(),
        }
    }
}

impl DeviceStates {
    /// The states in polled slices. Submissions and think times are drawn from the lane `template`.
    pub(crate) fn new(
        baselines: &[PollingBaseline],
        template: &LaneRecording,
        cost: &CostModel,
        seed: u64,
    ) -> Self {
        let mut rng = Rng::new(seed);
        let lane = |polling: &PollingBaseline| draw(&polling.wait_ns, template, &mut rng);
        let (lanes, polled) = (baselines.iter().map(lane).collect(), Vec::new());
        let mut states = DeviceStates { lanes, polled };
        states.polled = states.simulate(&LaneMethod::Poll, cost, seed);
        states
    }

    /// The factors from each state's figures to those of all states. IOPS are never raised.
    pub(crate) fn carries(&self, method: &LaneMethod, cost: &CostModel, seed: u64) -> Vec<Carry> {
        let states = self.simulate(method, cost, seed);
        let overall = StateRates::sum(&states).relative_to(StateRates::sum(&self.polled));
        let carry = |(state, polled): (&StateRates, &StateRates)| {
            let relative = state.relative_to(*polled);
            Carry {
                // Milder states of other trials do not make up for lost IOPS.
                iops: (overall.iops / relative.iops).min(1.0),
                per_core: overall.per_core / relative.per_core,
            }
        };
        states.iter().zip(&self.polled).map(carry).collect()
    }

    fn simulate(&self, method: &LaneMethod, cost: &CostModel, seed: u64) -> Vec<StateRates> {
        // One lane shows how a state affects a rule; more lanes would only take more time.
        let rates = |lane: &LaneRecording| {
            let lane = std::slice::from_ref(lane);
            let gives = predict(method, lane, &[CpuId(0)], cost, STATE_TIME, seed).gives;
            StateRates {
                iops: gives.rates.iops,
                busy_cpus: gives.rates.iops / gives.kiops_per_core,
            }
        };
        self.lanes.par_iter().map(rates).collect()
    }
}

fn draw(wait_ns: &[f32; WAIT_QUANTILES], template: &LaneRecording, rng: &mut Rng) -> LaneRecording {
    let mut lane = LaneRecording {
        gap_cpu: template.gap_cpu,
        ..LaneRecording::default()
    };
    for _ in 0..DRAWN_IOS {
        let position =
            (rng.unit() * WAIT_QUANTILES as f64 - 0.5).clamp(0.0, (WAIT_QUANTILES - 1) as f64);
        let (below, share) = (position as usize, (position - position.floor()) as f32);
        let above = wait_ns[(below + 1).min(WAIT_QUANTILES - 1)];
        let wait = wait_ns[below] + (above - wait_ns[below]) * share;
        let i = (rng.unit() * template.len() as f64) as usize;
        let io = q2c_sim::unpack(template.ios[i]);
        lane.push(io, template.submit[i], wait, template.gap[i]);
    }
    lane
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_policy::Io;

    fn template() -> LaneRecording {
        let mut template = LaneRecording::default();
        template.push(Io::READ_4K, 0.0, 1.0, 0.0);
        template
    }

    /// Sleeps of 50 us cost I/Os of 100 us nothing: 10,000 a second. With 40 us they leave 20,000
    /// of 25,000: 30 of 35 over both. A trial in the faster state is not raised.
    #[test]
    fn a_sleep_is_carried_to_a_faster_state() {
        let polling = |ns: f32| PollingBaseline {
            wait_ns: [ns; WAIT_QUANTILES],
            ..PollingBaseline::default()
        };
        let cost = CostModel::delayed(Nanos::ZERO);
        let states = DeviceStates::new(&[polling(100e3), polling(40e3)], &template(), &cost, 1);
        let carries = states.carries(&"hybrid:fixed:50us".parse().unwrap(), &cost, 1);
        for (carry, wanted) in carries.iter().zip([30.0 / 35.0, 1.0]) {
            assert!((carry.iops - wanted).abs() < 1e-3, "{carry:?} for {wanted}");
        }
    }

    /// Draws from an even spread have its mean, and a quarter lies below its first quartile.
    #[test]
    fn waits_are_drawn_as_they_were_seen() {
        let wait_ns = std::array::from_fn(|i| 1e4 + 1e3 * i as f32);
        let lane = draw(&wait_ns, &template(), &mut Rng::new(3));
        let mean = lane.wait.iter().sum::<f32>() / DRAWN_IOS as f32;
        assert!((mean - 25_500.0).abs() < 600.0, "{mean}");
        let low = lane.wait.iter().filter(|&&wait| wait < 17_500.0).count();
        assert!((low as f32 / DRAWN_IOS as f32 - 0.25).abs() < 0.04, "{low}");
    }
}
