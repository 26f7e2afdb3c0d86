//! The result of `q2c doctor`: checks of what the machine can and cannot do, by the use of q2c that
//! they concern, and what `--fix` changes.

use serde::{Deserialize, Serialize};

/// The schema of [`DoctorReport`].
pub const SCHEMA: &str = "q2c.doctor/1";
/// The schema of [`DoctorFix`].
pub const FIX_SCHEMA: &str = "q2c.doctor-fix/1";

/// Outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckVerdict {
    /// The fact is as it should be.
    Pass,
    /// Results are valid, but worse or noisier than they could be.
    Warn,
    /// The columns in [`Check::columns`] are invalid or impossible here.
    Invalidates,
    /// The fact could not be read.
    Unknown,
}

/// One check with its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Stable short name: `io-uring`, `poll-queues`, `governor`.
    pub id: String,
    /// Group: `kernel`, `cpu`, `idle`, `thermal`, `numa`, `irq`, `queue`, `nvme`, `target`, `tool`,
    /// `record`, `spdk`, `fs`, `ramdisk`, `place`.
    pub group: String,
    /// The uses of q2c that the check concerns. Reports list the check under the first use.
    pub uses: Vec<Use>,
    /// Outcome of the check.
    pub verdict: CheckVerdict,
    /// The columns that [`CheckVerdict::Invalidates`] refers to: engines (`io_uring`, `spdk`),
    /// methods (`iopoll`, `hipri`, `hybrid-kernel`, `hybrid-uring`), measures (`iops`, `latency`,
    /// `cpu`, `kiops-per-core`, `effective-mode`), ways of recording (`bpf`, `tracefs`), makers of
    /// devices (`ramdisk_mq`, `ublk`), file systems (`ext4`), and `scx`, the scheduler in the
    /// kernel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// The fact that was found, with its value.
    pub found: String,
    /// The effect of the fact on results.
    pub means: String,
    /// The exact line to type that would change the fact; `None` if there is no such line.
    pub fix: Option<String>,
}

impl Check {
    /// True if the check invalidates this column.
    pub fn invalidates(&self, column: &str) -> bool {
        self.verdict == CheckVerdict::Invalidates && self.columns.iter().any(|name| name == column)
    }
}

/// A use of q2c that needs something from the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Use {
    /// Everything that is measured: settings and state of machine and target.
    Measuring,
    /// `q2c tune`, and the methods that it compares.
    Tune,
    /// `q2c bench` beyond the methods of `tune`.
    Bench,
    /// Recording I/Os: `trace record`, `top`, `bench --stages`.
    Capture,
    /// The kernel's own hybrid polling: `poll watch --kernel`, `poll steer`, `poll tune-kernel`.
    KernelPolling,
    /// The interface `spdk` of `q2c bench`.
    Spdk,
    /// `q2c fs bench`.
    FileSystems,
    /// RAM devices: `q2c ramdisk`, and axes of `bench` and experiments on them.
    RamDevices,
    /// `q2c place`.
    Placement,
}

/// The machine's readiness for a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ready {
    /// Nothing is missing.
    Ready,
    /// It is ready except for the columns that the named checks invalidate.
    Limited,
    /// A fact that the use depends on could not be read.
    Unknown,
    /// Something that the use cannot do without is missing.
    NotReady,
}

/// The state of one use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UseState {
    /// The use.
    #[serde(rename = "use")]
    pub of: Use,
    /// The machine's readiness for the use.
    pub ready: Ready,
    /// Names of the checks that decided `ready`; empty when the machine is ready.
    pub by: Vec<String>,
    /// Number of the use's checks with [`CheckVerdict::Warn`].
    pub to_improve: u32,
}

/// All checks of a machine, and of a target when one was named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorReport {
    /// Name of the schema: `q2c.doctor/1`.
    pub schema: String,
    /// The state of each use; empty if the checks were made for one run only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<UseState>,
    /// The checks, in the order of the groups.
    pub checks: Vec<Check>,
}

/// The settings that `--fix` should change, and the findings that no setting repairs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorFix {
    /// Name of the schema: `q2c.doctor-fix/1`.
    pub schema: String,
    /// True if nothing was to be written (`--dry-run`).
    pub dry_run: bool,
    /// The settings, in the order of their changes.
    pub changes: Vec<SettingChange>,
    /// Findings that no change of a setting repairs.
    pub left: Vec<UnfixedCheck>,
}

impl DoctorFix {
    /// The changes that were refused or, in a dry run, would be.
    pub fn refused(&self) -> impl Iterator<Item = &SettingChange> {
        let is_refused = |c: &&SettingChange| matches!(c.state, ChangeState::Refused { .. });
        self.changes.iter().filter(is_refused)
    }
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingChange {
    /// Name of the check that asks for the change.
    pub check: String,
    /// The setting's file.
    pub file: String,
    /// The value that was found.
    pub old: String,
    /// The value that it should get.
    pub new: String,
    /// What happened to the setting.
    #[serde(flatten)]
    pub state: ChangeState,
}

/// What happened to a setting that should be changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum ChangeState {
    /// The file is writable, and was not written.
    Planned,
    /// The setting has the new value.
    Changed,
    /// The kernel accepted the new value, but stored a different one.
    Rounded {
        /// The value read back.
        now: String,
    },
    /// The setting still has its old value.
    Refused {
        /// The kind of reason.
        why: RefusedReason,
        /// The reason in the system's words.
        error: String,
    },
}

/// Why a setting cannot be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusedReason {
    /// The user may not write the file.
    Permission,
    /// The file system is mounted read-only, as in a container.
    ReadOnly,
    /// The kernel or the driver refused the value, or did not keep it.
    Kernel,
    /// Another run of q2c holds the setting.
    Held,
    /// An earlier run left the setting changed.
    Pending,
}

/// A finding that no change of a setting repairs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfixedCheck {
    /// Name of the check.
    pub check: String,
    /// The fact that was found.
    pub found: String,
    /// Why the finding was left.
    pub why: LeftReason,
    /// The line to type that would change the fact; `None` if there is no such line.
    pub line: Option<String>,
}

/// Why a finding was left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftReason {
    /// An option of the kernel or of a driver, which takes effect only at their start.
    Boot,
    /// A program sets the value; there is no setting to change.
    Program,
    /// The change would take memory, CPUs, protection or a device from others.
    Others,
    /// The kernel itself chooses the CPUs of these interrupts.
    Managed,
    /// There is one interrupt line, which cannot be spread.
    OneLine,
}
