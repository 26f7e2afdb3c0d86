//! How long rules are simulated: the same for one rule and for a sweep, so that the two agree.

use q2c_model::Nanos;
use q2c_result::Warning;
use q2c_result::sweep::SweepInput;
use q2c_sim::Drive;

/// Least simulated time: windows need many periods, and a short trace is repeated.
const LEAST: Nanos = Nanos::from_millis(2_000);

/// The simulated time of a study, and the seed of its draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Simulated time before anything counts, for rules to warm up.
    pub warm_up: Nanos,
    /// Simulated time that counts; `None` takes each trace's length, and at least 2 s.
    pub measure: Option<Nanos>,
    /// Seed of the draws of wake-up delays.
    pub seed: u64,
}

impl Timing {
    /// The simulated time on a trace of this length, which is repeated as long.
    pub fn drive_for(self, length: Nanos) -> Drive {
        Drive {
            warm_up: self.warm_up,
            measure: self.measure.unwrap_or(length.max(LEAST)),
            seed: self.seed,
        }
    }
}

/// An I/O counts where it ends, with all of its CPU: none may take more than this share.
const LONGEST_SHARE: f64 = 0.1;

pub(crate) fn long_ios(input: &SweepInput, measure: Nanos) -> Option<Warning> {
    let [.., longest] = input.latency_ns;
    (longest > LONGEST_SHARE * measure.0 as f64).then(|| {
        let length = Nanos(longest as u64);
        Warning::new(
            "long-ios",
            format!(
                "an I/O of {} lasts {length}, and {measure} are measured",
                input.path
            ),
            "an I/O counts where it ends, with all of its CPU: CPU may be above 100 % or too low",
            "give a longer --measure",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_io_that_is_long_beside_the_measured_time_is_told() {
        let mut input = SweepInput::default();
        input.latency_ns[4] = 30e9;
        let measured = [40, 299, 300].map(|s: u64| Nanos::from_millis(s * 1000));
        let warned = measured.map(|measure| long_ios(&input, measure).is_some());
        assert_eq!(warned, [true, true, false]);
    }

    #[test]
    fn a_trace_counts_as_long_as_it_is_and_at_least_two_seconds() {
        let ms = Nanos::from_millis;
        let drive_of = |measure, length_ms| {
            let timing = Timing {
                warm_up: ms(400),
                measure,
                seed: 7,
            };
            let drive = timing.drive_for(ms(length_ms));
            (drive.warm_up, drive.measure, drive.seed)
        };
        assert_eq!(drive_of(None, 10), (ms(400), ms(2_000), 7));
        assert_eq!(drive_of(None, 3_000), (ms(400), ms(3_000), 7));
        assert_eq!(drive_of(Some(ms(10)), 3_000), (ms(400), ms(10), 7));
    }
}
