//! The points as a plan for the runner.

use super::device::{DeviceSettings, read_device};
use super::stages::StagesPlan;
use crate::{Media, PhasedTrial, PointSetup, TrialError, TrialPlace};
use q2c_capture::kernel_hybrid::Delay;
use q2c_engine::{EngineSpec, Medium};
use q2c_model::Bytes;
use q2c_result::Exit;
use q2c_result::bench::BenchPoint;
use q2c_run::runner::{CellError, CellPlan, Context, Plan};
use q2c_watch::steer::PollDelayGuard;
use q2c_workbench::workload::Site;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::Path;

pub(super) struct BenchPlan<'a> {
    pub setups: &'a [PointSetup],
    /// Indices in `setups` of the cells that the runner must run now.
    pub chosen: BTreeSet<usize>,
    pub place: TrialPlace<'a>,
    pub restore_dir: Option<&'a Path>,
    /// The exit code for the first failed trial: whether the machine or the device is at fault.
    pub failure_exit: OnceCell<Exit>,
}

impl BenchPlan<'_> {
    fn setup(&self, point: &BenchPoint) -> Result<&PointSetup, CellError> {
        let setup = self.setups.iter().find(|setup| setup.point == *point);
        setup.ok_or_else(|| CellError::Cell("it is not in the plan".to_owned()))
    }

    /// Aborts the run if the target is gone; else makes the error by `to_error`.
    fn abort_if_changed(&self, reason: String, to_error: fn(String) -> CellError) -> CellError {
        match target_change(self.place.media, self.place.span, self.place.site) {
            Some(change) => CellError::Abort(format!("{reason}; {change}").into()),
            None => to_error(reason),
        }
    }

    /// Sets `io_poll_delay` for this point: the kernel's own sleep (0), a fixed one, none (-1), or
    /// the value that a daemon writes. Returns `None` if the setting is right, or does not matter.
    fn set_kernel_polling(&self, setup: &PointSetup) -> Result<Option<PollDelayGuard>, CellError> {
        let site = self.place.site;
        let engine = setup.path.interface.engine();
        let hipri = engine.is_some_and(EngineSpec::polls_in_call);
        let disk = site.target_disk.as_ref();
        let disk = disk.map(|target_disk| &target_disk.disk);
        let Some(disk) = disk.filter(|disk| hipri && Delay::path(disk).exists()) else {
            return Ok(None);
        };
        let sleep = setup.path.kernel.as_ref();
        let wanted = sleep.map_or(Some(Delay::CLASSIC), Delay::from_sleep);
        let now = delay_now(&Delay::path(disk)).map_err(CellError::Cell)?;
        if wanted == Some(now) {
            return Ok(None);
        }
        let no_journal = || CellError::Cell("no folder for the journal of settings".to_owned());
        let journal = self.restore_dir.ok_or_else(no_journal)?;
        let guard = PollDelayGuard::begin(&site.roots, disk, journal, sleep);
        guard.map(Some).map_err(|e| CellError::Cell(e.to_string()))
    }

    /// Runs a trial while the device and the kernel's polling have their settings.
    pub(crate) fn with_settings<T>(
        &self,
        point: &BenchPoint,
        run: impl FnOnce(&PointSetup) -> Result<T, TrialError>,
    ) -> Result<T, CellError> {
        let setup = self.setup(point)?;
        let device = DeviceSettings::begin(self.place.site, self.restore_dir, point);
        let device = device.map_err(CellError::Cell)?;
        let poll_delay = self.set_kernel_polling(setup)?;
        let outcome = run(setup);
        let delay_restored = poll_delay.map_or(Ok(()), PollDelayGuard::end);
        let delay_restored = delay_restored.map_err(|error| CellError::Trial(error.to_string()));
        let device_restored = device.end().map_err(CellError::Trial);
        if let Some(exit) = outcome.as_ref().err().and_then(TrialError::exit) {
            self.failure_exit.set(exit).ok();
        }
        let outcome = outcome.map_err(|error| match error {
            TrialError::Stopped => CellError::Cancelled,
            TrialError::Run(error) => self.abort_if_changed(error.to_string(), CellError::Cell),
            TrialError::Cpus(reason) => CellError::Cell(reason),
            TrialError::Program(error) => self.abort_if_changed(error, CellError::Cell),
            TrialError::Invalid(reason, raw) => CellError::Trial(format!("{reason}{raw}")),
            TrialError::Fault(fault) => self.abort_if_changed(fault, CellError::Trial),
        })?;
        device_restored.and(delay_restored).map(|()| outcome)
    }
}

