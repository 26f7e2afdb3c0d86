//! Scaling curves of known shape: published ones, exact laws, steps, flat and rising ones.

mod shape;
mod usl;

use q2c_model::stats::Rng;
use q2c_model::stats::scaling::{ScalingPoint, Usl};

fn single(curve: &[(u32, f64)]) -> Vec<ScalingPoint> {
    curve
        .iter()
        .map(|&(n, x)| ScalingPoint::new(n, &[x]))
        .collect()
}

/// A nearly normal number: the sum of twelve uniform numbers minus 6 (Irwin-Hall).
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

fn noisy(
    jobs: &[u32],
    trials: usize,
    noise: f64,
    seed: u64,
    truth: impl Fn(f64) -> f64,
) -> Vec<ScalingPoint> {
    let mut rng = Rng::new(seed);
    let mut point = |&n: &u32| {
        let x = truth(f64::from(n));
        let trial = |_| x * (1.0 + noise * normal(&mut rng));
        let trials: Vec<f64> = (0..trials).map(trial).collect();
        ScalingPoint::new(n, &trials)
    };
    jobs.iter().map(&mut point).collect()
}

/// The law as in the literature, independent of the code under test.
fn law(usl: Usl) -> impl Fn(f64) -> f64 {
    move |n| {
        let (sigma, kappa) = (usl.sigma, usl.kappa);
        (usl.lambda * n) / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))
    }
}
