//! The universal scalability law (Gunther): X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N -
//! 1)).
//!
//! lambda is the rate of one job. sigma is the share of serial work, in which jobs wait for each
//! other. kappa is the cost of keeping jobs consistent; it grows with the number of their pairs,
//! and it alone makes a curve fall. sigma and kappa are costs: the fit keeps them at 0 or above.
//!
//! **Fit.** With y = N / X the law is linear: y = a + b (N - 1) + c N (N - 1), where a = 1/lambda,
//! b = sigma/lambda, c = kappa/lambda. The fit starts from the non-negative least-squares solution
//! of that form. It is refined in X itself by Levenberg-Marquardt steps, each of which is a
//! non-negative least-squares problem again. Residuals are relative, (X - model) / X, because
//! throughput drifts by a share of itself; so a point at few jobs counts as much as one at many.

mod curve;
mod fit;

pub use fit::{Fit, Fitted, Intervals, Refused, ResampledRange, fit};

use serde::{Deserialize, Serialize};

/// The law's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Usl {
    /// Throughput of one job, in the unit of the points.
    pub lambda: f64,
    /// Contention, 0 or above.
    pub sigma: f64,
    /// Coherence, 0 or above.
    pub kappa: f64,
}

impl Usl {
    /// The law's throughput X at `jobs`.
    pub(crate) fn throughput_at(&self, jobs: f64) -> f64 {
        let waits = self.sigma * (jobs - 1.0) + self.kappa * jobs * (jobs - 1.0);
        self.lambda * jobs / (1.0 + waits)
    }

    /// Where the law is highest: sqrt((1 - sigma) / kappa), at least 1; never with kappa at 0.
    pub fn peak(&self) -> Option<f64> {
        let squared = (1.0 - self.sigma) / self.kappa;
        (self.kappa > 0.0).then(|| squared.max(1.0).sqrt())
    }
}
