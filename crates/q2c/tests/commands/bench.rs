//! Tests of `q2c bench` on devices whose speed is known.

use crate::program::*;

fn bench(more: &str) -> CommandOutcome {
    let short = "--seconds 1 --warm-up 0.25 --trials 2";
    Place::new().q2c(format!("bench {more} {short}"))
}

fn cell<'a>(result: &'a Value, method: &str, jobs: u64, depth: u64) -> &'a Value {
    let mut cells = result.list("cells").iter();
    let is_cell = |c: &&Value| c["method"] == method && c["jobs"] == jobs && c["depth"] == depth;
    let cell = cells.find(is_cell);
    cell.unwrap_or_else(|| panic!("no {method} {jobs} {depth}: {result:#}"))
}

/// The device serves two requests at once, 5 ms each: 200 per second with one in flight. With two
/// or more in flight, by one job or several, it serves 400. An I/O takes 3,600 ns more, 2,087 of
/// them on the CPU of its job.
#[test]
fn throughput_is_that_of_the_device() {
    let axes = "--jobs 1,2,4 --depth 1,2,4 --method interrupt";
    let result = bench(&format!("sim:5ms,servers=2 --json {axes}")).json();
    assert_eq!(result["schema"], "q2c.bench/5");
    assert_eq!(result.list("cells").len(), 9);
    let points = [
        (1, 1, 200.0),
        (1, 2, 400.0),
        (1, 4, 400.0),
        (2, 1, 400.0),
        (4, 2, 400.0),
    ];
    for (jobs, depth, wanted) in points {
        let cell = cell(&result, "interrupt", jobs, depth);
        let iops = number(cell, "/iops/median");
        assert_near(iops, wanted, 0.003);
        let little = jobs as f64 * depth as f64 / iops * 1e9;
        assert_near(number(cell, "/lat_ns/mean/median"), little, 0.003);
        assert_eq!(cell["iops"]["trials"], 2);
        assert_eq!(cell["effective_mode"]["kind"], "interrupt");
        assert!(number(cell, "/lat_ns/p99/median") >= number(cell, "/lat_ns/p50/median"));
        if depth == 1 {
            assert_near(number(cell, "/cpu/job_s/median"), iops * 2_087e-9, 1e-6);
        }
    }
    let curves = result.list("scaling");
    assert_eq!(curves.len(), 3, "one per depth");
    assert_eq!(curves[0]["peak"], 4);
    assert_eq!(curves[0]["collapse"], Value::Null);
    has_words(curves[0]["refused"].as_str().unwrap(), "point");
}

/// The kind of requests named so of a cell or a `measured`.
fn kind<'a>(kinds: &'a Value, op: &str) -> &'a Value {
    let mut kinds = kinds["kinds"].as_array().expect("kinds").iter();
    kinds.find(|kind| kind["op"] == op).expect(op)
}

/// One job with one I/O in flight: by Little's law IOPS x mean latency is 1, but for 600 ns of its
/// own between two I/Os. Of 300 draws or more, 70 % read, and no share is three deviations off.
#[test]
fn a_mix_reads_and_writes_in_its_shares() {
    let device = "sim:3ms,write=1ms";
    let result = bench(&format!(
        "{device} --rw randrw:70,rw:70 --method poll --json"
    ))
    .json();
    for cell in result.list("cells") {
        let figure = |op, path| number(kind(cell, op), path);
        let (iops, mean) = ("/iops/median", "/lat_ns/mean/median");
        let [reads, writes] = ["read", "write"].map(|op| figure(op, iops));
        assert_near(reads + writes, number(cell, iops), 1e-9);
        let ios = 2.0 * (reads + writes);
        let deviation = (0.7 * 0.3 / ios).sqrt();
        assert!((reads / (reads + writes) - 0.7).abs() < 3.0 * deviation);
        let [read_ns, write_ns] = ["read", "write"].map(|op| figure(op, mean));
        assert_near(read_ns - write_ns, 2e6, 1e-6);
        assert_near((reads * read_ns + writes * write_ns) / 1e9, 1.0, 0.01);
    }
    assert_eq!(result.list("cells").len(), 2);
}

