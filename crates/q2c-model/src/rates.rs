//! The figures that compare ways of waiting for I/Os. Lanes, trials, simulations and results have
//! the same figures; only the form of a figure differs.

use serde::{Deserialize, Deserializer, Serialize};

/// Speed, cost and sleeps of a run of I/Os, over all foreground lanes together.
///
/// `T` is the form of each figure: `f64` for one run, `Option<f64>` where a figure may be unknown,
/// a `Vec` for a series, and an interval for several trials.
///
/// ```
/// use q2c_model::Rates;
///
/// let run = |iops| Rates { iops, cpu_pct: 50.0, miss_rate: 0.1, effective_sleep_ns: 30e3 };
/// let trials: Rates<Vec<f64>> = [run(9e3), run(11e3)].into_iter().collect();
/// let largest = trials.map(|values| values.into_iter().fold(0.0, f64::max));
/// assert_eq!(largest, run(11e3));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates<T> {
    /// I/Os per second, of all lanes.
    pub iops: T,
    /// Thread CPU, percent of one CPU for each lane.
    pub cpu_pct: T,
    /// I/Os that were complete when their sleep ended / I/Os that the sleep rule handled, 0..1.
    pub miss_rate: T,
    /// Sum of sleeps asked / I/Os that the sleep rule handled, ns.
    pub effective_sleep_ns: T,
}

each_field!(Rates, iops, cpu_pct, miss_rate, effective_sleep_ns);

/// Latencies of a run of I/Os in the user layer (U2C, submission to reaping), ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latencies<T> {
    /// Mean.
    pub mean_ns: T,
    /// Median.
    pub p50_ns: T,
    /// 99th percentile.
    pub p99_ns: T,
    /// 99.9th percentile.
    pub p999_ns: T,
}

each_field!(Latencies, mean_ns, p50_ns, p99_ns, p999_ns);

impl Latencies<f64> {
    /// Makes the latencies from the mean and a function from a share (0..1) to its percentile, ns.
    pub fn from_percentiles(mean_ns: f64, mut percentile_ns: impl FnMut(f64) -> f64) -> Self {
        Latencies {
            mean_ns,
            p50_ns: percentile_ns(0.5),
            p99_ns: percentile_ns(0.99),
            p999_ns: percentile_ns(0.999),
        }
    }
}

/// The figures of a simulated run, which follow from the recorded times and the cost model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SimulatedFigures {
    /// Speed, cost and sleeps. A simulated rule handles all I/Os.
    #[serde(flatten)]
    pub rates: Rates<f64>,
    /// Thread CPU per I/O, ns.
    pub cpu_ns_per_io: f64,
    /// Thousand I/Os per second / busy CPUs of the machine. Infinite if no CPU was busy, which JSON
    /// stores as `null`.
    #[serde(deserialize_with = "null_as_infinity")]
    pub kiops_per_core: f64,
    /// Time from completion to reaping / latency, both summed over all I/Os (T_over of the PAS
    /// simulators).
    pub t_over: f64,
    /// Time spent polling / latency, both summed over all I/Os (T_under of the PAS simulators).
    pub t_under: f64,
    /// Latencies (U2C).
    #[serde(flatten)]
    pub latencies: Latencies<f64>,
}

/// Reads a number; `null` in JSON means infinity.
fn null_as_infinity<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    if !from.is_human_readable() {
        return f64::deserialize(from);
    }
    Option::deserialize(from).map(|number| number.unwrap_or(f64::INFINITY))
}

impl SimulatedFigures {
    /// The mean of each figure over several runs; NaN without runs.
    pub fn mean(runs: &[SimulatedFigures]) -> SimulatedFigures {
        let mean_of = |values: Vec<f64>| values.iter().sum::<f64>() / runs.len() as f64;
        let mean = |get: fn(&SimulatedFigures) -> f64| mean_of(runs.iter().map(get).collect());
        let rates: Rates<Vec<f64>> = runs.iter().map(|run| run.rates).collect();
        let latencies: Latencies<Vec<f64>> = runs.iter().map(|run| run.latencies).collect();
        SimulatedFigures {
            rates: rates.map(mean_of),
            cpu_ns_per_io: mean(|run| run.cpu_ns_per_io),
            kiops_per_core: mean(|run| run.kiops_per_core),
            t_over: mean(|run| run.t_over),
            t_under: mean(|run| run.t_under),
            latencies: latencies.map(mean_of),
        }
    }
}

