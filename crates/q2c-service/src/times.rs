use crate::Empirical;
use q2c_model::Nanos;
use q2c_model::stats::Rng;
use q2c_policy::Io;
use std::sync::Arc;

/// The time that a server works on one request.
#[derive(Clone, Debug, PartialEq)]
pub enum ServiceTimes {
    /// Every request takes the same time.
    Constant(Nanos),
    /// Times have an exponential distribution with this mean.
    Exponential(Nanos),
    /// Times are lognormal: their logarithm has a normal distribution.
    Lognormal {
        /// Median of the times.
        median: Nanos,
        /// Standard deviation of the logarithm of the times.
        sigma: f64,
    },
    /// Times are drawn from recorded ones, by direction and size of the request.
    Empirical(Arc<Empirical>),
    /// A submitter's requests take these times in this order, again and again. There must be one at
    /// least.
    Sequence(Arc<[Nanos]>),
}

/// The service times of one submitter's requests. Equal seeds give equal times for equal requests,
/// whatever other submitters do meanwhile.
#[derive(Clone, Debug)]
pub struct Draws {
    times: ServiceTimes,
    rng: Rng,
    drawn: usize,
}

impl Draws {
    /// Times of the model `times`, drawn by `seed`.
    pub fn new(times: ServiceTimes, seed: u64) -> Self {
        Draws {
            times,
            rng: Rng::new(seed),
            drawn: 0,
        }
    }

    /// The service time of the submitter's next request.
    #[inline]
    pub fn next(&mut self, io: Io) -> Nanos {
        let nth = self.drawn;
        self.drawn = nth.wrapping_add(1);
        match &self.times {
            ServiceTimes::Constant(time) => *time,
            ServiceTimes::Exponential(mean) => {
                Nanos((mean.0 as f64 * -(1.0 - self.rng.unit()).ln()) as u64)
            }
            ServiceTimes::Lognormal { median, sigma } => {
                Nanos((median.0 as f64 * (sigma * self.rng.normal()).exp()) as u64)
            }
            ServiceTimes::Empirical(recorded) => recorded.draw(io, &mut self.rng),
            ServiceTimes::Sequence(times) => times[nth % times.len()],
        }
    }
}