/// A flush follows each second write, takes the device as long as a write, and is no I/O.
#[test]
fn flushes_count_by_themselves() {
    let device = "sim:3ms,write=1ms";
    let result = bench(&format!(
        "{device} --rw write:fdatasync=2 --method poll --json"
    ))
    .json();
    let cell = &result.list("cells")[0];
    let figure = |op, path| number(kind(cell, op), path);
    let iops = number(cell, "/iops/median");
    assert_near(iops, 2.0 / 3e-3, 0.01);
    assert_near(figure("write", "/iops/median"), iops, 1e-9);
    assert_near(figure("flush", "/iops/median"), iops / 2.0, 0.01);
    assert_near(figure("flush", "/lat_ns/mean/median"), 1e6, 0.01);
    assert_eq!(cell["kinds"].as_array().map(Vec::len), Some(2), "no reads");
    refuses(&[
        "2 | bench sim:1ms --rw write:fdatasync=1 --depth 2 --method poll | one request in flight",
        "2 | bench sim:1ms --rw randwrite:70 | after it `:70` (percent of reads in a mix)",
        "2 | tune sim:1ms --rw write:fdatasync=1 | q2c bench measures them",
    ]);
}

/// Linux's rule has buckets by direction, so reads sleep longer than writes: neither misses, though
/// half of a read's time is more than a write takes.
#[test]
fn rules_sleep_by_direction() {
    let device = "sim:300us,write=60us";
    let rule = "--method hybrid:mean:50%,100ms,hybrid:fixed:150us";
    let result = bench(&format!("{device} --rw randrw:50 {rule} --json")).json();
    let missed = |cell: usize, op| {
        let cell = &result.list("cells")[cell];
        number(kind(cell, op), "/miss_rate/median")
    };
    assert!(missed(0, "read") < 0.01 && missed(0, "write") < 0.01);
    assert!(missed(1, "read") == 0.0 && missed(1, "write") == 1.0);
}

/// All jobs share a device. On one server four jobs have the IOPS of one job, and on four servers
/// four times as many.
#[test]
fn jobs_share_the_servers_of_their_device() {
    for (servers, wanted) in [(1, 200.0), (4, 800.0)] {
        let axes = "--jobs 1,4 --depth 1 --method interrupt";
        let result = bench(&format!("sim:5ms,servers={servers} --json {axes}")).json();
        let iops = |jobs| number(cell(&result, "interrupt", jobs, 1), "/iops/median");
        assert_near(iops(1), 200.0, 0.001);
        assert_near(iops(4), wanted, 0.001);
    }
}

/// A device takes its times from a recording: U2C of 1 and 3 ms, which are drawn equally often.
#[test]
fn a_device_has_the_times_of_a_recording() {
    let folder = Place::with_file("times.txt", "1000\n3000\n".repeat(250));
    let device = "sim:trace=times.txt,unit=us,servers=2";
    let long = "--seconds 20 --warm-up 0.25 --trials 1";
    let how = format!("bench {device} --method interrupt --json");
    let ended = folder.q2c(format!("{how} {long}"));
    has_words(&ended.stderr, "service times: U2C of 500 recorded I/Os");
    let result = ended.json();
    let times = &result["target"]["service_times"];
    assert_eq!(times["measure"], "u2c");
    let class = json!({
        "direction": "read", "from_sectors": 8, "recorded": 500, "kept": 500, "median_ns": 1_000_000,
    });
    assert_eq!(times["classes"], json!([class]));
    let cell = cell(&result, "interrupt", 1, 1);
    // The mean of 10,000 draws of 1 or 3 ms is 2 ms, with a standard error of 10 us.
    assert_near(number(cell, "/lat_ns/mean/median"), 2e6, 0.025);
    assert_near(number(cell, "/lat_ns/p99/median"), 3_003_000.0, 0.01);
    let again = format!("report {} --html again.html", folder.only_run().display());
    folder.done(again);
    has_words(&folder.text("again.html"), "U2C of 500 recorded I/Os");
    let cases = [
        "3 | bench sim:trace=times.txt --method interrupt | times.txt | unit",
        "3 | bench sim:trace=nowhere.parquet --method interrupt | nowhere.parquet",
        "3 | bench sim:trace=times.txt,unit=us,time=d2c --method interrupt | D2C",
        "2 | bench sim:trace=times.txt,unt=us --method interrupt | the nearest is unit",
    ];
    refuses_in(folder.path(), &cases);
}