/// The parts of U2C, for I/Os whose block-layer requests are known. They are successive in time and
/// add up to U2C. A split I/O has the hand-over of its first request and the completion of its
/// last.
///
/// `T` is the form of each part: `u64` for one I/O, `f64` for a mean over several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct U2cParts<T> {
    /// From the start of the submission to the hand-over to the driver (D), ns.
    pub submission_ns: T,
    /// From the hand-over to the completion (C), ns.
    pub device_ns: T,
    /// From the completion to the return of the submitting call, ns; 0 if the call returned before
    /// the completion. In a virtual machine, the call can last as long as the device, because the
    /// host handles the request during the call.
    pub return_ns: T,
    /// From the completion, or the later return of the call, to the end of the sleep asked, ns; 0
    /// if the thread did not sleep, or if the sleep asked was shorter.
    pub oversleep_ns: T,
    /// From the latest of completion, return and end of the sleep asked to the wake-up, ns; 0 if
    /// the thread did not sleep, or woke before the completion. It is lateness of the timer, the
    /// CPU or the scheduler.
    pub wakeup_ns: T,
    /// From the latest of completion, return and wake-up to the reaping, ns.
    pub reap_ns: T,
}

each_field! {
    U2cParts, submission_ns, device_ns, return_ns, oversleep_ns, wakeup_ns, reap_ns
}

impl<T> U2cParts<T> {
    /// The parts in the order of time.
    pub fn in_order(self) -> [T; 6] {
        [
            self.submission_ns,
            self.device_ns,
            self.return_ns,
            self.oversleep_ns,
            self.wakeup_ns,
            self.reap_ns,
        ]
    }
}

impl<T: std::iter::Sum> U2cParts<T> {
    /// The sum of the parts: U2C.
    pub fn u2c_ns(self) -> T {
        self.in_order().into_iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If the costs are all zero, a rule that waits by interrupts uses no CPU.
    #[test]
    fn no_cpu_survives_json() {
        let none = SimulatedFigures {
            kiops_per_core: f64::INFINITY,
            ..SimulatedFigures::default()
        };
        let json = serde_json::to_string(&none).expect("JSON");
        let back: SimulatedFigures = serde_json::from_str(&json).expect("the same figures");
        assert_eq!(back, none);
    }

    fn rates(first: f64) -> Rates<f64> {
        Rates {
            iops: first,
            cpu_pct: first + 1.0,
            miss_rate: first + 2.0,
            effective_sleep_ns: first + 3.0,
        }
    }

    /// Each figure is paired with the same figure of the other run, never with another one.
    #[test]
    fn figures_meet_their_own_kind() {
        let sums = rates(10.0).zip(rates(100.0)).map(|(a, b)| a + b);
        let wanted = Rates {
            iops: 110.0,
            cpu_pct: 112.0,
            miss_rate: 114.0,
            effective_sleep_ns: 116.0,
        };
        assert_eq!(sums, wanted);
        let columns: Rates<Vec<f64>> = [rates(1.0), rates(5.0)].into_iter().collect();
        assert_eq!(columns.iops, [1.0, 5.0]);
        assert_eq!(columns.effective_sleep_ns, [4.0, 8.0]);
    }

    #[test]
    fn json_has_one_level() {
        let run = SimulatedFigures {
            rates: rates(1.0),
            ..SimulatedFigures::default()
        };
        let json = serde_json::to_value(run).unwrap();
        assert!(json["iops"] == 1.0 && json["miss_rate"] == 3.0);
        assert_eq!(json.as_object().unwrap().len(), 12);
        assert_eq!(
            serde_json::from_value::<SimulatedFigures>(json).unwrap(),
            run
        );
    }

    #[test]
    fn means_by_hand() {
        let run = |first, p999_ns| SimulatedFigures {
            rates: rates(first),
            t_over: first * 2.0,
            latencies: Latencies {
                p999_ns,
                ..Latencies::default()
            },
            ..SimulatedFigures::default()
        };
        let mean = SimulatedFigures::mean(&[run(1.0, 5.0), run(3.0, 10.0)]);
        assert_eq!(mean, run(2.0, 7.5));
    }

    #[test]
    fn each_part_meets_its_own_kind() {
        let counting_from = |first: u64| U2cParts {
            submission_ns: first,
            device_ns: first + 1,
            return_ns: first + 2,
            oversleep_ns: first + 3,
            wakeup_ns: first + 4,
            reap_ns: first + 5,
        };
        let sums = counting_from(10)
            .zip(counting_from(100))
            .map(|(a, b)| a + b);
        assert_eq!(sums.in_order(), [110, 112, 114, 116, 118, 120]);
        assert_eq!(sums.u2c_ns(), 690);
    }
}
