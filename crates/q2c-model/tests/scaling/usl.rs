//! Compares the fit with curves of known parameters, and with a search on a grid.

use crate::{law, noisy, single};
use proptest::prelude::*;
use q2c_model::stats::scaling::{CurveError, Fit, FitError, ScalingPoint, Usl, fit};
use q2c_testkit::SPDK_3097;

const JOBS: [u32; 9] = [1, 2, 4, 8, 16, 32, 48, 64, 96];
/// A law whose peak is at sqrt(0.98 / 0.0005) = 44.27 jobs.
const TRUTH: Usl = Usl {
    lambda: 1_000.0,
    sigma: 0.02,
    kappa: 0.000_5,
};

fn near(a: f64, b: f64, share: f64) -> bool {
    (a - b).abs() <= share * b.abs()
}

fn cost(points: &[ScalingPoint], usl: Usl) -> f64 {
    let residual = |p: &ScalingPoint| 1.0 - law(usl)(f64::from(p.jobs)) / p.interval().median;
    points.iter().map(|p| residual(p).powi(2)).sum()
}

/// Least cost on a grid of sigma and kappa, with the best lambda for each in closed form.
fn by_grid(points: &[ScalingPoint], max_sigma: f64) -> f64 {
    let mut least = f64::INFINITY;
    for (i, j) in (0..400).flat_map(|i| (0..400).map(move |j| (i, j))) {
        let (sigma, kappa) = (
            max_sigma * f64::from(i) / 400.0,
            max_sigma * f64::from(j) / 400.0 / 10.0,
        );
        let usl_with = |lambda| Usl {
            lambda,
            sigma,
            kappa,
        };
        let unit_law = law(usl_with(1.0));
        let shares = points
            .iter()
            .map(|p| unit_law(f64::from(p.jobs)) / p.interval().median);
        let (sum, squares) = shares.fold((0.0, 0.0), |(s, q), r| (s + r, q + r * r));
        least = least.min(cost(points, usl_with(sum / squares)));
    }
    least
}

#[test]
fn an_exact_curve_gives_its_parameters_back() {
    let fitted = fit(&noisy(&JOBS, 1, 0.0, 1, law(TRUTH)), 1).unwrap();
    let usl = fitted.usl;
    assert!(near(usl.lambda, 1_000.0, 1e-9) && near(usl.sigma, 0.02, 1e-7));
    assert!(near(usl.kappa, 0.000_5, 1e-7));
    assert!(near(fitted.peak.unwrap(), 44.271_887, 1e-6));
    assert!(fitted.rms_relative < 1e-9 && fitted.r_squared > 1.0 - 1e-12);
    assert_eq!(fitted.intervals, None, "single trials have no spread");
}

#[test]
fn ranges_hold_the_truth() {
    const SWEEPS: u64 = 30;
    let mut counts = [0; 3];
    for seed in 0..SWEEPS {
        let fitted = fit(&noisy(&JOBS, 5, 0.02, seed, law(TRUTH)), seed).unwrap();
        let ranges = fitted.intervals.unwrap();
        let pairs = [
            (ranges.lambda, TRUTH.lambda),
            (ranges.sigma, TRUTH.sigma),
            (ranges.kappa, TRUTH.kappa),
        ];
        for (count, (range, truth)) in counts.iter_mut().zip(pairs) {
            *count += u64::from(range.low <= truth && truth <= range.high);
            assert!(
                range.high < 1.5 * truth && range.low > 0.5 * truth,
                "{range:?}"
            );
        }
        assert!(near(fitted.usl.lambda, 1_000.0, 0.04), "{fitted:?}");
        assert!(near(fitted.peak.unwrap(), 44.27, 0.10), "{fitted:?}");
        assert!(fitted.rms_relative < 0.03);
    }
    // If each range holds the truth with 95 %, 26 or more of 30 do so in 98 of 100 cases.
    assert!(counts.iter().all(|&n| n >= 26), "{counts:?}");
}

#[test]
fn two_trials_tell_no_range() {
    let points = |trials| noisy(&JOBS, trials, 0.02, 1, law(TRUTH));
    let with = |trials| fit(&points(trials), 1).unwrap().intervals;
    assert!(with(2).is_none() && with(3).is_some());
}

#[test]
fn the_seed_decides_the_ranges() {
    let points = noisy(&JOBS, 5, 0.05, 3, law(TRUTH));
    let ranges = |seed| fit(&points, seed).unwrap().intervals;
    assert_eq!(ranges(1), ranges(1));
    assert_ne!(ranges(1), ranges(2));
}

#[test]
fn too_few_points_are_refused() {
    let refused = |curve: &[(u32, f64)]| fit(&single(curve), 1).unwrap_err();
    assert_eq!(refused(&SPDK_3097[..5]), FitError::FewPoints { found: 5 });
    let rising: Vec<(u32, f64)> = (1..=8).map(|n| (n, f64::from(n))).collect();
    let only_up = refused(&rising);
    assert_eq!(only_up, FitError::NothingBehindPeak { peak: 8 });
    assert!(only_up.to_string().contains("kappa is not identified"));
    let falling: Vec<(u32, f64)> = (2..=8).map(|n| (n, 10.0 - f64::from(n))).collect();
    assert_eq!(refused(&falling), FitError::NothingBeforePeak { peak: 2 });
    let mut holed = SPDK_3097;
    holed[3].1 = 0.0;
    assert_eq!(
        refused(&holed),
        FitError::Curve(CurveError::NotPositive { jobs: 10 })
    );
}

