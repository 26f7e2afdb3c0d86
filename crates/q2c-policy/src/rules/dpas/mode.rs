//! The four modes, and when one follows another.

/// How a CPU waits for its I/Os.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DpasMode {
    /// It sleeps as PAS says. This is the first mode.
    Pas,
    /// It polls, because no other thread wants the CPU.
    Poll,
    /// It sleeps as PAS says, while overload is suspected.
    Overload,
    /// It waits for interrupts.
    Interrupt,
}

/// The number of I/Os for which each mode lasts, and the depth from which a CPU counts as
/// contended.
#[derive(Clone, Copy)]
pub(super) struct ModeLengths {
    /// Average depth in tenths above which overload becomes interrupts.
    pub(super) theta_tenths: u64,
    pub(super) pas: u64,
    pub(super) poll: u64,
    pub(super) overload: u64,
    pub(super) interrupt: u64,
}

/// The measurements of a mode since the last look.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModeFigures {
    /// Average number of I/Os asleep at a submission, in whole tenths.
    pub(super) depth_tenths: u64,
    /// Number of timer failures of PAS.
    pub(super) failures: u64,
}

/// The depth of one I/O asleep at a time, in tenths.
const ALONE: u64 = 10;

impl ModeLengths {
    pub(super) fn of(&self, mode: DpasMode) -> u64 {
        match mode {
            DpasMode::Pas => self.pas,
            DpasMode::Poll => self.poll,
            DpasMode::Overload => self.overload,
            DpasMode::Interrupt => self.interrupt,
        }
    }
}

impl DpasMode {
    pub(super) const ALL: [DpasMode; 4] = [
        DpasMode::Pas,
        DpasMode::Poll,
        DpasMode::Overload,
        DpasMode::Interrupt,
    ];

    /// The mode that follows this one.
    pub(super) fn next(self, seen: ModeFigures, limits: &ModeLengths) -> DpasMode {
        match self {
            DpasMode::Pas if seen.failures > 0 => DpasMode::Overload,
            DpasMode::Pas if seen.depth_tenths == ALONE => DpasMode::Poll,
            DpasMode::Poll => DpasMode::Pas,
            DpasMode::Overload if seen.depth_tenths <= ALONE => DpasMode::Pas,
            DpasMode::Overload if seen.depth_tenths > limits.theta_tenths => DpasMode::Interrupt,
            DpasMode::Interrupt => DpasMode::Overload,
            DpasMode::Pas | DpasMode::Overload => self,
        }
    }
}
