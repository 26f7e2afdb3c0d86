//! Whether a rule can recover once it has overslept.
//!
//! A rule that sleeps `r` times a statistic of *observed* times learns from its own oversleep. Once
//! every I/O of a window oversleeps, the next sleep is `r (s + d)`, with `s` the sleep and `d` the
//! wake-up delay; its fixed point is `r d / (1 - r)`. Where `d / (1 - r) >= L`, with `L` the
//! device's latency, the rule never recovers. This is an own derivation for the closed loop,
//! checked against the simulator.

/// From this share of the latency on, `d / (1 - r)` counts as near the bound.
const NEAR: f64 = 0.7;

/// Whether a rule recovers once every I/O has overslept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stability {
    /// The rule recovers, with a margin.
    Safe,
    /// It recovers, but not with a device a little faster or a delay a little longer.
    Near {
        /// `d / (1 - r)` over the latency.
        share: f64,
    },
    /// Oversleep is permanent once every I/O of a window has overslept.
    Permanent {
        /// `d / (1 - r)` over the latency: 1 or more, infinite from a ratio of 1 on.
        share: f64,
    },
}

/// Of a rule of this ratio on a device of `latency` (ns) where wake-ups are `delay` (ns) late.
#[must_use]
pub fn stability(ratio: f64, delay: f64, latency: f64) -> Stability {
    let share = if ratio < 1.0 {
        delay / (1.0 - ratio) / latency
    } else {
        f64::INFINITY
    };
    match share {
        s if s >= 1.0 => Stability::Permanent { share },
        s if s >= NEAR => Stability::Near { share },
        _ => Stability::Safe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Drive, LaneRecording, Waiting, simulate};
    use q2c_model::{CostModel, Direction, Nanos};
    use q2c_policy::{Io, PolicySpec};

    /// The published table for a delay of 2 us: 50 % fails up to 4 us, 75 % up to 8 us, 90 % up to
    /// 20 us.
    #[test]
    fn the_table() {
        for (ratio, limit) in [(0.5, 4.0), (0.75, 8.0), (0.9, 20.0)] {
            let at = |latency: f64| stability(ratio, 2.0, latency);
            assert!(matches!(at(limit * 0.99), Stability::Permanent { .. }));
            assert!(matches!(at(limit * 1.01), Stability::Near { .. }));
            assert_eq!(at(limit * 2.0), Stability::Safe);
        }
        assert!(matches!(
            stability(1.0, 1.0, 1e9),
            Stability::Permanent { .. }
        ));
    }

    /// The device starts slowly, then has a constant latency. The simulated rule recovers exactly
    /// where the bound says so.
    #[test]
    fn the_simulator_agrees() {
        let recovers = |latency: f32| {
            let mut lane = LaneRecording::default();
            let io = Io {
                direction: Direction::Read,
                bytes: 4096,
            };
            (0..200).for_each(|_| lane.push(io, 0.0, 100_000.0, 0.0));
            (0..20_000).for_each(|_| lane.push(io, 0.0, latency, 0.0));
            let rule: PolicySpec = "min:75%,1ms".parse().unwrap();
            let cost = CostModel::delayed(Nanos(2_000));
            let drive = Drive {
                warm_up: Nanos::from_millis(80),
                measure: Nanos::from_millis(30),
                seed: 1,
            };
            let out = simulate(&[lane], &cost, Waiting::rules(rule.build(1)), drive);
            out.gives.rates.miss_rate < 0.5
        };
        assert!(!recovers(7_000.0), "d / (1 - r) = 8 us");
        assert!(recovers(9_000.0));
    }
}
