//! The figures by their names, which are the same in every kind of results.

use q2c_result::diff::Better::{self, Less, More, Neither};
use q2c_result::diff::FigureUnit::{
    self, Nanoseconds, Number, PerSecond, Percent, Seconds, Share, ThousandPerSecond,
};

/// A figure that results can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FigureKind {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: FigureUnit,
    /// In which direction it is better.
    pub better: Better,
}

const fn figure(name: &'static str, unit: FigureUnit, better: Better) -> FigureKind {
    FigureKind { name, unit, better }
}

pub(super) const IOPS: FigureKind = figure("iops", PerSecond, More);
pub(super) const KIOPS_PER_CORE: FigureKind = figure("kiops_per_core", ThousandPerSecond, More);
pub(super) const CPU: FigureKind = figure("cpu", Percent, Less);
pub(super) const BUSY: FigureKind = figure("busy", Number, Less);
pub(super) const MEAN: FigureKind = figure("mean", Nanoseconds, Less);
pub(super) const P50: FigureKind = figure("p50", Nanoseconds, Less);
pub(super) const P99: FigureKind = figure("p99", Nanoseconds, Less);
pub(super) const P999: FigureKind = figure("p99.9", Nanoseconds, Less);
pub(super) const MISS_RATE: FigureKind = figure("miss_rate", Share, Less);
pub(super) const EFFECTIVE_SLEEP: FigureKind = figure("effective_sleep", Nanoseconds, Neither);
pub(super) const COMPLETION: FigureKind = figure("completion", Seconds, Less);
pub(super) const SUM_U2C: FigureKind = figure("sum_u2c", Seconds, Less);
pub(super) const SUM_Q2C: FigureKind = figure("sum_q2c", Seconds, Less);
pub(super) const IN_FLIGHT: FigureKind = figure("in_flight", Number, Neither);

impl FigureKind {
    /// The same figure of something for which neither more nor less of it is better.
    pub(super) const fn neutral(self) -> Self {
        figure(self.name, self.unit, Neither)
    }
}
