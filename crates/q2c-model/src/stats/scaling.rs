//! Throughput by the number of jobs: knee, peak, collapse, the share of the peak that more jobs
//! keep, and the universal scalability law.
//!
//! The shape (knee, peak, collapse) follows from the medians and their intervals without a model.
//! The fitted law is smooth and cannot describe steps (a NUMA border, SMT siblings, a device's
//! ceiling, tags that run out). So it is fitted to the points up to the first such step, and
//! reported with its residuals.

mod shape;
mod usl;

use serde::{Deserialize, Serialize};
pub use shape::{CurveError, KNEE_SHARE, ScalingPoint, ScalingShape, ScalingStep};
pub use usl::{Fit, FitError, FittedPoint, Intervals, Usl, fit};

/// The analysis of one curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// Knee, peak and collapse, and the shares of the peak that more jobs keep.
    pub shape: ScalingShape,
    /// The fitted law; `None` if it cannot be fitted.
    pub usl: Option<Fit>,
    /// The reason why there is no fit, if so.
    pub usl_refused: Option<String>,
}

impl Scaling {
    /// Analyses a curve: the shape by all points, the fit by those up to `border`, the last number
    /// of jobs before the topology's first step. `None` fits all points. `seed` is for resampling.
    ///
    /// # Errors
    /// See [`CurveError`].
    pub fn from_points(
        points: &[ScalingPoint],
        border: Option<u32>,
        seed: u64,
    ) -> Result<Scaling, CurveError> {
        let points = shape::sorted_points(points)?;
        let fitted_count = points.partition_point(|p| border.is_none_or(|last| p.jobs <= last));
        let (usl, usl_refused) = match usl::fit(&points[..fitted_count], seed) {
            Ok(fit) => (Some(fit), None),
            Err(reason) => (None, Some(reason.to_string())),
        };
        Ok(Scaling {
            shape: ScalingShape::from_points(&points)?,
            usl,
            usl_refused,
        })
    }
}
