use super::facts::DoctorFacts;
use super::finding::{Remedy, RemedySetting};
use super::registry;
use crate::restore::{Guard, RestoreError, value_of};
use q2c_result::CheckVerdict::{Invalidates, Warn};
use q2c_result::doctor::{ChangeState, LeftReason, RefusedReason, SettingChange, UnfixedCheck};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};

/// The settings to be changed, and the findings that no setting mends.
#[derive(Clone, Debug, Default)]
pub struct FixPlan {
    steps: Vec<FixStep>,
    /// Findings that are left as they are.
    pub left: Vec<UnfixedCheck>,
}

#[derive(Clone, Debug)]
struct FixStep {
    /// The change as it is planned.
    change: SettingChange,
    setting: RemedySetting,
}

/// Plans the settings that would mend findings which warn or invalidate. Findings that no setting
/// mends are listed as left.
pub fn plan(facts: &DoctorFacts) -> FixPlan {
    let mut plan = FixPlan::default();
    for ((_, check, ..), finding) in registry::findings(facts) {
        if !matches!(finding.verdict, Warn | Invalidates) {
            continue;
        }
        let (why, line) = match finding.remedy {
            None => continue,
            Some(Remedy::Nothing(why)) => (why, None),
            Some(Remedy::Line(why, line)) => (why, Some(line)),
            Some(Remedy::Set(settings, line)) if settings.is_empty() => {
                (LeftReason::Program, Some(line))
            }
            Some(Remedy::Set(settings, _)) => {
                plan.add(check, settings);
                continue;
            }
        };
        plan.left.push(UnfixedCheck {
            check: (*check).to_owned(),
            found: finding.found,
            why,
            line,
        });
    }
    plan
}

impl FixPlan {
    /// Adds settings that do not have their value yet. A setting that cannot be read is left out;
    /// one that CPUs share is added once.
    fn add(&mut self, check: &str, settings: Vec<RemedySetting>) {
        for mut setting in settings {
            let Ok(file) = fs::canonicalize(&setting.file) else {
                continue;
            };
            let old = value_of(&file).ok().filter(|old| *old != setting.value);
            let is_new = self.steps.iter().all(|step| step.setting.file != file);
            if let Some(old) = old.filter(|_| is_new) {
                setting.file = file;
                let change = SettingChange {
                    check: check.to_owned(),
                    file: setting.file.display().to_string(),
                    old,
                    new: setting.value.clone(),
                    state: ChangeState::Planned,
                };
                self.steps.push(FixStep { change, setting });
            }
        }
    }

    /// Keeps the steps of these checks, or all if none are named. The error is the first unknown
    /// name.
    pub fn for_checks(mut self, checks: &[String]) -> Result<FixPlan, String> {
        if let Some(unknown) = checks.iter().find(|name| !registry::has(name)) {
            return Err(unknown.clone());
        }
        let is_named = |check: &str| checks.is_empty() || checks.iter().any(|name| name == check);
        self.steps.retain(|step| is_named(&step.change.check));
        self.left.retain(|left| is_named(&left.check));
        Ok(self)
    }

    /// The planned changes. A change whose file cannot be opened for writing is shown as refused.
    pub fn preview(&self) -> Vec<SettingChange> {
        let preview = |step: &FixStep| {
            let refusal = step.open().err().map(|error| refused(&error));
            step.change_in_state(refusal.unwrap_or(ChangeState::Planned))
        };
        self.steps.iter().map(preview).collect()
    }

    /// Makes the changes. A refused change is marked as such, and the others are made all the same.
    /// Fails if the journal cannot be written; the guard then undoes what was changed.
    pub fn apply(&self, guard: &mut Guard) -> Result<Vec<SettingChange>, RestoreError> {
        let mut changed = |step: &FixStep| Ok(step.change_in_state(step.make(guard)?));
        self.steps.iter().map(&mut changed).collect()
    }
}

impl FixStep {
    fn open(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(&self.setting.file)
    }

    fn change_in_state(&self, state: ChangeState) -> SettingChange {
        let change = self.change.clone();
        SettingChange { state, ..change }
    }

    fn make(&self, guard: &mut Guard) -> Result<ChangeState, RestoreError> {
        let RemedySetting { file, value, .. } = &self.setting;
        // Without write access nothing changes, so no setting needs to be put back after it.
        if let Err(error) = self.open() {
            return Ok(refused(&error));
        }
        let mut resets = self.setting.resets.iter();
        let noted = resets.try_for_each(|reset| guard.note_follower(reset, file));
        let failure = match noted.and_then(|()| guard.set(file, value)) {
            Ok(set) if set.now == *value => return Ok(ChangeState::Changed),
            Ok(set) if set.now != set.old => return Ok(ChangeState::Rounded { now: set.now }),
            Ok(set) => {
                let error = format!("it took the value and kept {}", set.old);
                let reason = RefusedReason::Kernel;
                return Ok(ChangeState::Refused { why: reason, error });
            }
            Err(failure) => failure,
        };
        let reason = match &failure {
            RestoreError::Setting(.., source) => return Ok(refused(source)),
            RestoreError::NotKept(..) => RefusedReason::Kernel,
            RestoreError::Busy { .. } => RefusedReason::Held,
            RestoreError::Pending { .. } => RefusedReason::Pending,
            _ => return Err(failure),
        };
        let error = failure.to_string();
        Ok(ChangeState::Refused { why: reason, error })
    }
}

fn refused(error: &io::Error) -> ChangeState {
    let reason = match error.kind() {
        ErrorKind::PermissionDenied => RefusedReason::Permission,
        ErrorKind::ReadOnlyFilesystem => RefusedReason::ReadOnly,
        _ => RefusedReason::Kernel,
    };
    let error = error.to_string();
    ChangeState::Refused { why: reason, error }
}
