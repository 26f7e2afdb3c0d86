//! The CPU time of think times. Every lane sleeps in them, whatever its method. The calibration
//! gives the cost of a sleep, and the polled slices of a trial show it.

use super::outcome::TrialOutcome;
use q2c_model::{CostModel, Nanos};
use q2c_sim::LaneRecording;

/// CPU time of a think time from calibrated costs: bookkeeping, and a clear sleep.
pub(super) fn think_cpu(think: Option<Nanos>, cost: &CostModel) -> Option<Nanos> {
    let sleep = cost.sleep_cpu_clear_ns.value_at(think?.0 as f64);
    Some(Nanos((cost.turnaround_ns + sleep).round() as u64))
}

pub(super) fn with_gap(lanes: Vec<LaneRecording>, gap_cpu: Option<Nanos>) -> Vec<LaneRecording> {
    let with = |lane| LaneRecording { gap_cpu, ..lane };
    lanes.into_iter().map(with).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PolledCpu {
    /// CPU time of a think time, the gap between two I/Os; `None` without think time.
    pub gap_cpu: Option<Nanos>,
    /// CPU time that polling got as a share of what it should have, at most 1.
    pub share: f64,
}

impl PolledCpu {
    /// Derives both figures from the slices and `slice_figures`. `gap_cpu` is the calibrated CPU
    /// time of a think time. Polling is busy during the whole I/O. So more CPU than expected means
    /// costlier think times, and less means that another task or the hypervisor took it.
    pub(crate) fn from_slices(
        slices: &[LaneRecording],
        slice_figures: &TrialOutcome,
        gap_cpu: Option<Nanos>,
    ) -> Self {
        let share = slice_figures.rates.cpu_pct / 100.0;
        let Some(calibrated) = gap_cpu else {
            let share = share.min(1.0);
            return PolledCpu { gap_cpu, share };
        };
        let ios: usize = slices.iter().map(LaneRecording::len).sum();
        let times = slices.iter();
        let times = times.flat_map(|l| l.submit.iter().chain(&l.wait[..]));
        let polling_ns = times.map(|&ns| f64::from(ns)).sum::<f64>() / ios as f64;
        let cpu_ns = share * slices.len() as f64 / slice_figures.rates.iops * 1e9;
        let gap_ns = cpu_ns - polling_ns;
        if gap_ns > calibrated.0 as f64 {
            let (gap_cpu, share) = (Some(Nanos(gap_ns as u64)), 1.0);
            return PolledCpu { gap_cpu, share };
        }
        let share = cpu_ns / (polling_ns + calibrated.0 as f64);
        // Slices without an I/O leave the share at 1.
        let share = if share.is_finite() { share } else { 1.0 };
        PolledCpu { gap_cpu, share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{Curve, Direction, Rates};
    use q2c_policy::Io;

    const IO: Io = Io {
        direction: Direction::Read,
        bytes: 4096,
    };

    /// Slices of two lanes in which each I/O is 100 us of polling and 100 us of thinking.
    fn polled(cpu_pct: f64, gap_cpu: Option<Nanos>) -> PolledCpu {
        let mut lane = LaneRecording::default();
        (0..10).for_each(|_| lane.push(IO, 2_000.0, 98_000.0, 100_000.0));
        let slice_figures = TrialOutcome {
            rates: Rates {
                iops: 10_000.0,
                cpu_pct,
                ..Rates::default()
            },
            ..TrialOutcome::default()
        };
        PolledCpu::from_slices(&[lane.clone(), lane], &slice_figures, gap_cpu)
    }

    #[test]
    fn a_think_time_costs_the_bookkeeping_and_a_sleep_of_its_length() {
        let cost = CostModel {
            turnaround_ns: 300.0,
            sleep_cpu_clear_ns: Curve {
                x: vec![0.0, 100_000.0],
                y: vec![4_000.0, 6_000.0],
            },
            ..CostModel::delayed(Nanos::ZERO)
        };
        assert_eq!(think_cpu(None, &cost), None);
        let of_50us = think_cpu(Some(Nanos::from_micros(50)), &cost);
        assert_eq!(of_50us, Some(Nanos(5_300)));
    }

    /// With 10 us per think time, polling should take 55 % of a CPU. At 60 % a think time took 20
    /// us; at 44 % polling got four fifths.
    #[test]
    fn more_cpu_is_of_think_times_and_less_was_taken_away() {
        let ten = Some(Nanos::from_micros(10));
        let as_calibrated = polled(55.0, ten);
        assert_eq!(as_calibrated.gap_cpu, ten);
        assert!((as_calibrated.share - 1.0).abs() < 1e-9);
        let more = polled(60.0, ten);
        assert!(more.gap_cpu.unwrap().0.abs_diff(20_000) <= 1 && more.share == 1.0);
        let less = polled(44.0, ten);
        assert_eq!(less.gap_cpu, ten);
        assert!((less.share - 0.8).abs() < 1e-9);
    }

    #[test]
    fn slices_without_an_io_say_nothing() {
        let ten = Some(Nanos::from_micros(10));
        let none =
            PolledCpu::from_slices(&[LaneRecording::default()], &TrialOutcome::default(), ten);
        assert_eq!((none.gap_cpu, none.share), (ten, 1.0));
    }

    #[test]
    fn without_think_time_polling_should_have_a_whole_cpu() {
        for (cpu_pct, share) in [(97.0, 0.97), (100.2, 1.0)] {
            let cpu = polled(cpu_pct, None);
            assert_eq!((cpu.gap_cpu, cpu.share), (None, share));
        }
    }
}
