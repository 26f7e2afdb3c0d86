//! The result of `q2c doctor --fix`.

use serde::{Deserialize, Serialize};

/// The settings that were to be changed, and what was left as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorFix {
    /// Name of the schema: `q2c.doctor-fix/1`.
    pub schema: String,
    /// Whether nothing was to be changed (`--dry-run`).
    pub dry_run: bool,
    /// The settings, in the order of their changes.
    pub changes: Vec<SettingChange>,
    /// Findings that no change of a setting mends.
    pub left: Vec<LeftAsIs>,
}

impl DoctorFix {
    /// The changes that were refused, or would be.
    pub fn refused(&self) -> impl Iterator<Item = &SettingChange> {
        let refused = |change: &&SettingChange| matches!(change.state, ChangeState::Refused { .. });
        self.changes.iter().filter(refused)
    }
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingChange {
    /// Name of the check that found it wanting.
    pub check: String,
    /// The setting's file.
    pub file: String,
    /// The value that was found.
    pub old: String,
    /// The value that it is to have.
    pub new: String,
    /// What became of it.
    #[serde(flatten)]
    pub state: ChangeState,
}

/// What became of a setting that was to be changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum ChangeState {
    /// It may be written, and was not.
    Planned,
    /// It has the new value.
    Changed,
    /// The kernel took the new value and made another of it.
    Rounded {
        /// The value read back.
        now: String,
    },
    /// It has its old value.
    Refused {
        /// The kind of reason.
        why: NotChanged,
        /// The reason in the system's words.
        error: String,
    },
}

/// Why a setting cannot be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotChanged {
    /// This user may not write the file.
    Permission,
    /// Its file system is mounted read-only, as in a container.
    ReadOnly,
    /// The kernel or the driver refused the value, or did not keep it.
    Kernel,
    /// Another run of q2c holds the setting.
    Held,
    /// An earlier run left it changed.
    Pending,
}

/// A finding that no change of a setting mends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftAsIs {
    /// Name of the check.
    pub check: String,
    /// The fact that was found.
    pub found: String,
    /// Why it was left.
    pub why: WhyLeft,
    /// The line that would change it, when there is one.
    pub line: Option<String>,
}

/// Why a finding was left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhyLeft {
    /// It is an option of the kernel or of a driver, which counts when these are started.
    Boot,
    /// A program changes it, no setting.
    Program,
    /// The change would take memory, CPUs, protection or a device from others.
    Others,
    /// The kernel itself chooses the CPUs of these interrupts.
    Managed,
    /// There is one interrupt line, which cannot be spread.
    OneLine,
}
