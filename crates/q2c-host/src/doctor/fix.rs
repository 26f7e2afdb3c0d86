use super::facts::DoctorFacts;
use super::registry;
use super::remedy::{Remedy, RemedySetting};
use crate::restore::{Guard, RestoreError, value_of};
use q2c_result::CheckVerdict;
use q2c_result::doctor::{ChangeState, LeftAsIs, NotChanged, SettingChange, WhyLeft};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// The settings to be changed, and the findings that no setting mends.
#[derive(Clone, Debug, Default)]
pub struct FixPlan {
    steps: Vec<FixStep>,
    /// Findings that are left as they are.
    pub left: Vec<LeftAsIs>,
}

#[derive(Clone, Debug)]
struct FixStep {
    check: &'static str,
    file: PathBuf,
    old: String,
    new: String,
    resets: Vec<PathBuf>,
}

/// What would mend the findings on this machine. Only what a check warns of, or calls invalid, is
/// in it.
pub fn plan(facts: &DoctorFacts) -> FixPlan {
    let mut plan = FixPlan::default();
    for (check, finding) in registry::findings(facts) {
        if !matches!(
            finding.verdict,
            CheckVerdict::Warn | CheckVerdict::Invalidates
        ) {
            continue;
        }
        let mut left = |why, line| {
            plan.left.push(LeftAsIs {
                check: check.to_owned(),
                found: finding.found.clone(),
                why,
                line,
            });
        };
        match finding.remedy {
            None => {}
            Some(Remedy::Nothing(why)) => left(why, None),
            Some(Remedy::Line(why, line)) => left(why, Some(line)),
            Some(Remedy::Set(settings, line)) if settings.is_empty() => {
                left(WhyLeft::Program, Some(line));
            }
            Some(Remedy::Set(settings, _)) => plan.add(check, settings),
        }
    }
    plan
}

impl FixPlan {
    /// Adds settings that do not have their value yet. One that cannot be read is no setting here,
    /// and CPUs that share one have it once.
    fn add(&mut self, check: &'static str, settings: Vec<RemedySetting>) {
        for setting in settings {
            let RemedySetting {
                file,
                value: new,
                resets,
            } = setting;
            let Ok(file) = fs::canonicalize(file) else {
                continue;
            };
            let old = value_of(&file).ok().filter(|old| *old != new);
            let Some(old) = old.filter(|_| self.steps.iter().all(|step| step.file != file)) else {
                continue;
            };
            self.steps.push(FixStep {
                check,
                file,
                old,
                new,
                resets,
            });
        }
    }

    /// Keeps the steps of these checks, all when none are named. The error is an unknown name.
    pub fn only(mut self, checks: &[String]) -> Result<FixPlan, String> {
        if let Some(unknown) = checks.iter().find(|name| !registry::has(name)) {
            return Err(unknown.clone());
        }
        let named = |check: &str| checks.is_empty() || checks.iter().any(|name| name == check);
        self.steps.retain(|step| named(step.check));
        self.left.retain(|left| named(&left.check));
        Ok(self)
    }

    /// The changes to be made. One whose file may not be written is shown as refused.
    pub fn foreseen(&self) -> Vec<SettingChange> {
        let foreseen = |step: &FixStep| {
            step.change_in_state(match step.open() {
                Ok(_) => ChangeState::Planned,
                Err(error) => refused(&error),
            })
        };
        self.steps.iter().map(foreseen).collect()
    }

    /// Makes the changes. One that is refused is told in its place, and the others are made.
    /// Fails if the journal cannot be written; what was changed is then undone with the guard.
    pub fn apply(&self, guard: &mut Guard) -> Result<Vec<SettingChange>, RestoreError> {
        self.steps
            .iter()
            .map(|step| Ok(step.change_in_state(step.make(guard)?)))
            .collect()
    }
}

impl FixStep {
    fn open(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(&self.file)
    }

    fn change_in_state(&self, state: ChangeState) -> SettingChange {
        SettingChange {
            check: self.check.to_owned(),
            file: self.file.display().to_string(),
            old: self.old.clone(),
            new: self.new.clone(),
            state,
        }
    }

    fn make(&self, guard: &mut Guard) -> Result<ChangeState, RestoreError> {
        // Where the file may not be written, nothing will follow it.
        if let Err(error) = self.open() {
            return Ok(refused(&error));
        }
        let followed = self.resets.iter();
        let mut followed = followed.map(|file| guard.follow(file, &self.file));
        let set = match followed.try_for_each(|done| done) {
            Ok(()) => guard.set(&self.file, &self.new),
            Err(error) => Err(error),
        };
        let failure = match set {
            Ok(set) if set.now == self.new => return Ok(ChangeState::Changed),
            Ok(set) if set.now != set.old => return Ok(ChangeState::Rounded { now: set.now }),
            Ok(set) => {
                return Ok(ChangeState::Refused {
                    why: NotChanged::Kernel,
                    error: format!("it took the value and kept {}", set.old),
                });
            }
            Err(failure) => failure,
        };
        let refused_for = |why, error: String| Ok(ChangeState::Refused { why, error });
        match &failure {
            RestoreError::Setting { source, .. } => Ok(refused(source)),
            RestoreError::NotKept { .. } => refused_for(NotChanged::Kernel, failure.to_string()),
            RestoreError::Busy { .. } => refused_for(NotChanged::Held, failure.to_string()),
            RestoreError::Pending { .. } => refused_for(NotChanged::Pending, failure.to_string()),
            _ => Err(failure),
        }
    }
}

fn refused(error: &io::Error) -> ChangeState {
    ChangeState::Refused {
        why: match error.kind() {
            ErrorKind::PermissionDenied => NotChanged::Permission,
            ErrorKind::ReadOnlyFilesystem => NotChanged::ReadOnly,
            _ => NotChanged::Kernel,
        },
        error: error.to_string(),
    }
}
