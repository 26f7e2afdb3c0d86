//! Late time: the parts of U2C of a method's I/Os, from a run seen both by the threads and by the
//! block layer. They tell a sleep that was too long from a slow device.

use crate::replay::CapturedBy;
use q2c_model::U2cParts;
use serde::{Deserialize, Serialize};

/// Late time of a method, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LateTime {
    /// Both views were recorded.
    Seen(Box<LateRun>),
    /// There is no late time.
    Unseen(UnseenReason),
}

/// Why a run with the block layer captured has nothing to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnseenReason {
    /// No block device stands under the target.
    NoDevice,
    /// The I/O bypasses the block layer: NVMe commands, a user-space driver, or no device at all.
    PastBlockLayer,
    /// The block layer could not be captured; the text is the error, after "failed to".
    Refused(String),
    /// The run itself failed; the text is the error, after "failed to".
    Failed(String),
    /// The capture saw only I/Os of other threads.
    NoIo {
        /// Number of these I/Os.
        others: u64,
    },
    /// The run was stopped before it had results.
    Stopped,
}

/// The capture of a watched workload, or why there was none. The intervals have the figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LateWatch {
    /// The block layer was captured until the end.
    Seen {
        /// The means by which the block layer was captured.
        captured_by: CapturedBy,
        /// CPU time of the thread that read the capture, percent of one CPU.
        reader_cpu_pct: f64,
        /// I/Os that the capture lost, of all threads.
        lost: u64,
        /// Requests of the device that were dropped for lack of memory.
        not_kept: u64,
    },
    /// There is no late time, or it ends early.
    Unseen(UnseenReason),
}

/// A run with the block layer captured. That slows it, so its speed is not the trials'.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LateRun {
    /// The means by which the block layer was captured.
    pub captured_by: CapturedBy,
    /// I/Os per second of this run, of all foreground lanes.
    pub iops: f64,
    /// Mean U2C by the threads' clocks, ns. If all I/Os matched, the parts' means add up to it.
    pub u2c_mean_ns: f64,
    /// CPU time of the thread that read the capture, percent of one CPU.
    pub reader_cpu_pct: f64,
    /// I/Os that the capture lost, of all threads.
    pub lost: u64,
    /// Requests of the device that were dropped for lack of memory.
    pub not_kept: u64,
    /// The figures of the run as a whole.
    #[serde(flatten)]
    pub all: LateNumbers,
    /// Means over the matched 1 % with the longest U2C; `None` for fewer than 100 I/Os.
    pub slowest: Option<SlowestIos>,
    /// Lateness of the misses; `None` without a miss.
    pub lateness_of_misses: Option<MissLateness>,
    /// The figures by interval, in the order of time.
    pub intervals: Vec<LateInterval>,
    /// Single misses: all, or every n-th so that there are at most 2000.
    pub misses_kept: Vec<Miss>,
}

/// The slowest I/Os.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowestIos {
    /// Number of I/Os.
    pub ios: u64,
    /// Mean parts of these I/Os.
    pub parts: U2cParts<f64>,
}

/// Lateness of misses, ns: to the wake-up from the completion or, if later, the call's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MissLateness {
    /// Mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: f64,
    /// 99th percentile.
    pub p99_ns: f64,
    /// Largest.
    pub max_ns: f64,
}

/// The misses of an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LateMisses {
    /// Lateness of the misses.
    pub lateness: MissLateness,
    /// Single misses: all, or every n-th so that there are at most 100.
    pub kept: Vec<Miss>,
}

/// One interval of a [`LateRun`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LateInterval {
    /// End of the interval, seconds from the run's start.
    pub end_s: f64,
    /// The figures of the I/Os that were reaped in the interval.
    #[serde(flatten)]
    pub numbers: LateNumbers,
}

/// One miss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Miss {
    /// Time of the completion, seconds from the run's start.
    pub t_s: f64,
    /// Oversleep, ns: how much of the sleep asked came after the completion.
    pub oversleep_ns: u64,
    /// Time to the wake-up from the latest of completion, call's end and end of the sleep, ns.
    pub wakeup_ns: u64,
    /// Time from the hand-over to the driver to the completion, ns.
    pub device_ns: u64,
    /// Other requests that the device had at the completion.
    pub others: u64,
    /// Bytes of the other requests.
    pub other_bytes: u64,
}

/// The figures of I/Os that were matched with requests of the block layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LateNumbers {
    /// I/Os that were matched. All other figures are of these.
    pub matched: u64,
    /// I/Os that were not matched, by reason.
    pub unmatched: Unmatched,
    /// Means of the parts; `None` when no I/O was matched.
    pub parts: Option<U2cParts<f64>>,
    /// I/Os whose thread woke after their completion.
    pub overslept: u64,
    /// Misses: I/Os whose first poll after the wake-up found the completion.
    pub misses: u64,
    /// Misses that were not late: they completed after the wake-up, just before the first poll.
    pub misses_in_time: u64,
    /// Mean lateness of the misses (oversleep and wake-up), ns; `None` without a miss.
    pub miss_late_ns: Option<f64>,
    /// Other requests on the device when a miss completed, mean; `None` without a miss.
    pub beside_misses: Option<DeviceLoad>,
    /// Other requests on the device when any other I/O completed, mean; `None` without one.
    pub beside_others: Option<DeviceLoad>,
}

