use super::*;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[test]
fn a_timed_replay_takes_as_long_as_the_trace_and_speed_divides_it() {
    let folder = Place::new();
    let trace = even_trace(folder.path());
    let trace = trace.to_str().unwrap();
    let device = "sim:200us,servers=4";
    let result = replayed(folder.path(), &format!("{trace} {device}"));
    let figure = |name: &str| number(&result, name);
    // The last request is due at 0.998 s and takes 200 us.
    assert_eq!(figure("/completion_s"), 0.9982);
    // The sum has 500 requests of 200 us.
    assert_eq!(figure("/sum_u2c_s"), 0.1);
    assert_eq!(figure("/sum_u2c_intended_s"), 0.1);
    assert_eq!(result["issued"].as_u64(), Some(500));
    assert_eq!(result["errors"].as_u64(), Some(0));
    assert_eq!(result["sum_q2c_s"], Value::Null);
    assert_eq!(result["q2c_source"], Value::Null);
    assert_eq!(result["valid"], true);
    assert_eq!(result["saturated"], false);
    for name in ["p50", "p99", "max"] {
        assert_eq!(number(&result["lateness_ns"], &format!("/{name}")), 0.0);
    }
    assert_eq!(result["end_drift_ns"], 0);
    assert_eq!(result["machine"]["kernel"], "simulated");
    let twice = replayed(folder.path(), &format!("{trace} {device} --speed 2"));
    assert_eq!(number(&twice, "/completion_s"), 0.4992);
    // The threads of a machine with costs are late by them: by a submission at least.
    let machine = "name = 'slow'\ncores = 2\nslice_ns = 3000000\nsubmission_ns = 4000\n\
        turnaround_ns = 100\nlook_ns = 50\nswitch_ns = 1000\ntimer_ns = 500\n\
        wake_delay_ns = 2500\ninterrupt_ns = 1000\ninterrupt_delay_ns = 3000\n";
    folder.put("slow.toml", machine);
    let costs = replayed(
        folder.path(),
        &format!("{trace} {device} --machine slow.toml"),
    );
    assert_eq!(number(&costs, "/sum_u2c_s"), 0.102);
    assert_eq!(costs["machine"]["simulated"]["name"], "slow");
}

/// In real time a request takes its service and what the machine adds.
#[test]
fn a_replay_in_real_time_takes_at_least_as_long() {
    timed(|| {
        let folder = Place::new();
        let trace = even_trace(folder.path());
        let arguments = format!(
            "{} sim:200us,servers=4 --speed 4 --real-time",
            trace.display()
        );
        let result = replayed(folder.path(), &arguments);
        let figure = |name: &str| number(&result, name);
        assert!((0.2495..2.0).contains(&figure("/completion_s")), "{result}");
        assert!((0.1..2.0).contains(&figure("/sum_u2c_s")), "{result}");
        assert!(figure("/sum_u2c_intended_s") >= figure("/sum_u2c_s"));
        assert!(result["machine"]["simulated"].is_null());
    });
}

/// The length that a run reports must not exceed a clock outside, however busy the machine is, nor
/// be less than its trial's. The commands start in the middle of a second of the time of day. So a
/// length counted from the second's start would be half a second too long.
#[test]
fn a_run_takes_no_longer_than_the_clock_beside_it() {
    let folder = Place::new();
    let trace = even_trace(folder.path());
    let trace = trace.display();
    for command in [
        format!("replay {trace} sim:200us,servers=4"),
        format!("compare {trace} sim:50us sim:60us --trials 1"),
    ] {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let since_second = Duration::from_nanos(now.subsec_nanos().into());
        std::thread::sleep(Duration::from_millis(1_500).saturating_sub(since_second));
        let begun = Instant::now();
        let how = "--json --speed 20 --max-lateness 10s --real-time";
        let done = folder.q2c(format!("{command} {how}"));
        let outside_s = begun.elapsed().as_secs_f64();
        let took_s = number(&done.json(), "/provenance/seconds");
        // The last request is due after a twentieth of 0.998 s.
        let holds = (0.0499..=outside_s).contains(&took_s);
        assert!(holds, "{took_s} s, {outside_s} s outside");
    }
}

#[test]
fn a_run_can_be_drawn_again() {
    let folder = Place::new();
    let trace = even_trace(folder.path());
    let how = "sim:200us,servers=4 --speed 4 --max-lateness 1s";
    let printed = folder.done(format!("replay {} {how}", trace.display()));
    // Without a name, the latest run is drawn.
    assert_eq!(folder.done("report"), printed);
    let text = folder.text(folder.only_run().join("result.json"));
    assert_eq!(text.matches("\"whole\"").count(), 2, "{text}");
}

#[test]
fn a_device_too_slow_for_the_trace_is_found_saturated() {
    let folder = Place::new();
    // The trace has 20,000 requests per second, and the device serves 5,000.
    let trace = trace(folder.path(), (0..4000).map(|n| (n * 50, 100, n % 1000)));
    let command_line = format!("replay {} sim:200us --json --in-flight 64", trace.display());
    let result = json(&folder.q2c(&command_line));
    assert_eq!(result["saturated"], true, "{result}");
    assert_eq!(result["valid"], true, "{result}");
    // The 64 places in flight are used up after about 85 requests; the other requests wait.
    assert!(number(&result, "/stalled") > 3900.0, "{result}");
    assert_eq!(number(&result, "/completion_s"), 0.8);
    assert_eq!(number(&result, "/in_flight/most"), 64.0);
}

/// With `--spin` the submitting thread uses its CPU for the second that the trace lasts. Otherwise
/// it sleeps between requests, which are 2 ms apart.
#[test]
fn spinning_takes_a_cpu_and_sleeping_does_not() {
    timed(|| {
        let folder = Place::new();
        let trace = even_trace(folder.path());
        let command_line = format!("replay {} null --json --max-lateness 1s", trace.display());
        let spin = format!("{command_line} --spin");
        // Other processes may use the CPUs and delay wake-ups, so one of several pairs has to pass.
        let pair = |_| {
            let results = [&command_line, &spin].map(|line| json(&folder.q2c(line)));
            let spin_settings = results.each_ref().map(|result| &result["job"]["spin"]);
            assert_eq!(spin_settings, [false, true]);
            let [sleeps, spins] = results.map(|result| number(&result, "/submitter_cpu_s"));
            (sleeps, spins)
        };
        let cpus: Vec<(f64, f64)> = (0..4).map(pair).collect();
        let apart = |&(sleeps, spins): &(f64, f64)| spins > 0.3 && sleeps < 0.7 * spins;
        assert!(cpus.iter().any(apart), "{cpus:?}");
    });
}