fn delay_now(file: &Path) -> Result<Delay, String> {
    let read_error = |content: &str| {
        format!(
            "read {}: expected -1, 0 or a number of microseconds, found {content}; make the file readable, or leave out the \
             methods of pvsync2 that poll",
            file.display()
        )
    };
    let text = std::fs::read_to_string(file).map_err(|error| read_error(&error.to_string()))?;
    let text = text.trim();
    let number = text.parse().map_err(|_| read_error(&format!("`{text}`")))?;
    Ok(Delay(number))
}

/// Why the target cannot be measured any more; `None` if it is unchanged.
fn target_change(media: &Media, span: Bytes, site: &Site) -> Option<String> {
    if let Some(target_disk) = &site.target_disk
        && !target_disk.disk.dir.exists()
    {
        return Some(format!("the device {} is gone", target_disk.disk.name));
    }
    let Ok(Medium::File(file)) = &media.target else {
        return None;
    };
    let facts = file.metadata().ok()?;
    let (size, needed) = (facts.len(), span.0);
    (facts.is_file() && size < needed).then(|| {
        format!("the target has become shorter: {size} bytes are left of the {needed} in use")
    })
}

pub(super) fn label(point: &BenchPoint) -> String {
    let (engine, method, jobs) = (&point.engine, &point.method, point.jobs);
    let (depth, rw, bs) = (point.depth, &point.rw, point.bs);
    let mut label = format!("{engine} {method}, {jobs} x depth {depth}, {rw} {bs}");
    label.extend(point.hw_queues.map(|n| format!(", hw_queues {n}")));
    label.extend(point.nr_requests.map(|n| format!(", nr_requests {n}")));
    if !point.background.is_empty() {
        label += &format!(" beside {}", point.background);
    }
    label
}

/// The label of a setup: that of its first point, then the backgrounds of the later phases.
pub(super) fn setup_label(setup: &PointSetup) -> String {
    let mut label = label(&setup.point);
    label.extend(setup.phases[1..].iter().map(|phase| match &*phase.text {
        "" => ", then alone".to_owned(),
        jobs => format!(", then beside {jobs}"),
    }));
    label
}

impl Plan for BenchPlan<'_> {
    type Cell = BenchPoint;
    type Outcome = PhasedTrial;
    const UNIT: &'static str = "IOPS";
    const MAX_NUMBER: f64 = 1e24;

    fn cells(&self) -> Vec<CellPlan<BenchPoint>> {
        let cell = |setup: &PointSetup| CellPlan {
            key: setup_label(setup),
            label: setup_label(setup),
            seconds: self.place.expected_s(setup),
            cell: setup.point.clone(),
        };
        let chosen = self.chosen.iter();
        chosen.map(|&at| cell(&self.setups[at])).collect()
    }

    fn owns(&self, key: &str) -> bool {
        let all_chosen = self.chosen.len() == self.setups.len();
        let mut keys = self.chosen.iter().map(|&at| setup_label(&self.setups[at]));
        !StagesPlan::is_key(key) && (all_chosen || keys.any(|chosen| chosen == key))
    }

    fn metric(&self, trial: &PhasedTrial) -> f64 {
        let phases = trial.phases.iter();
        let iops = phases.map(|phase| phase.ios as f64 / phase.wall_s);
        iops.sum::<f64>() / trial.phases.len() as f64
    }

    fn run(
        &mut self,
        cell: &CellPlan<BenchPoint>,
        context: &mut Context<'_>,
    ) -> Result<PhasedTrial, CellError> {
        self.with_settings(&cell.cell, |setup| {
            let device = read_device(self.place.site);
            let mut phases = self.place.run_trial(setup, context.seed >> 1)?;
            for phase in &mut phases {
                phase.device.clone_from(&device);
            }
            Ok(PhasedTrial { phases })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_that_cannot_be_read_is_an_error_and_not_empty() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("io_poll_delay");
        let gone = delay_now(&file).unwrap_err();
        assert!(gone.contains("io_poll_delay: expected -1, 0"), "{gone}");
        assert!(gone.contains("found No such file"), "{gone}");
        for (text, wanted) in [
            ("-1\n", Delay::CLASSIC),
            ("0\n", Delay::OWN),
            ("57\n", Delay(57)),
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(delay_now(&file), Ok(wanted));
        }
        for (text, part) in [("", "found ``"), ("fast\n", "found `fast`")] {
            std::fs::write(&file, text).unwrap();
            let error = delay_now(&file).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
