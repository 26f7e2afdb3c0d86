//! The calibration of a run: from its folder, from the store of earlier runs, or measured now. A
//! stored one is replaced if its machine was busy or trials contradicted it.

use super::rounds::Verified;
use super::{Tune, broken_file, note, read_json, warn};
use itertools::Itertools;
use q2c_model::{Bytes, Fault};
use q2c_result::Warning;
use q2c_result::tune::Calibration;
use q2c_run::run_dir::{Identity, RunDir};
use q2c_run::runner::Progress;
use q2c_workbench::calibrate::{StoreError, StoredCalibration, Unfit, calibrate, identity};

const CALIBRATION_FILE: &str = "calibration.json";
const CALIBRATED_FILE: &str = "calibration-identity.json";

impl Tune<'_> {
    fn identity(&self) -> Identity {
        identity(self.machine, self.calibration_target, self.workload)
    }

    /// Returns one calibration for each block size, and leaves them all in the run folder.
    pub(super) fn calibration(
        &self,
        folder: &RunDir,
        warnings: &mut Vec<Warning>,
        progress: &mut dyn Progress,
    ) -> Result<Vec<Calibration>, Fault> {
        let identity = self.identity();
        if let Some(kept) = read_json::<Vec<Calibration>>(folder, CALIBRATION_FILE)? {
            still_holds(folder, &identity)?;
            return possible(folder, &kept).map(|()| kept);
        }
        let known = self.known(&identity, progress);
        self.tell_length(folder, known.is_none(), progress);
        let calibration = match known {
            Some(known) => known,
            None => self.measured(&identity, warnings, progress)?,
        };
        folder.publish_json(CALIBRATED_FILE, &identity)?;
        folder.publish_json(CALIBRATION_FILE, &calibration)?;
        Ok(calibration)
    }

    /// The stored calibrations; `None` if one is missing or unusable, which is then reported.
    fn known(&self, identity: &Identity, progress: &mut dyn Progress) -> Option<Vec<Calibration>> {
        let store = self.store.filter(|_| !self.spec.recalibrate)?;
        let usable = |&bs: &Bytes| {
            let StoredCalibration { calibration, unfit } = store.load(identity, bs)?;
            let Some(reason) = unfit else {
                return Some(calibration);
            };
            let message = format!("{bs}: the stored calibration is not used: {reason}");
            progress.event(&note(&message));
            None
        };
        self.spec.workload.bs.iter().map(usable).collect()
    }

    fn measured(
        &self,
        identity: &Identity,
        warnings: &mut Vec<Warning>,
        progress: &mut dyn Progress,
    ) -> Result<Vec<Calibration>, Fault> {
        let (sizes, seed) = (&self.spec.workload.bs, self.spec.workload.run.seed);
        let measured = calibrate(self.workload, sizes, seed, progress, self.stop)?;
        let Some(store) = self.store else {
            return Ok(measured);
        };
        let unfit = Unfit::now(self.workload);
        if let Some(reason) = unfit {
            progress.event(&note(&format!("the next run calibrates anew: {reason}")));
        }
        for calibration in &measured {
            let saved = store.save(identity, calibration, unfit);
            warnings.extend(saved.as_ref().err().map(not_stored));
        }
        Ok(measured)
    }

    pub(super) fn discard_contradicted(
        &self,
        calibration: &[Calibration],
        verified: &Verified,
        warnings: &mut Vec<Warning>,
        progress: &mut dyn Progress,
    ) {
        let Some(store) = self.store else {
            return;
        };
        let identity = self.identity();
        for (calibration, case) in calibration.iter().zip(&verified.cases) {
            if warn::contradictions(&case.referee.correction()).is_empty() {
                continue;
            }
            let (bs, unfit) = (calibration.bs, Unfit::Contradicted);
            let message = format!("{bs}: the next run calibrates anew: {unfit}");
            progress.event(&note(&message));
            let marked = store.save(&identity, calibration, Some(unfit));
            warnings.extend(marked.as_ref().err().map(not_marked));
        }
    }
}

fn not_stored(error: &StoreError) -> Warning {
    let (means, todo) = ("the next run calibrates again", "make the folder writable");
    Warning::new("calibration-not-stored", error.to_string(), means, todo)
}

fn not_marked(error: &StoreError) -> Warning {
    Warning::new(
        "calibration-not-discarded",
        error.to_string(),
        "a calibration that the trials contradict may be used by the next run",
        "make the folder writable, or run with --recalibrate",
    )
}

fn still_holds(folder: &RunDir, now: &Identity) -> Result<(), Fault> {
    let then: Identity = read_json(folder, CALIBRATED_FILE)?.unwrap_or_default();
    let changed = then.differences(now);
    if changed.is_empty() {
        return Ok(());
    }
    let problem = format!("it holds no longer ({})", changed.iter().join("; "));
    Err(broken_file(&folder.path().join(CALIBRATION_FILE), problem))
}

fn possible(folder: &RunDir, kept: &[Calibration]) -> Result<(), Fault> {
    let checked = kept.iter().try_for_each(|kept| kept.cost.check());
    checked.map_err(|problem| broken_file(&folder.path().join(CALIBRATION_FILE), problem))
}
