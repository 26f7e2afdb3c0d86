use crate::plan::{INTERRUPT, MS, STEPS, job, plan, run, run_one};
use q2c_engine::{Activity, JobPlan, LaneData, Wait};

fn paced(engine: &str, wait: Wait, rate: f64, depth: u16, ms: u64) -> LaneData {
    let job = JobPlan {
        rate: Some(rate),
        depth,
        ..job(engine, vec![Activity::Start(wait), Activity::Continue])
    };
    run_one(&[ms, ms], job)
}

fn due_times(lane: &LaneData) -> Vec<u64> {
    lane.samples.iter().map(|s| s.submit_ns).collect()
}

/// A Poisson process of 2,000 per second has in one second 2,000 gaps with a mean of 500 us and an
/// equal standard deviation. The bounds are five standard errors.
#[test]
fn intended_times_are_a_poisson_process() {
    let due = due_times(&paced("sim:20us", Wait::Poll, 2_000.0, 1, 500));
    let gaps: Vec<f64> = due.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
    let n = gaps.len() as f64;
    assert!((n - 2_000.0).abs() < 5.0 * 2_000f64.sqrt(), "{n}");
    let mean = q2c_model::stats::mean(&gaps);
    let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / n;
    let off = (mean - 500_000.0).abs();
    assert!(off < 5.0 * 500_000.0 / n.sqrt(), "{mean}");
    let spread = variance.sqrt() / mean;
    assert!((spread - 1.0).abs() < 0.2, "{spread}");
    let by_interrupt = paced("sim:20us", Wait::Interrupt, 2_000.0, 1, 500);
    assert_eq!(due, due_times(&by_interrupt), "whatever the method");
}

/// One server of 1 ms has a load of one half. The intended times alone determine when each request
/// completes (Lindley): the steps of an I/O after it was due, or after the previous one was
/// complete. A closed loop would report the same for all.
#[test]
fn waiting_for_the_turn_is_part_of_the_latency() {
    for (wait, service) in [(Wait::Poll, MS), (Wait::Interrupt, MS + INTERRUPT)] {
        let lane = paced("sim:1ms", wait, 500.0, 1, 1_000);
        let (mut free_at, mut waited) = (0, 0);
        for sample in &lane.samples {
            waited += u32::from(free_at > sample.submit_ns);
            free_at = free_at.max(sample.submit_ns) + STEPS + service;
            assert_eq!(sample.reaped_ns(), free_at);
        }
        // Half of the requests find the server busy.
        let share = f64::from(waited) / lane.samples.len() as f64;
        assert!((0.4..0.6).contains(&share), "{share}");
    }
}

/// With several in flight, requests wait in the device's queue. The lane sees what is due or
/// complete between two looks, and the submission of another request delays it.
#[test]
fn requests_wait_for_their_turn_at_the_device() {
    let mut samples = paced("sim:1ms", Wait::Poll, 500.0, 64, 1_000).samples;
    samples.sort_by_key(|s| s.submit_ns);
    let mut complete = 0;
    for sample in &samples {
        complete = complete.max(sample.submit_ns + STEPS) + MS;
        let late = sample.reaped_ns() - complete;
        assert!(late < 4_000, "{late} ns");
    }
}

/// If more is submitted than the device can do, latency grows as long as the run lasts, and there
/// are never more requests in flight than the depth.
#[test]
fn an_overloaded_device_shows_it() {
    let lane = paced("sim:1ms", Wait::Poll, 3_000.0, 8, 200);
    let last = lane.samples.last().unwrap().u2c().0 as f64 / 1e6;
    // In 400 ms 1,200 requests are due and 400 are served, so the last one served was due at
    // 400 / 3 ms.
    assert!((last / (400.0 * 2.0 / 3.0) - 1.0).abs() < 0.2, "{last} ms");
    // The requests in flight at the end are still served.
    assert!((399..=408).contains(&lane.ios), "{}", lane.ios);
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

/// One server of 1 ms serves at most 400 of the 4,000 requests due in 400 ms. A lane that served
/// all due requests before a cut would need 4 s. The unserved requests stay due, in order.
#[test]
fn a_rate_above_what_the_device_can_do_ends_in_time() {
    for (depth, wait) in [(1, Wait::Poll), (1, Wait::Interrupt), (8, Wait::Poll)] {
        let lane = paced("sim:1ms", wait, 10_000.0, depth, 200);
        let ios: u64 = lane.phases.iter().map(|phase| phase.ios).sum();
        // Beyond the 400, the requests in flight at the end may count.
        let wanted = 398..=400 + u64::from(depth);
        assert!(wanted.contains(&ios), "{depth}: {ios}");
        assert!(due_times(&lane).is_sorted(), "depth {depth}");
    }
}
