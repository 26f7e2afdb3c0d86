//! Counts and exit of the scheduler in the kernel: `struct report` of `scx/q2c.bpf.c`.

use std::fmt;

/// The scheduler's counts, and why it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Tasks that a CPU took from a more loaded one.
    pub steals: u64,
    /// Exchanges of a polling task for a computing one.
    pub swaps: u64,
    /// Steals and swaps of a running task, which moves when it is next put into a queue.
    pub redirects: u64,
    /// Changes of a task's class.
    pub classes: u64,
    /// Why the kernel ended the scheduler; `None` while it is in force.
    pub exit: Option<SchedulerExit>,
}

/// Why the kernel ended the scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerExit {
    /// `enum scx_exit_kind`.
    pub kind: u32,
    /// The code of the exit, for exits that have one.
    pub code: i64,
    /// The kernel's word for the kind.
    pub reason: String,
    /// The kernel's message; may be empty.
    pub message: String,
}

/// Bit of an exit's code that asks for a restart (`SCX_ECODE_ACT_RESTART`).
const RESTART: i64 = 1 << 48;

impl SchedulerExit {
    /// True if the kernel asks for the scheduler to be loaded again: CPUs came or went.
    pub fn asks_for_restart(&self) -> bool {
        self.code & RESTART != 0
    }
}

impl fmt::Display for SchedulerExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.message.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{}", self.reason, self.message)
    }
}

const REASON_AT: usize = 48;
const MESSAGE_AT: usize = REASON_AT + 128;
const REPORT_BYTES: usize = MESSAGE_AT + 256;

impl Report {
    /// Reads the report's bytes; `None` where they are too few.
    pub fn read(bytes: &[u8]) -> Option<Report> {
        let bytes = bytes.get(..REPORT_BYTES)?;
        let number = |nth: usize| Some(u64::from_ne_bytes(bytes[8 * nth..][..8].try_into().ok()?));
        let kind = u32::from_ne_bytes(bytes[40..44].try_into().ok()?);
        let code = i64::from_ne_bytes(bytes[32..40].try_into().ok()?);
        Some(Report {
            steals: number(0)?,
            swaps: number(1)?,
            redirects: number(2)?,
            classes: number(3)?,
            exit: (kind != 0).then(|| SchedulerExit {
                kind,
                code,
                reason: text(&bytes[REASON_AT..MESSAGE_AT]),
                message: text(&bytes[MESSAGE_AT..REPORT_BYTES]),
            }),
        })
    }
}

fn text(bytes: &[u8]) -> String {
    let content = bytes.split(|byte| *byte == 0).next().unwrap_or(bytes);
    String::from_utf8_lossy(content).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_the_c_code_lays_it_out() {
        let mut bytes = vec![0; REPORT_BYTES];
        for (nth, value) in [3_u64, 2, 1, 7].iter().enumerate() {
            bytes[8 * nth..8 * nth + 8].copy_from_slice(&value.to_ne_bytes());
        }
        let report = Report::read(&bytes).unwrap();
        let moves = (report.steals, report.swaps, report.redirects);
        assert_eq!((moves, report.classes, report.exit), ((3, 2, 1), 7, None));
        bytes[40..44].copy_from_slice(&1026_u32.to_ne_bytes());
        bytes[REASON_AT..REASON_AT + 8].copy_from_slice(b"watchdog");
        bytes[MESSAGE_AT..MESSAGE_AT + 5].copy_from_slice(b"stall");
        let ended = Report::read(&bytes).unwrap().exit.unwrap();
        assert_eq!(ended.kind, 1026);
        assert_eq!(ended.to_string(), "watchdog: stall");
        assert!(!ended.asks_for_restart());
        assert_eq!(Report::read(&bytes[1..]), None);
    }
}
