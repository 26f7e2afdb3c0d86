//! Throughput over the number of jobs: knee, peak, collapse, what is kept, and the universal scalability law.
//!
//! The shape (knee, peak, collapse) is read off the medians and their intervals and assumes nothing. The fit is
//! smooth: it cannot describe steps (a NUMA border, SMT siblings, a device's ceiling, tags that run out), so it is
//! given the points up to the first such step, and its residuals stand beside it.

mod point;
mod shape;
mod usl;

pub use point::{Bad, Point};
pub use shape::{COLLAPSE_DROP, KNEE_SHARE, Shape, Step};
pub use usl::{FIT_POINTS, Fit, Fitted, Intervals, Range, Refused, Usl, fit};

use serde::{Deserialize, Serialize};

/// Everything that is told of one curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// Knee, peak, collapse and shares.
    pub shape: Shape,
    /// The fit, where it can be made.
    pub usl: Option<Fit>,
    /// Why there is none.
    pub usl_refused: Option<String>,
}

impl Scaling {
    /// Analyses a curve. `border` is the largest number of jobs before the first step of the topology, when there
    /// is one: the fit uses the points up to it, the shape all. `seed` is the resampling's.
    ///
    /// # Errors
    /// See [`Bad`].
    pub fn of(points: &[Point], border: Option<u32>, seed: u64) -> Result<Scaling, Bad> {
        let points = point::in_order(points)?;
        let within = points.partition_point(|p| border.is_none_or(|last| p.jobs <= last));
        let (usl, usl_refused) = match usl::fit(&points[..within], seed) {
            Ok(fit) => (Some(fit), None),
            Err(why) => (None, Some(why.to_string())),
        };
        Ok(Scaling {
            shape: Shape::of(&points)?,
            usl,
            usl_refused,
        })
    }
}
