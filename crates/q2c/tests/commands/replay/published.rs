use super::*;

/// The published comparison has two traces, replayed timed and outstanding on two devices. One of
/// the samples loads the devices briefly, the other leaves them idle; neither has completions.
#[test]
fn one_run_fills_the_published_tables() {
    const TEST: &str = "one_run_fills_the_published_tables";
    let sample = |name| shared_data(TEST, name);
    let samples = sample("websearch-small.disksim").zip(sample("tpcc-small.disksim"));
    let Some((web, tpcc)) = samples else { return };
    let [web, tpcc] = [web, tpcc].map(|path| path.display().to_string());
    let folder = Place::new();
    let (slow, fast) = ("sim:2ms,servers=64", "sim:100us,servers=64");
    let command_line = format!(
        "compare {web} {tpcc} {slow} {fast} --unit ns --mode timed,outstanding --part 0s..0.05s \
         --trials 2 --json --max-lateness 10s"
    );
    let done = folder.q2c(&command_line);
    assert!([0, 7].contains(&done.code), "{}", done.stderr);
    let result = json(&done);
    assert_eq!(result["schema"], "q2c.compare/3");
    let comparisons = result.list("comparisons");
    let rows = comparisons.iter().map(|one| {
        let name = |value: &Value| value.as_str().unwrap().to_owned();
        (name(&one["trace"]["path"]), name(&one["job"]["mode"]))
    });
    let modes = |trace: &String| ["timed", "outstanding"].map(|m| (trace.clone(), m.to_owned()));
    let wanted = [modes(&web), modes(&tpcc)].concat();
    assert_eq!(rows.collect::<Vec<_>>(), wanted);
    for one in comparisons {
        let devices = one.list("devices");
        let paths = devices.iter().map(|device| &device["target"]["path"]);
        assert_eq!(paths.collect::<Vec<_>>(), [slow, fast]);
        for device in devices {
            assert_eq!(device.list("trials").len(), 2, "{device}");
        }
        let outstanding = one["job"]["mode"] == "outstanding";
        let profiled = one["profile"]["device"].as_str();
        assert_eq!(profiled, outstanding.then_some(slow));
        if outstanding {
            assert_eq!(one["job"]["count"], "blocks");
        }
    }
    // One device takes 2 ms for each request, the other 0.1 ms; both also have wake-ups.
    let requests = number(&comparisons[0], "/trace/requests");
    for (at, service_s) in [(0, 0.002), (1, 0.0001)] {
        let sum = number(&comparisons[0]["devices"][at], "/sum_u2c_s/min");
        assert!(requests > 10.0, "{requests}");
        assert!(sum >= requests * service_s, "{requests} in {sum} s");
    }
    let over = &result["overall"][0];
    assert_eq!([&over["device"], &over["with"]], [fast, slow]);
    let counts = ["/better", "/worse", "/alike", "/unknown"].map(|name| number(over, name));
    assert_eq!(counts.iter().sum::<f64>(), 4.0, "{over}");

    let says = report_text(folder.path(), &done);
    has_words(
        &says,
        " of 4 comparisons better,  | . Judged by sums of U2C | outstanding (blocks), idle time squeezed | what was in flight is taken from its timed replay on sim:2ms,servers=64",
    );
    let csv = folder.done("report told.json --csv");
    // One header, and 2 traces x 2 modes x 2 devices x 2 trials.
    assert_eq!(csv.lines().count(), 1 + 16);
    assert!(csv.starts_with("trace,mode,device,trial,"), "{csv}");
}
