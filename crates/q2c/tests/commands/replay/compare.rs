use super::*;

#[test]
fn devices_of_known_truth_are_compared() {
    let folder = Place::new();
    let trace = even_trace(folder.path());
    let trace = trace.to_str().unwrap();
    let (slow, fast) = ("sim:400us,servers=4", "sim:100us,servers=4");
    let compare = format!("compare {trace} {slow} {fast} --trials 3 --json --max-lateness 1s");
    let done = folder.q2c(&compare);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let result = only(&json(&done)).clone();
    let sum = entry(&result, "separations", "metric", "sum of U2C");
    let time = entry(&result, "separations", "metric", "completion time");
    assert_eq!(sum["separates"], true, "{result}");
    assert_eq!(time["separates"], false, "{result}");
    // The fast device has a quarter of the service time.
    assert_eq!(number(sum, "/ratio/ratio"), 0.25);
    let better = entry(&result, "verdict", "kind", "better");
    assert_eq!([&better["device"], &better["than"]], [fast, slow]);
    let expected_kinds = split("better time-cannot-tell few-to-be-sure sums-of-u2c");
    assert_eq!(kinds(&result), expected_kinds);
    let says = report_text(folder.path(), &done);
    let phrases = [
        &format!("{fast} serves this trace better"),
        "with 3 of each, two equal devices come apart like this in 10 %",
        "completion time cannot tell",
        "--mode outstanding leaves idle time out",
    ];
    has_words(&says, &phrases);

    let done = folder.q2c(format!("{compare} --mode outstanding"));
    let outstanding = only(&json(&done)).clone();
    // The trace has one request in flight for 100 us of every 2 ms, so it is idle for 95 %.
    let idles = entry(&outstanding, "verdict", "kind", "trace-idles");
    let share = number(idles, "/share");
    assert!((0.945..0.955).contains(&share) && idles["idle"] == "squeeze");
    let says = report_text(folder.path(), &done);
    has_words(
        &says,
        "leaves out the time with nothing in flight, 95 % of | --mode timed compares their sums of latencies",
    );
    let time = entry(&outstanding, "separations", "metric", "completion time");
    assert_eq!(time["separates"], true);
    // The replay does 500 requests of 400 us, one after the other.
    let completion = number(&outstanding, "/devices/0/completion_s/median");
    assert_eq!(completion, 0.2);
}

/// Half of the requests lie beyond the end of the smaller file. That file has less work, and must
/// not be called better for that.
#[test]
fn devices_that_do_not_do_the_same_work_are_not_compared() {
    timed(|| {
        let folder = Place::on_disk();
        folder.put("large.bin", vec![1; 4 << 20]);
        folder.put("small.bin", vec![1; 2 << 20]);
        let rows = (0..200).map(|n| (n * 500, 100, n * 5 % 1000));
        trace(folder.path(), rows);
        let how = "--offsets clip --trials 2 --json --max-lateness 1s --no-capture";
        let done = folder.q2c(format!("compare trace.parquet large.bin small.bin {how}"));
        if done.code == 5 && done.stderr.contains("direct") {
            return skip("no direct I/O on the folder of test files");
        }
        assert_eq!(kinds(only(&json(&done))), ["work-differs", "sums-of-u2c"]);
        let says = report_text(folder.path(), &done);
        has_words(&says, "did not do the same work");
        assert!(!says.contains("better"), "{says}");
        assert!(!done.stdout.contains("\"separates\": true"));
    });
}

/// Half of the trace's requests are writes, which are left out. So the answer covers only reads.
#[test]
fn an_answer_without_the_writes_says_reads_only() {
    let folder = Place::new();
    let mut text = "submit,took,offset,size,op\n".to_owned();
    for n in 0..100 {
        let op = ["read", "write"][n % 2];
        text += &format!("{},100,{},4096,{op}\n", n * 1000, n * 4096);
    }
    folder.put("mixed.csv", text);
    let how = format!("--writes skip --trials 2 --json --real-time --max-lateness 1s {CSV}");
    let compare = "compare mixed.csv sim:2ms,servers=4 sim:100us,servers=4";
    let done = folder.q2c(format!("{compare} {how}"));
    assert_eq!(done.code, 0, "{}", done.stderr);
    let result = json(&done);
    let reads = entry(only(&result), "verdict", "kind", "reads-only");
    assert_eq!(reads["writes"], 50);
    assert_eq!(reads["treatment"], "skip");
    let sums = entry(only(&result), "verdict", "kind", "sums-of-u2c");
    assert_eq!(sums["not_captured"]["no-disk"], "sim:2ms,servers=4");
    // The missing disk and the possible length of the run are reported before anything is replayed.
    let find = |phrase: &str| done.stderr.find(phrase);
    let place = |phrase: &str| find(phrase).unwrap_or_else(|| panic!("{}", done.stderr));
    let begins = place("run folder ");
    assert!(place("sim:2ms,servers=4 has no disk of the kernel's") < begins);
    assert!(place("if devices keep up with the trace") < place("2 cells x 2 trials"));
    let says = report_text(folder.path(), &done);
    has_words(
        &says,
        "sim:100us,servers=4 serves this trace better (reads only): its sum of U2C | reads only: 50 writes of the trace were left out | sim:2ms,servers=4 has no disk of the kernel's",
    );
}
