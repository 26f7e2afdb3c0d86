//! The points as a plan for the runner.

use super::device::{HeldDevice, facts};
use super::stages::StagesPlan;
use crate::{Media, NoTrial, PhasedTrial, Spot, TrialPlace};
use q2c_capture::kernel_hybrid::Delay;
use q2c_engine::{EngineSpec, Medium};
use q2c_model::Bytes;
use q2c_result::Exit;
use q2c_result::bench::BenchPoint;
use q2c_run::runner::{CellError, CellPlan, Context, Plan};
use q2c_watch::steer::HeldPolling;
use q2c_workbench::workload::Site;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::Path;

pub(super) struct BenchPlan<'a> {
    pub spots: &'a [Spot],
    /// Indices in `spots` of the cells that the runner must run now.
    pub chosen: BTreeSet<usize>,
    pub place: TrialPlace<'a>,
    pub restore_dir: Option<&'a Path>,
    /// The exit code for the first failed trial: whether the machine or the device is at fault.
    pub blamed: OnceCell<Exit>,
}

impl BenchPlan<'_> {
    fn spot(&self, point: &BenchPoint) -> Result<&Spot, CellError> {
        let spot = self.spots.iter().find(|spot| spot.point == *point);
        spot.ok_or_else(|| CellError::Cell("it is not in the plan".to_owned()))
    }

    /// Aborts the run if the target is gone; else makes the error by `otherwise`.
    fn unless_gone(&self, why: String, otherwise: fn(String) -> CellError) -> CellError {
        match gone(self.place.media, self.place.span, self.place.site) {
            Some(gone) => CellError::Abort(format!("{why}; {gone}").into()),
            None => otherwise(why),
        }
    }

    /// Sets `io_poll_delay` for this point: the kernel's own sleep (0), a fixed one, none (-1), or
    /// the value that a daemon writes. `None` if it is right already, or does not matter.
    fn kernel_polling(&self, spot: &Spot) -> Result<Option<HeldPolling>, CellError> {
        let site = self.place.site;
        let engine = spot.way.interface.engine();
        let hipri = engine.is_some_and(EngineSpec::polls_in_call);
        let disk = site.target_disk.as_ref();
        let disk = disk.map(|target_disk| &target_disk.disk);
        let Some(disk) = disk.filter(|disk| hipri && Delay::path(disk).exists()) else {
            return Ok(None);
        };
        let sleep = spot.way.kernel.as_ref();
        let wanted = sleep.map_or(Some(Delay::CLASSIC), Delay::from_sleep);
        let now = delay_now(&Delay::path(disk)).map_err(CellError::Cell)?;
        if wanted == Some(now) {
            return Ok(None);
        }
        let nowhere = || CellError::Cell("no folder for the journal of settings".to_owned());
        let journal = self.restore_dir.ok_or_else(nowhere)?;
        let held = HeldPolling::begin(&site.roots, disk, journal, sleep);
        held.map(Some).map_err(|e| CellError::Cell(e.to_string()))
    }
}

fn delay_now(file: &Path) -> Result<Delay, String> {
    let unread = |content: &str| {
        format!(
            "read {}: expected -1, 0 or a number of microseconds, found {content}; make the file readable, or leave out the \
             methods of pvsync2 that poll",
            file.display()
        )
    };
    let text = std::fs::read_to_string(file).map_err(|error| unread(&error.to_string()))?;
    let text = text.trim();
    let number = text.parse().map_err(|_| unread(&format!("`{text}`")))?;
    Ok(Delay(number))
}

/// Why the target cannot be measured any more; `None` if it is unchanged.
fn gone(media: &Media, span: Bytes, site: &Site) -> Option<String> {
    if let Some(target_disk) = &site.target_disk
        && !target_disk.disk.dir.exists()
    {
        return Some(format!("the device {} is gone", target_disk.disk.name));
    }
    let Ok(Medium::File(file)) = &media.plain else {
        return None;
    };
    let facts = file.metadata().ok()?;
    let (left, used) = (facts.len(), span.0);
    (facts.is_file() && left < used).then(|| {
        format!("the target has become shorter: {left} bytes are left of the {used} in use")
    })
}

impl BenchPlan<'_> {
    /// Runs a trial while the device and the kernel's polling have their settings.
    pub(crate) fn held<T>(
        &self,
        point: &BenchPoint,
        run: impl FnOnce(&Spot) -> Result<T, NoTrial>,
    ) -> Result<T, CellError> {
        let spot = self.spot(point)?;
        let device = HeldDevice::begin(self.place.site, self.restore_dir, point);
        let device = device.map_err(CellError::Cell)?;
        let held = self.kernel_polling(spot)?;
        let done = run(spot);
        let ended = held.map_or(Ok(()), HeldPolling::end);
        let ended = ended.map_err(|error| CellError::Trial(error.to_string()));
        let put_back = device.end().map_err(CellError::Trial);
        if let Some(exit) = done.as_ref().err().and_then(NoTrial::exit) {
            self.blamed.set(exit).ok();
        }
        let done = done.map_err(|error| match error {
            NoTrial::Stopped => CellError::Cancelled,
            NoTrial::Run(error) => self.unless_gone(error.to_string(), CellError::Cell),
            NoTrial::Cpus(reason) => CellError::Cell(reason),
            NoTrial::Program(error) => self.unless_gone(error, CellError::Cell),
            NoTrial::Unsound(reason, raw) => CellError::Trial(format!("{reason}{raw}")),
            NoTrial::Fault(fault) => self.unless_gone(fault, CellError::Trial),
        })?;
        put_back.and(ended).map(|()| done)
    }
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

/// The label of a spot: that of its first point, then the backgrounds of the later phases.
pub(super) fn spot_label(spot: &Spot) -> String {
    let mut label = label(&spot.point);
    label.extend(spot.phases[1..].iter().map(|phase| match &*phase.text {
        "" => ", then alone".to_owned(),
        jobs => format!(", then beside {jobs}"),
    }));
    label
}

impl Plan for BenchPlan<'_> {
    type Cell = BenchPoint;
    type Outcome = PhasedTrial;
    const UNIT: &'static str = "IOPS";
    const MOST: f64 = 1e24;

    fn cells(&self) -> Vec<CellPlan<BenchPoint>> {
        let cell = |spot: &Spot| CellPlan {
            key: spot_label(spot),
            label: spot_label(spot),
            seconds: self.place.expected_s(spot),
            cell: spot.point.clone(),
        };
        let chosen = self.chosen.iter();
        chosen.map(|&at| cell(&self.spots[at])).collect()
    }

    fn owns(&self, key: &str) -> bool {
        let all_chosen = self.chosen.len() == self.spots.len();
        let mut keys = self.chosen.iter().map(|&at| spot_label(&self.spots[at]));
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
        self.held(&cell.cell, |spot| {
            let device = facts(self.place.site);
            let mut phases = self.place.trial(spot, context.seed >> 1)?;
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
