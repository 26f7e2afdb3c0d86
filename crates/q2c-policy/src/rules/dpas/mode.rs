//! The four modes and when one follows the other.

/// What a CPU does with its I/Os.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Sleeps as PAS says: the first mode.
    Pas,
    /// Polls: nobody else wants the CPU.
    Poll,
    /// Sleeps as PAS says, under suspicion of overload.
    Overload,
    /// Interrupts.
    Interrupt,
}

/// How long each mode lasts, in I/Os, and from where a CPU is contended.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Average depth in tenths above which overload becomes interrupts.
    pub(super) theta_tenths: u64,
    pub(super) pas: u64,
    pub(super) poll: u64,
    pub(super) overload: u64,
    pub(super) interrupt: u64,
}

/// What happened in a mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Average I/Os asleep at a submission, in whole tenths.
    pub(super) depth_tenths: u64,
    /// Timer failures of PAS.
    pub(super) failures: u64,
}

/// One I/O asleep at a time.
const ALONE: u64 = 10;

impl Limits {
    pub(super) fn of(&self, mode: Mode) -> u64 {
        match mode {
            Mode::Pas => self.pas,
            Mode::Poll => self.poll,
            Mode::Overload => self.overload,
            Mode::Interrupt => self.interrupt,
        }
    }
}

impl Mode {
    /// The mode after this one.
    pub(super) fn next(self, seen: Seen, limits: &Limits) -> Mode {
        match self {
            Mode::Pas if seen.failures > 0 => Mode::Overload,
            Mode::Pas if seen.depth_tenths == ALONE => Mode::Poll,
            Mode::Poll => Mode::Pas,
            Mode::Overload if seen.depth_tenths <= ALONE => Mode::Pas,
            Mode::Overload if seen.depth_tenths > limits.theta_tenths => Mode::Interrupt,
            Mode::Interrupt => Mode::Overload,
            Mode::Pas | Mode::Overload => self,
        }
    }
}