#[test]
fn a_step_is_no_law_and_the_residuals_say_so() {
    let spdk = fit(&single(&SPDK_3097), 1).unwrap();
    assert!(spdk.rms_relative > 0.15, "{spdk:?}");
    assert_eq!(spdk.points.len(), 7);
    // A ceiling at four jobs with a slow fall after it: no law bends so sharply.
    let ceiling = |n: f64| if n <= 4.0 { 100.0 * n } else { 400.0 - n };
    let ceiling = fit(&noisy(&[1, 2, 3, 4, 6, 8, 12, 16], 1, 0.0, 1, ceiling), 1).unwrap();
    assert!(ceiling.rms_relative > 0.05, "{ceiling:?}");
}

#[test]
fn contention_alone_never_falls() {
    // Amdahl's curve with a slightly lower last point: kappa is at or near 0, never below.
    let amdahl = law(Usl {
        lambda: 100.0,
        sigma: 0.2,
        kappa: 0.0,
    });
    let mut points = noisy(&[1, 2, 4, 8, 16, 32], 1, 0.0, 1, amdahl);
    points[0].trials = vec![80.0];
    points[5].trials = points[4].trials.clone();
    points[4].trials[0] += 1.0;
    let fitted = fit(&points, 1).unwrap();
    assert!(fitted.usl.kappa >= 0.0 && fitted.usl.sigma >= 0.0);
    let peak = |sigma, kappa| {
        Usl {
            sigma,
            kappa,
            ..TRUTH
        }
        .peak()
    };
    assert_eq!(peak(TRUTH.sigma, 0.0), None);
    assert_eq!(peak(3.0, TRUTH.kappa), Some(1.0));
}

#[test]
fn no_grid_point_is_better() {
    let capped = |n: f64| n.min(3.0) - n / 50.0;
    let curves = [
        single(&SPDK_3097),
        noisy(&JOBS, 5, 0.05, 9, law(TRUTH)),
        noisy(&[1, 2, 3, 4, 5, 6, 7, 8], 3, 0.1, 4, capped),
    ];
    for points in curves {
        let fitted: Fit = fit(&points, 1).unwrap();
        let (fit_cost, grid) = (cost(&points, fitted.usl), by_grid(&points, 1.0));
        assert!(
            fit_cost <= grid * (1.0 + 1e-9),
            "{fit_cost} on the fit, {grid} on the grid: {fitted:?}"
        );
        let rms = (fit_cost / points.len() as f64).sqrt();
        assert!(near(fitted.rms_relative, rms, 1e-9));
    }
}

/// These points follow no law, and a long step leads back to its start. The fit once stopped there
/// with kappa at 0, although a small kappa is closer.
#[test]
fn a_fit_does_not_stop_on_the_way() {
    let xs = [
        961_729.827_5,
        638_524.857_4,
        650_351.583_4,
        19_450.630_3,
        249_551.913_8,
        2_139.705_8,
        783_648.355_8,
    ];
    let curve: Vec<(u32, f64)> = (1..).zip(xs).collect();
    let points = single(&curve);
    let usl = fit(&points, 1).expect("a fit").usl;
    for nudge in [1e-5, 1e-4, 1e-3] {
        let kappa = usl.kappa + nudge;
        let moved = Usl { kappa, ..usl };
        assert!(cost(&points, usl) <= cost(&points, moved) * (1.0 + 1e-9));
    }
}

proptest! {
    #[test]
    fn any_exact_law_is_found(lambda in 1e-3..1e9f64, sigma in 0.0..0.5f64, peak in 3.0..60.0f64) {
        let kappa = (1.0 - sigma) / (peak * peak);
        let usl = Usl { lambda, sigma, kappa };
        let jobs = [1, 2, 3, 5, 8, 12, 20, 40, 80, 160];
        let fitted = fit(&noisy(&jobs, 1, 0.0, 1, law(usl)), 1).unwrap();
        prop_assert!(near(fitted.usl.lambda, lambda, 1e-6), "{fitted:?}");
        prop_assert!((fitted.usl.sigma - sigma).abs() < 1e-6, "{fitted:?}");
        prop_assert!(near(fitted.usl.kappa, kappa, 1e-5), "{fitted:?}");
        prop_assert!(near(fitted.peak.unwrap(), peak, 1e-5));
    }

    #[test]
    fn costs_are_never_negative_and_nothing_near_is_better(
        xs in prop::collection::vec(1.0..1e6f64, 7..12), nudge in prop::array::uniform3(-0.02..0.02f64),
    ) {
        let curve: Vec<(u32, f64)> = (1..).zip(xs).collect();
        let points = single(&curve);
        if let Ok(fitted) = fit(&points, 1) {
            let Usl { lambda, sigma, kappa } = fitted.usl;
            prop_assert!(lambda > 0.0 && sigma >= 0.0 && kappa >= 0.0);
            let moved = Usl {
                lambda: lambda * (1.0 + nudge[0]),
                sigma: (sigma + sigma.max(1e-3) * nudge[1]).max(0.0),
                kappa: (kappa + kappa.max(1e-3) * nudge[2]).max(0.0),
            };
            prop_assert!(cost(&points, fitted.usl) <= cost(&points, moved) * (1.0 + 1e-6) , "{fitted:?} {moved:?}");
        }
    }
}
