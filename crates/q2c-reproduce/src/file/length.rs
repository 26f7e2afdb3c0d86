//! Estimates how long an experiment takes.

use super::{DeviceSpec, Experiment, Phase, SettingsText};
use crate::jobs::{AxisValues, MIN_SLICE};
use crate::studies::place::TRIAL_S;
use q2c_model::Nanos;
use q2c_result::reproduce::StudyKind;
use q2c_study::LIBRARY;

/// Time to start and end a trial of jobs, without its phases, seconds.
const START_UP_S: f64 = 0.03;
/// Additional time for each thread, seconds.
const THREAD_S: f64 = 0.001;
/// Time to create and remove a file or a file system for a trial, seconds.
const FILE_S: f64 = 0.15;
/// Time to create and remove a module's RAM device for a trial, seconds.
const RAM_S: f64 = 0.02;
/// Time to simulate a sleep rule on a pattern of the library, seconds.
const RULE_S: f64 = 0.000_3;

impl Experiment {
    /// Expected length with this number of trials of each point and times multiplied by `scale`,
    /// seconds. `None` if it only reads another command's result. It is shorter if a module or tool
    /// is missing.
    pub fn length_s(&self, scale: f64, trials: u32) -> Option<f64> {
        let trials = f64::from(trials);
        match self.study() {
            StudyKind::Compare => None,
            StudyKind::Place => Some(trials * TRIAL_S),
            StudyKind::Rules => {
                let policies = self.rules.as_ref().map_or(0, |rules| rules.policies.len());
                Some((policies * LIBRARY.len()) as f64 * RULE_S)
            }
            StudyKind::Jobs | StudyKind::Stages => {
                let points = self.points();
                let trial_lengths_s = points.iter().map(|at| self.trial_of_point_s(at, scale));
                Some(trials * trial_lengths_s.sum::<f64>())
            }
        }
    }

    /// The lengths of the phases after all times are multiplied by `scale`.
    pub(crate) fn scaled_phases(&self, scale: f64) -> Vec<Nanos> {
        let scaled = |phase: &Phase| Nanos::from_secs_f64(phase.length.as_secs_f64() * scale);
        let phases = self.phases.iter();
        phases.map(|phase| scaled(phase).max(MIN_SLICE)).collect()
    }

    pub(crate) fn trial_of_point_s(&self, at: &AxisValues, scale: f64) -> f64 {
        let phases = self.scaled_phases(scale).into_iter();
        phases.map(Nanos::as_secs_f64).sum::<f64>() + self.start_up_s(at)
    }

    fn start_up_s(&self, at: &AxisValues) -> f64 {
        let full = self.expand(at);
        let threads = |settings: &SettingsText| Some(settings.settings_at(&full).ok()?.threads);
        let threads = self.settings().filter_map(threads).max();
        let devices = self.devices.iter();
        let making = devices.map(|device| match device.fill(&full).parse() {
            Ok(DeviceSpec::Simulated(_)) | Err(_) => 0.0,
            Ok(DeviceSpec::Loop(_) | DeviceSpec::FileOn(..)) => FILE_S,
            Ok(DeviceSpec::RamdiskMq(_) | DeviceSpec::NullBlk(_)) => RAM_S,
        });
        START_UP_S + making.sum::<f64>() + THREAD_S * f64::from(threads.unwrap_or(0))
    }
}