/// Requests in the driver or device, without the completing I/O itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceLoad {
    /// Number of requests.
    pub requests: f64,
    /// Bytes of the requests.
    pub bytes: f64,
}

/// I/Os that could not be matched with requests of the block layer, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmatched {
    /// The I/O's thread queued no request: another thread did, or the capture lost it.
    pub no_request: u64,
    /// The thread's requests moved a different number of bytes than the I/O.
    pub other_bytes: u64,
    /// The hand-over or the completion of a request was not seen.
    pub no_times: u64,
    /// The hand-over was seen before the submission started, or after the completion.
    pub out_of_order: u64,
    /// The completion was seen after the reaping.
    pub completed_after_reap: u64,
}

impl LateNumbers {
    /// Joins the figures of several groups of I/Os to those of one group; `None` without a group.
    pub fn merge_all(groups: impl IntoIterator<Item = LateNumbers>) -> Option<LateNumbers> {
        groups.into_iter().reduce(LateNumbers::merge)
    }

    fn merge(self, other: LateNumbers) -> LateNumbers {
        let (a, b) = (self, other);
        let (a_ios, b_ios) = (a.matched, b.matched);
        let misses = (a.misses, b.misses);
        let others = (a.matched - a.misses, b.matched - b.misses);
        let mean_load = |a: Option<DeviceLoad>, b: Option<DeviceLoad>, counts| {
            Some(DeviceLoad {
                requests: weighted_mean(a.map(|a| a.requests), b.map(|b| b.requests), counts)?,
                bytes: weighted_mean(a.map(|a| a.bytes), b.map(|b| b.bytes), counts)?,
            })
        };
        let mean = |(a, b)| (a * a_ios as f64 + b * b_ios as f64) / (a_ios + b_ios) as f64;
        let parts = match (a.parts, b.parts) {
            (Some(a), Some(b)) => Some(a.zip(b).map(mean)),
            (a, b) => a.or(b),
        };
        LateNumbers {
            matched: a_ios + b_ios,
            unmatched: a.unmatched.merge(b.unmatched),
            parts,
            overslept: a.overslept + b.overslept,
            misses: a.misses + b.misses,
            misses_in_time: a.misses_in_time + b.misses_in_time,
            miss_late_ns: weighted_mean(a.miss_late_ns, b.miss_late_ns, misses),
            beside_misses: mean_load(a.beside_misses, b.beside_misses, misses),
            beside_others: mean_load(a.beside_others, b.beside_others, others),
        }
    }
}

/// The mean over two groups, from the mean and the size of each; `None` if both are empty.
fn weighted_mean(a: Option<f64>, b: Option<f64>, (a_ios, b_ios): (u64, u64)) -> Option<f64> {
    let sum = |mean: Option<f64>, count: u64| mean.unwrap_or(0.0) * count as f64;
    let ios = a_ios + b_ios;
    (ios > 0).then(|| (sum(a, a_ios) + sum(b, b_ios)) / ios as f64)
}

impl Unmatched {
    fn merge(self, other: Unmatched) -> Unmatched {
        Unmatched {
            no_request: self.no_request + other.no_request,
            other_bytes: self.other_bytes + other.other_bytes,
            no_times: self.no_times + other.no_times,
            out_of_order: self.out_of_order + other.out_of_order,
            completed_after_reap: self.completed_after_reap + other.completed_after_reap,
        }
    }

    /// Number of unmatched I/Os for all reasons.
    pub fn total(&self) -> u64 {
        let by_times = self.no_times + self.out_of_order + self.completed_after_reap;
        self.no_request + self.other_bytes + by_times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One I/O that is no miss, and three of which two are misses. Expected values are by hand.
    #[test]
    fn groups_are_joined_by_their_sizes() {
        let parts = |device_ns| U2cParts {
            device_ns,
            ..U2cParts::default()
        };
        let beside = |requests| DeviceLoad {
            requests,
            bytes: requests * 512.0,
        };
        let one = LateNumbers {
            matched: 1,
            parts: Some(parts(100.0)),
            beside_others: Some(beside(5.0)),
            ..LateNumbers::default()
        };
        let three = LateNumbers {
            matched: 3,
            parts: Some(parts(20.0)),
            misses: 2,
            miss_late_ns: Some(7.0),
            beside_misses: Some(beside(3.0)),
            beside_others: Some(beside(1.0)),
            ..LateNumbers::default()
        };
        let none = LateNumbers {
            unmatched: Unmatched {
                no_times: 4,
                ..Unmatched::default()
            },
            ..LateNumbers::default()
        };
        let joined = LateNumbers::merge_all([one, none, three]).unwrap();
        assert_eq!(
            (joined.matched, joined.misses, joined.unmatched.total()),
            (4, 2, 4)
        );
        assert_eq!(joined.parts, Some(parts(40.0)));
        assert_eq!(joined.miss_late_ns, Some(7.0));
        assert_eq!(joined.beside_misses, Some(beside(3.0)));
        assert_eq!(joined.beside_others, Some(beside(3.0)));
        assert_eq!(LateNumbers::merge_all([none]), Some(none));
        assert_eq!(LateNumbers::merge_all([]), None);
    }
}
