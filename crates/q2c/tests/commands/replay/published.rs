use super::*;

/// The published comparison has two traces, replayed timed and outstanding on two devices. One of
/// the samples loads the devices briefly, the other leaves them idle; neither has completions.
#[test]
fn one_run_fills_the_published_tables() {
    let [web, tpcc] = ["sample:websearch", "sample:tpcc"].map(str::to_owned);
    let folder = Place::new();
    let (slow, fast) = ("sim:2ms,servers=64", "sim:100us,servers=64");
    let command_line =
        format!("compare {web} {tpcc} {slow} {fast} --mode timed,outstanding --trials 2 --json");
    let done = folder.q2c(&command_line);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let result = json(&done);
    // Another run differs in nothing but where and when it was.
    let without_provenance = |mut result: Value| {
        assert!(result["provenance"].take().is_object());
        result
    };
    let again = json(&folder.q2c(&command_line));
    assert!(without_provenance(again) == without_provenance(result.clone()));
    assert_eq!(result["schema"], "q2c.compare/4");
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
    // The trace never has 64 requests in flight on the fast device, which takes 0.1 ms for each.
    let sum = number(&comparisons[0]["devices"][1], "/sum_u2c_s/max");
    assert_eq!(sum, 2.4783);
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