/// The sleep of 4 ms ends 2,500 ns late; a look of 50 ns and a submission of 500 ns are added.
#[test]
fn a_rule_that_sleeps_too_long_misses_and_polling_takes_the_cpu() {
    let result = bench("sim:2ms --method poll,hybrid:fixed:4ms --json").json();
    let rule = result["cells"][1]["method"].as_str().unwrap();
    let (poll, hybrid) = (cell(&result, "poll", 1, 1), cell(&result, rule, 1, 1));
    assert_eq!(number(poll, "/cpu/job_s/median"), 1.0);
    assert_eq!(poll["miss_rate"], Value::Null);
    assert_eq!(number(hybrid, "/miss_rate/median"), 1.0);
    assert_eq!(number(hybrid, "/lat_ns/p50/median"), 4_003_050.0);
    assert_eq!(hybrid["effective_mode"]["kind"], "hybrid");
}

#[test]
fn points_that_do_not_exist_are_told() {
    let result = bench("sim:5ms --method interrupt,sqpoll --json").json();
    assert_eq!(result.list("cells").len(), 1);
    let left = &result["left_out"][0];
    assert_eq!(left["method"], "sqpoll");
    has_words(&left["reason"].to_string(), "no sqpoll");
}

/// A device fails its 100th request. The trial then has a reason, but no figures.
#[test]
fn a_failed_request_leaves_no_number() {
    let engines = "--engine fault:eio@100:sim:2ms,sim:2ms";
    let result = bench(&format!("sim:2ms {engines} --method interrupt --json")).json();
    let cell = &result["cells"][0];
    assert_eq!(cell["iops"]["trials"], 0, "{cell:#}");
    has_words(cell["failures"][0].as_str().unwrap(), "Input/output error");
    assert_eq!(result["cells"][1]["iops"]["trials"], 2);
}

/// Runs a benchmark up to four times, until `share` finds more than `least` of a CPU in it. Other
/// programs may use this machine. After the fourth run the test is skipped and counted.
fn with_a_cpu(args: &str, least: f64, share: impl Fn(&Value) -> f64) -> Option<Value> {
    let mut shares = Vec::new();
    for _ in 0..4 {
        let result = bench(args).json();
        let got = share(&result);
        if got > least {
            return Some(result);
        }
        shares.push(got);
    }
    // Other programs take a share of a CPU, but never all of it four times.
    assert!(shares.iter().any(|got| *got > 0.02), "{shares:?} of a CPU");
    let reason = format!("others are at work: {shares:.2?} of a CPU were had, {least} are needed");
    skip(&reason);
    None
}

/// The kernel thread of a ring spins beside its job. Its time is part of the job's cost, although
/// the CPU time of the job's own thread does not contain it.
#[test]
fn the_kernel_thread_of_sqpoll_is_charged() {
    timed(|| {
        let args = "--scratch 4m --engine io_uring --method interrupt,sqpoll --json";
        let helper = |result: &Value| number(cell(result, "sqpoll", 1, 1), "/cpu/helper_s/median");
        let Some(result) = with_a_cpu(args, 0.15, helper) else {
            return;
        };
        let [interrupt, sqpoll] = ["interrupt", "sqpoll"].map(|by| cell(&result, by, 1, 1));
        assert_eq!(sqpoll.list("failures").len(), 0, "{sqpoll:#}");
        assert_eq!(number(interrupt, "/cpu/helper_s/median"), 0.0);
        // The thread never rests, but it shares the machine with all other programs.
        let helper = number(sqpoll, "/cpu/helper_s/median");
        assert!(helper < 1.1, "{helper} CPUs");
        let cpus = |name: &str| number(sqpoll, &format!("/cpu/{name}/median"));
        let (busy, job) = (cpus("busy_s"), cpus("job_s"));
        assert!(busy > 0.8 * (helper + job), "{busy} {helper} {job}");
        let proof = sqpoll["effective_mode"].list("proof");
        let threads = json!({ "sqpoll-threads": 1 });
        assert!(proof.contains(&threads), "{proof:?}");
    });
}

