//! The calibration of a run: from its folder, from the store of earlier runs, or measured now. A
//! stored one is replaced if its machine was busy or trials contradicted it.

use super::rounds::TrialRounds;
use super::{Tune, broken_file, note, read_json, warn};
use itertools::Itertools;
use q2c_model::{Bytes, Fault};
use q2c_result::Warning;
use q2c_result::tune::Calibration;
use q2c_run::run_dir::{Identity, RunDir};
use q2c_run::runner::Progress;
use q2c_workbench::calibrate::{StoreError, Unfit, calibrate, identity};

const CALIBRATION_FILE: &str = "calibration.json";
const IDENTITY_FILE: &str = "calibration-identity.json";

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
        if let Some(stored) = read_json::<Vec<Calibration>>(folder, CALIBRATION_FILE)? {
            check_identity(folder, &identity)?;
            return check_costs(folder, &stored).map(|()| stored);
        }
        let stored = self.load(&identity, progress);
        self.tell_length(folder, stored.is_none(), progress);
        let calibration = match stored {
            Some(stored) => stored,
            None => self.measure_calibrations(&identity, warnings, progress)?,
        };
        folder.publish_json(IDENTITY_FILE, &identity)?;
        folder.publish_json(CALIBRATION_FILE, &calibration)?;
        Ok(calibration)
    }

    /// The stored calibrations; `None` if one is missing or unusable, which is then reported.
    fn load(&self, identity: &Identity, progress: &mut dyn Progress) -> Option<Vec<Calibration>> {
        let store = self.store.filter(|_| !self.spec.recalibrate)?;
        let usable = |&bs: &Bytes| {
            let stored = store.load(identity, bs)?;
            let Some(reason) = stored.unfit else {
                return Some(stored.calibration);
            };
            let message = format!("{bs}: the stored calibration is not used: {reason}");
            progress.event(&note(&message));
            None
        };
        self.spec.workload.bs.iter().map(usable).collect()
    }

    fn measure_calibrations(
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
            warnings.extend(saved.as_ref().err().map(not_stored_warning));
        }
        Ok(measured)
    }

    pub(super) fn discard_contradicted(
        &self,
        calibration: &[Calibration],
        rounds: &TrialRounds,
        warnings: &mut Vec<Warning>,
        progress: &mut dyn Progress,
    ) {
        let Some(store) = self.store else {
            return;
        };
        let identity = self.identity();
        for (calibration, search) in calibration.iter().zip(&rounds.searches) {
            if warn::contradictions(&search.referee.correction()).is_empty() {
                continue;
            }
            let (bs, unfit) = (calibration.bs, Unfit::Contradicted);
            let message = format!("{bs}: the next run calibrates anew: {unfit}");
            progress.event(&note(&message));
            let marked = store.save(&identity, calibration, Some(unfit));
            warnings.extend(marked.as_ref().err().map(not_discarded_warning));
        }
    }
}

fn not_stored_warning(error: &StoreError) -> Warning {
    let (means, todo) = ("the next run calibrates again", "make the folder writable");
    Warning::new("calibration-not-stored", error.to_string(), means, todo)
}

fn not_discarded_warning(error: &StoreError) -> Warning {
    Warning::new(
        "calibration-not-discarded",
        error.to_string(),
        "a calibration that the trials contradict may be used by the next run",
        "make the folder writable, or run with --recalibrate",
    )
}

fn check_identity(folder: &RunDir, now: &Identity) -> Result<(), Fault> {
    let then: Identity = read_json(folder, IDENTITY_FILE)?.unwrap_or_default();
    let changed = then.differences(now);
    if changed.is_empty() {
        return Ok(());
    }
    let problem = format!("it holds no longer ({})", changed.iter().join("; "));
    Err(broken_file(&folder.path().join(CALIBRATION_FILE), problem))
}

fn check_costs(folder: &RunDir, stored: &[Calibration]) -> Result<(), Fault> {
    let checked = stored.iter().try_for_each(|stored| stored.cost.check());
    checked.map_err(|problem| broken_file(&folder.path().join(CALIBRATION_FILE), problem))
}
