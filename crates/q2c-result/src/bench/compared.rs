//! Which points of a benchmark can be compared with others, and by which figure.

use super::{BenchCell, Measure};
use crate::mode::{ModeKind, ModeNote};
use q2c_stats::Interval;

impl BenchCell {
    /// Whether the kernel did something else than what was asked, as far as that is known.
    #[must_use]
    pub fn did_otherwise(&self) -> bool {
        let was = &self.effective_mode.was;
        let ignored = matches!(
            was.note,
            Some(ModeNote::PollIgnored | ModeNote::Interrupted(_))
        );
        ignored || was.kind == ModeKind::NotProved
    }

    /// Whether the point has figures, did what was asked, and is credible.
    #[must_use]
    pub fn is_comparable(&self) -> bool {
        self.iops.trials > 0 && !self.did_otherwise() && self.too_good.is_none()
    }

    /// The figure of this measure.
    #[must_use]
    pub fn figure(&self, measure: Measure) -> Interval {
        match measure {
            Measure::Iops => self.iops,
            Measure::KiopsPerCore => self.kiops_per_core,
        }
    }
}