#[test]
fn a_run_can_be_drawn_again() {
    let folder = Place::new();
    let short = "--seconds 1 --warm-up 0.25 --trials 1";
    let printed = folder.q2c(format!("bench sim:5ms --jobs 1,2 {short}"));
    let printed = printed.done();
    has_words(&printed, "4 KiB randread, depth 1 | KIOPS/core");
    let result = folder.json(format!("report {} --json", folder.only_run().display()));
    let Reports { table, csv, page } = folder.reports(folder.only_run(), &result);
    assert_eq!(table, printed);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 1 + result.list("cells").len());
    let column = lines[0].split(',').position(|name| name == "iops").unwrap();
    let first: f64 = lines[1].split(',').nth(column).unwrap().parse().unwrap();
    assert_eq!(first, number(&result["cells"][0], "/iops/median"));
    has_words(&page, "Over the number of jobs | sim:5ms interrupt");
}

/// A job with eight requests in flight sleeps for the oldest request. Requests that complete
/// meanwhile never slept. The miss rate covers all requests, and the share that slept is printed
/// with it. At depth 1 all requests sleep, and no share is printed.
#[test]
fn a_miss_rate_says_how_many_ios_slept() {
    let device = "sim:2ms,servers=8 --method hybrid:fixed:1ms --depth 1,8";
    let result = bench(&format!("{device} --json")).json();
    let share = |depth| {
        let cell = cell(&result, "hybrid:fixed:sleep=1ms", 1, depth);
        number(cell, "/slept_share/median")
    };
    assert_eq!(share(1), 1.0);
    assert_near(share(8), 1.0 / 8.0, 0.01);
    let text = bench(device).done().replace("\n ", "");
    assert_eq!(text.matches("of all I/Os, of which").count(), 1, "{text}");
}

#[test]
fn lines_about_trials_have_a_unit() {
    let finished = bench("sim:5ms --method interrupt");
    let mut lines = finished.stderr.lines();
    let took = lines.find(|line| line.contains(": took "));
    assert!(took.unwrap().contains(" IOPS ("), "{took:?}");
}

/// Of 201 points a coarse grid is measured, then the points next to the knee, if the budget allows,
/// which it does not here. Every other point is named, and the report can read the result.
#[test]
fn of_very_many_points_not_all_are_measured() {
    let folder = Place::new();
    let axes = "--jobs 1..201 --method interrupt";
    let short = "--seconds 0.25 --warm-up 0.2 --trials 1";
    let target = "bench sim:1ms,servers=4 --json --budget 3s";
    let finished = folder.q2c(format!("{target} {axes} {short}"));
    has_words(&finished.stderr, "a coarse grid is measured first");
    let result = finished.json();
    let jobs = |list: &str| -> Vec<u64> {
        let points = result.list(list).iter();
        points.map(|p| p["jobs"].as_u64().unwrap()).collect()
    };
    let (cells, others) = (jobs("cells"), jobs("not_measured"));
    assert_eq!(cells, [1, 29, 58, 86, 115, 143, 172, 201]);
    let mut job_counts = [cells, others].concat();
    job_counts.sort_unstable();
    assert_eq!(job_counts, (1..=201).collect::<Vec<u64>>());
    let warnings = result.list("warnings");
    assert!(warnings.iter().any(|w| w["id"] == "search-cut"));
    let report = folder.q2c(format!("report {}", folder.only_run().display()));
    has_words(&report.done(), "193 of 201 points");
}
