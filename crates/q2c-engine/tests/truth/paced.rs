//! Tests of the open loop, in which a request is submitted when it is due.

use crate::plan::{alone, job, plan, run};
use q2c_engine::{Activity, JobPlan, LaneData, Wait};

fn paced(engine: &str, wait: Wait, rate: f64, depth: u16, ms: u64) -> LaneData {
    let job = JobPlan {
        rate: Some(rate),
        depth,
        ..job(engine, vec![Activity::Start(wait), Activity::Continue])
    };
    run(plan(&[ms, ms], vec![job]))
        .expect("a run that can be done")
        .lanes
        .remove(0)
}

fn gaps(lane: &LaneData) -> Vec<f64> {
    let mut due: Vec<u64> = lane.samples.iter().map(|s| s.submit_ns).collect();
    due.sort_unstable();
    due.windows(2).map(|w| (w[1] - w[0]) as f64).collect()
}

/// A Poisson process of 2,000 per second for a second has 2,000 gaps with a mean of 500 us and a
/// standard deviation as large as the mean. The bounds are five standard errors.
#[test]
fn intended_times_are_a_poisson_process() {
    alone("intended_times_are_a_poisson_process", || {
        for wait in [Wait::Poll, Wait::Interrupt] {
            let lane = paced("sim:20us", wait, 2_000.0, 1, 500);
            let gaps = gaps(&lane);
            let n = gaps.len() as f64;
            assert!((n - 2_000.0).abs() < 5.0 * 2_000f64.sqrt(), "{n}");
            let mean = gaps.iter().sum::<f64>() / n;
            let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / n;
            assert!(
                (mean - 500_000.0).abs() < 5.0 * 500_000.0 / n.sqrt(),
                "{mean}"
            );
            assert!(
                (variance.sqrt() / mean - 1.0).abs() < 0.2,
                "{}",
                variance.sqrt()
            );
        }
    });
}

/// One server of 1 ms has a load of a half. The intended times alone tell when each request must be
/// complete (Lindley): a millisecond after it was due, or after the one before was complete. A
/// closed loop would report 1 ms for all of them.
#[test]
fn waiting_for_the_turn_is_part_of_the_latency() {
    const SERVICE: u64 = 1_000_000;
    alone("waiting_for_the_turn_is_part_of_the_latency", || {
        for depth in [1, 64] {
            let lane = paced("sim:1ms", Wait::Poll, 500.0, depth, 1_000);
            let mut samples = lane.samples;
            samples.sort_by_key(|s| s.submit_ns);
            let (mut complete, mut more, mut waited) = (0, Vec::new(), 0);
            for sample in &samples {
                complete = complete.max(sample.submit_ns) + SERVICE;
                let least = complete - sample.submit_ns;
                assert!(
                    sample.u2c().0 + 1_000 >= least,
                    "{} < {least}",
                    sample.u2c().0
                );
                more.push(sample.u2c().0.saturating_sub(least));
                waited += u32::from(least > SERVICE);
            }
            // A lane that slept may get its CPU back late; one whose request had to wait for its
            // turn did not sleep.
            more.sort_unstable();
            let tenth = more[more.len() / 10];
            assert!(tenth < 100_000, "depth {depth}: {tenth} ns above");
            // Half of the requests find the server busy, more where the lane loses its CPU.
            let share = f64::from(waited) / samples.len() as f64;
            assert!((0.35..0.9).contains(&share), "{share}");
        }
    });
}

/// With more submissions than the device can do, latency grows as long as the run lasts, and there
/// are never more requests in flight than the depth.
#[test]
fn an_overloaded_device_shows_it() {
    alone("an_overloaded_device_shows_it", || {
        let lane = paced("sim:1ms", Wait::Poll, 3_000.0, 8, 200);
        let last = lane.samples.last().unwrap().u2c().0 as f64 / 1e6;
        // In 400 ms 1,200 requests are due and 400 are served, so the last one served was due at
        // 400 / 3 ms.
        assert!((last / (400.0 * 2.0 / 3.0) - 1.0).abs() < 0.2, "{last} ms");
        assert!(lane.ios <= 410, "{}", lane.ios);
    });
}

#[test]
fn waiting_in_the_kernel_for_several_is_refused() {
    let job = JobPlan {
        rate: Some(100.0),
        depth: 4,
        ..job("sim:1ms", vec![Activity::Start(Wait::Interrupt)])
    };
    let error = run(plan(&[50], vec![job])).unwrap_err().to_string();
    assert!(error.contains("use poll"), "{error}");
}

/// One server of 1 ms does at most 400 requests in 400 ms, and 4,000 are due: a lane that works off
/// what is due before a cut would be at it for 4 s. What is left over stays due, in the order.
#[test]
fn a_rate_above_what_the_device_can_do_ends_in_time() {
    alone("a_rate_above_what_the_device_can_do_ends_in_time", || {
        for (depth, wait) in [(1, Wait::Poll), (1, Wait::Interrupt), (8, Wait::Poll)] {
            let lane = paced("sim:1ms", wait, 10_000.0, depth, 200);
            let ios: u64 = lane.phases.iter().map(|phase| phase.ios).sum();
            // Beyond the 400, the last one of each phase and those in flight at the end.
            assert!(ios <= 402 + u64::from(depth), "depth {depth}: {ios}");
            let late = |n: usize| lane.samples[n].u2c().0;
            assert!(late(lane.samples.len() - 1) > late(0), "depth {depth}");
        }
    });
}
