//! Tests of knee, peak and collapse.

use crate::{law, noisy, single};
use proptest::prelude::*;
use q2c_model::stats::scaling::{CurveError, Scaling, ScalingPoint, ScalingShape, Usl};
use q2c_testkit::SPDK_3097;

#[test]
fn the_published_case() {
    let shape = ScalingShape::from_points(&single(&SPDK_3097)).unwrap();
    assert_eq!((shape.peak, shape.collapse), (10, Some(14)));
    // 6.84 / 17.78 and 5.61 / 17.78.
    assert_eq!((shape.retained * 100.0).round(), 38.0);
    assert_eq!((shape.lowest * 100.0).round(), 32.0);
    // The gains per added CPU are 2.29, 1.92, 1.43, then -2.59. So up to 10 CPUs, each one added
    // more than 0.208.
    assert_eq!(shape.knee, Some(14));
    // 17.78 / 20.8.
    assert!((shape.step_at(10).unwrap().efficiency - 0.854_8).abs() < 1e-4);
    assert_eq!(shape.unconfirmed, None);
}

#[test]
fn a_point_alone_is_no_collapse() {
    let up_to_14_jobs = ScalingShape::from_points(&single(&SPDK_3097[..5])).unwrap();
    let (collapse, unconfirmed) = (up_to_14_jobs.collapse, up_to_14_jobs.unconfirmed);
    assert_eq!((collapse, unconfirmed), (None, Some(14)));
    let dip = [(1, 10.0), (2, 20.0), (3, 9.0), (4, 19.8), (5, 19.9)];
    let dip = ScalingShape::from_points(&single(&dip)).unwrap();
    assert_eq!((dip.peak, dip.collapse, dip.unconfirmed), (2, None, None));
    assert_eq!(dip.lowest, 0.45);
}

#[test]
fn intervals_that_touch_are_no_collapse() {
    let at = |jobs, lowest: f64| ScalingPoint::new(jobs, &[lowest, lowest + 1.0, lowest + 4.0]);
    // The next interval, 92 to 96, is below the peak's 100 to 104; its median is 8 % below.
    let clear =
        ScalingShape::from_points(&[at(1, 50.0), at(2, 100.0), at(4, 92.0), at(8, 91.0)]).unwrap();
    assert_eq!(clear.collapse, Some(4));
    let wide = |jobs| ScalingPoint::new(jobs, &[90.0, 92.0, 100.0]);
    let touching =
        ScalingShape::from_points(&[at(1, 50.0), at(2, 100.0), wide(4), wide(8)]).unwrap();
    assert_eq!(touching.collapse, None);
    // The intervals do not overlap, but 96 is less than 5 % below 100.
    let near =
        ScalingShape::from_points(&single(&[(1, 50.0), (2, 100.0), (4, 96.0), (8, 95.5)])).unwrap();
    assert_eq!((near.collapse, near.unconfirmed), (None, None));
}

#[test]
fn curves_by_hand() {
    // A ceiling of 400 000: the fifth job adds nothing.
    let ceiling = |n: u32| (n, 100e3 * f64::from(n.min(4)));
    let step = ScalingShape::from_points(&single(&[1, 2, 3, 4, 5, 6, 8].map(ceiling))).unwrap();
    assert_eq!((step.knee, step.peak, step.collapse), (Some(5), 4, None));
    assert_eq!((step.retained, step.lowest), (1.0, 1.0));
    assert_eq!(step.step_at(8).unwrap().efficiency, 0.5);
    let flat = ScalingShape::from_points(&single(&[1, 2, 4, 8].map(|n| (n, 7.0)))).unwrap();
    assert_eq!((flat.knee, flat.peak, flat.collapse), (Some(2), 1, None));
    let rising =
        ScalingShape::from_points(&single(&[1, 2, 4, 8].map(|n| (n, 3.0 * f64::from(n))))).unwrap();
    assert_eq!((rising.knee, rising.peak, rising.collapse), (None, 8, None));
    assert!(rising.steps.iter().all(|s| s.efficiency == 1.0));
    assert_eq!(rising.retained, 1.0);
}

