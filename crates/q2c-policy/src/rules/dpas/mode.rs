//! The four modes, and when one follows another.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DpasMode {
    /// It sleeps as PAS says. This is the first mode.
    Pas,
    Poll,
    /// It sleeps as PAS says, while overload is suspected.
    Overload,
    /// It waits for interrupts.
    Interrupt,
}

#[derive(Clone, Copy)]
pub(super) struct ModeLengths {
    pub(super) theta_tenths: u64,
    pub(super) pas: u64,
    pub(super) poll: u64,
    pub(super) overload: u64,
    pub(super) interrupt: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ModeFigures {
    pub(super) depth_tenths: u64,
    pub(super) failures: u64,
}

const ALONE: u64 = 10;

impl ModeLengths {
    pub(super) fn length_of(&self, mode: DpasMode) -> u64 {
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
