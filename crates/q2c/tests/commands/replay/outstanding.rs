use super::*;

#[test]
fn a_record_is_a_trace_again_and_a_profile_for_outstanding() {
    let folder = Place::new();
    let mut text = "submit,offset,size,op\n".to_owned();
    (0..200).for_each(|n| text += &format!("{},{},4096,read\n", n * 1000, n * 4096));
    folder.put("starts.csv", text);
    let replay = format!("replay starts.csv sim:100us --mode outstanding {NO_ENDS}");
    folder.q2c(replay).refused(3, "--record");
    let arguments = format!("starts.csv sim:100us --record profile.parquet {NO_ENDS}");
    replayed(folder.path(), &arguments);
    let again = "profile.parquet sim:100us --mode outstanding";
    let result = replayed(folder.path(), again);
    assert_eq!(result["issued"].as_u64(), Some(200));
    assert_eq!(number(&result, "/completion_s"), 0.02, "200 times 100 us");
}

/// Requests come at random, 20,000 per second, and take 100 us each, so two are in flight on
/// average. The device has the same mean service time, but its times vary. (With equal times,
/// requests submitted together would complete together.) The number in flight follows the trace
/// request by request, if each request is submitted as soon as a completion allows it. A thread
/// that slept until then was off by 13 to 18 %.
#[test]
fn in_flight_follows_the_trace_on_a_like_device() {
    let folder = Place::new();
    let mut chance = 1u64;
    let mut start = 0.0;
    let rows = (0..4000).map(|n| {
        chance = chance.wrapping_mul(6364136223846793005).wrapping_add(1);
        start -= ((chance >> 11) as f64 / (1u64 << 53) as f64).max(1e-9).ln() * 50.0;
        (start as u64, 100, n % 1000)
    });
    let trace = trace(folder.path(), rows);
    let command_line = format!(
        "replay {} sim:lognormal=100us/0.3,servers=64 --mode outstanding --json",
        trace.display()
    );
    let result = json(&folder.q2c(&command_line));
    assert_eq!(result["issued"], 4000, "{result}");
    let error = number(&result, "/in_flight/error");
    assert!(error < 0.05, "{error}");
}

/// The trace has 64 requests in flight. A device limited to 16 in flight is measured and found
/// saturated. A device that answers at once has nothing in flight: the replay then measures the
/// replayer, and is invalid.
#[test]
fn a_cap_is_a_finding_and_a_replayer_that_never_waits_is_not_a_device() {
    timed(|| {
        let folder = Place::new();
        let rows = (0..6400).map(|n| (n / 64 * 10_000 + n % 64, 5000, n % 1000));
        trace(folder.path(), rows);
        let replay_on = |target: &str| {
            let replay = format!("replay trace.parquet {target} --mode outstanding --json");
            json(&folder.q2c(replay))
        };
        let capped = replay_on("sim:lognormal=100us/0.3,servers=16 --in-flight 16");
        assert_eq!(capped["valid"], true, "{capped}");
        assert_eq!(capped["saturated"], true, "{capped}");
        assert!(number(&capped, "/in_flight/error") > 0.5, "{capped}");
        let nothing = replay_on("null");
        assert_eq!(nothing["invalid"][0]["id"], "replayer-bound", "{nothing}");
    });
}