#[test]
fn where_a_law_collapses() {
    // sigma 0.02, kappa 0.0005: X(48) = 15 645, X(64) = 14 967 (-4.3 %), X(96) = 12 868 (-18 %),
    // X(128) = 10 970.
    let usl = Usl {
        lambda: 1_000.0,
        sigma: 0.02,
        kappa: 0.000_5,
    };
    let jobs = [1, 2, 4, 8, 16, 32, 48, 64, 96, 128];
    for seed in 0..20 {
        let shape = ScalingShape::from_points(&noisy(&jobs, 5, 0.003, seed, law(usl))).unwrap();
        assert_eq!((shape.peak, shape.collapse), (48, Some(96)), "seed {seed}");
        let off = shape.retained - 10_970.0 / 15_645.0;
        assert!(off.abs() < 0.02, "{shape:?}");
    }
}

#[test]
fn a_start_above_one_job_is_counted_per_job() {
    let shape = ScalingShape::from_points(&single(&[(4, 400.0), (8, 800.0), (16, 816.0)])).unwrap();
    assert_eq!((shape.one_job, shape.knee), (100.0, Some(16)));
    assert_eq!(shape.step_at(16).unwrap().efficiency, 0.51);
}

#[test]
fn data_that_are_no_curve() {
    let bad = |points: &[ScalingPoint]| ScalingShape::from_points(points).unwrap_err();
    assert_eq!(bad(&[]), CurveError::Empty);
    for x in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let points = single(&[(1, 1.0), (2, x)]);
        assert_eq!(bad(&points), CurveError::NotPositive { jobs: 2 });
    }
    assert_eq!(
        bad(&[ScalingPoint::new(3, &[])]),
        CurveError::NotPositive { jobs: 3 }
    );
    assert_eq!(
        bad(&single(&[(0, 1.0)])),
        CurveError::NotPositive { jobs: 0 }
    );
    let twice = single(&[(2, 1.0), (1, 1.0), (2, 1.0)]);
    assert_eq!(bad(&twice), CurveError::Twice { jobs: 2 });
}

#[test]
fn everything_of_one_curve() {
    let scaling = Scaling::from_points(&single(&SPDK_3097), None, 1).unwrap();
    assert_eq!(scaling.shape.peak, 10);
    assert!(scaling.usl.is_some() && scaling.usl_refused.is_none());
    // The points up to the border are too few for a fit; the shape uses all points.
    let cut = Scaling::from_points(&single(&SPDK_3097), Some(10), 1).unwrap();
    assert_eq!(cut.shape, scaling.shape);
    assert!(cut.usl.is_none() && cut.usl_refused.unwrap().contains("4 points"));
}

proptest! {
    #[test]
    fn of_any_curve(curve in prop::collection::btree_map(1u32..200, prop::collection::vec(1.0..1e7f64, 1..6), 1..12),
                    unit in 1e-6..1e6f64, seed: u64) {
        let mut points: Vec<ScalingPoint> = curve.iter().map(|(&n, t)| ScalingPoint::new(n, t)).collect();
        let shape = ScalingShape::from_points(&points).unwrap();
        let top = shape.peak_x.median;
        prop_assert!(shape.steps.iter().all(|s| s.x.median <= top));
        prop_assert!(shape.lowest <= shape.retained && shape.retained <= 1.0 && shape.lowest > 0.0);
        if let Some(n) = shape.collapse {
            prop_assert!(n > shape.peak && shape.unconfirmed.is_none());
            let x = shape.step_at(n).unwrap().x;
            prop_assert!(x.max < shape.peak_x.min && x.median <= 0.95 * top);
        }
        // Neither the order of the points nor the unit matters (a power of two changes no digit).
        q2c_model::stats::Rng::new(seed).shuffle(&mut points);
        let unit = 2f64.powi(unit.log2() as i32);
        points.iter_mut().flat_map(|p| &mut p.trials).for_each(|x| *x *= unit);
        let same = ScalingShape::from_points(&points).unwrap();
        prop_assert_eq!((same.knee, same.peak, same.collapse), (shape.knee, shape.peak, shape.collapse));
        prop_assert_eq!(same.retained, shape.retained);
    }
}
