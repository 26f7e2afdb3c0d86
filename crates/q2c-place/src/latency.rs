//! Latency of polled I/Os where a P task shares its CPU.
//!
//! A P task submits an I/O and polls for it, again and again. While it runs, an I/O takes the
//! device's time. At the end of each slice it loses its CPU in the middle of an I/O. It sees the
//! completion only when all other tasks of the CPU had their slices.

use crate::sim::PollSharing;
use q2c_result::place::PollLatency;

/// Times of polled I/O and of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PollTimes {
    /// Latency of an I/O of a P task that has its CPU for itself, us.
    pub io_us: f64,
    /// Time for which a task keeps its CPU while others wait, us; the kernel's is 3 ms
    /// (`base_slice_ns` with eight CPUs or more, from Linux 6.6 on).
    pub slice_us: f64,
}

impl Default for PollTimes {
    fn default() -> Self {
        let (io_us, slice_us) = (80.0, 3_000.0);
        PollTimes { io_us, slice_us }
    }
}

/// Latencies over all I/Os of the P tasks, where `sharing[n]` is for CPUs with n other tasks;
/// `None` where no I/O was made.
pub(crate) fn poll_latency(sharing: &[PollSharing], times: PollTimes) -> Option<PollLatency> {
    let mut weighted_us: Vec<(f64, f64)> = Vec::new();
    for (others, shared) in sharing.iter().enumerate().filter(|(_, s)| s.work_s > 0.0) {
        let io_us = times.io_us * shared.ran_s / shared.work_s;
        let cut_share = (io_us / times.slice_us).min(1.0);
        let cut_share = if others == 0 { 0.0 } else { cut_share };
        let wait_us = others as f64 * times.slice_us.max(io_us);
        weighted_us.push((io_us, shared.work_s * (1.0 - cut_share)));
        weighted_us.push((io_us + wait_us, shared.work_s * cut_share));
    }
    weighted_us.retain(|(_, weight)| *weight > 0.0);
    weighted_us.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let total_weight: f64 = weighted_us.iter().map(|(_, weight)| weight).sum();
    let sum: f64 = weighted_us.iter().map(|(us, weight)| us * weight).sum();
    (total_weight > 0.0).then(|| PollLatency {
        mean_us: sum / total_weight,
        p99_us: quantile(&weighted_us, 0.99 * total_weight),
        p999_us: quantile(&weighted_us, 0.999 * total_weight),
    })
}

fn quantile(ascending: &[(f64, f64)], wanted_weight: f64) -> f64 {
    let mut weight_so_far = 0.0;
    let reached = ascending.iter().find(|(_, weight)| {
        weight_so_far += weight;
        weight_so_far >= wanted_weight
    });
    reached.or(ascending.last()).map_or(0.0, |(us, _)| *us)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: PollTimes = PollTimes {
        io_us: 10.0,
        slice_us: 3_000.0,
    };

    fn shared(ran_s: f64, work_s: f64) -> PollSharing {
        PollSharing { ran_s, work_s }
    }

    /// By hand: one I/O of 300 is cut, and waits for a slice of each other task.
    #[test]
    fn a_cut_io_waits_for_the_slices_of_the_others() {
        let none = PollSharing::default();
        let alone = poll_latency(&[shared(1.0, 1.0)], TIMES).unwrap();
        assert_eq!((alone.mean_us, alone.p999_us), (10.0, 10.0));
        let two = poll_latency(&[none, shared(1.0, 1.0)], TIMES).unwrap();
        assert!((two.mean_us - 20.0).abs() < 1e-9, "{two:?}");
        assert_eq!((two.p99_us, two.p999_us), (10.0, 3_010.0));
        let four = poll_latency(&[none, none, none, shared(1.0, 1.0)], TIMES);
        assert!((four.unwrap().mean_us - 40.0).abs() < 1e-9);
    }

    #[test]
    fn a_slow_neighbour_and_a_long_io_show() {
        let slowed = poll_latency(&[shared(1.0, 0.5)], TIMES).unwrap();
        assert_eq!(slowed.mean_us, 20.0);
        let long = PollTimes {
            io_us: 6_000.0,
            ..TIMES
        };
        let two = poll_latency(&[shared(0.0, 0.0), shared(1.0, 1.0)], long).unwrap();
        assert_eq!(two.mean_us, 12_000.0);
        assert_eq!(poll_latency(&[], TIMES), None);
    }
}
