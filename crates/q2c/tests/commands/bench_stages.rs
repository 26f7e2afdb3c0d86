//! Tests of `q2c bench --stages`. Refusals are tested everywhere. A capture needs this machine's
//! disk and permission; otherwise the test is skipped and counted.

use crate::program::*;
use std::process::{Child, Command, Stdio};

const POINTS: &str =
    "--engine io_uring,null --method interrupt --jobs 1,2 --trials 1 --seconds 0.5 --warm-up 0.25";

/// Another program that reads a file of the disk all the time, until this value is dropped.
struct DiskReader(Child);

impl DiskReader {
    fn start(folder: &Path) -> DiskReader {
        fs::write(folder.join("other"), vec![7; 4 << 20]).unwrap();
        let file = fs::File::open(folder.join("other")).unwrap();
        file.sync_all().unwrap();
        // Only a few reads at a time, since other tests need the CPUs.
        let dd_arguments = split("if=other of=/dev/null bs=4k iflag=direct count=20");
        let script = "while :; do dd \"$@\" 2>/dev/null || exit; sleep 0.05; done";
        let child = Command::new("timeout")
            .args(["60", "sh", "-c", script, "sh"])
            .args(dd_arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .spawn();
        DiskReader(child.unwrap())
    }
}

impl Drop for DiskReader {
    /// `timeout` passes its signal on to the shell and to dd.
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        self.0.wait().ok();
    }
}

fn stages<'a>(result: &'a Value, engine: &str, jobs: u64) -> &'a Value {
    let mut cells = result.list("cells").iter();
    let cell = cells.find(|cell| cell["engine"] == engine && cell["jobs"] == jobs);
    &cell.unwrap_or_else(|| panic!("no {engine} {jobs}: {result:#}"))["stages"]
}

/// The hardware queues that the kernel shows for a device, `major:minor`.
fn queues_in_sysfs(device: &str) -> usize {
    fs::read_dir(format!("/sys/dev/block/{device}/mq")).map_or(0, Iterator::count)
}

/// The stages that make up Q2C add up to Q2C, and their shares to 1.
fn adds_up(run: &Value) {
    let sum = |stage: &str| match run["stages"].get(stage) {
        Some(figures) => number(figures, "/n") * number(figures, "/mean_ns"),
        None => 0.0,
    };
    let parts = ["Q2G", "G2I", "I2D", "G2D", "Q2M", "M2D", "D2C"].map(sum);
    let (parts_sum, whole) = (parts.iter().sum::<f64>(), sum("Q2C"));
    assert_near(parts_sum, whole, 0.01);
    let shares = run["bottleneck"]["shares"].as_object().unwrap().values();
    let shares: f64 = shares.map(|share| share.as_f64().unwrap()).sum();
    // The capture loses some events on a busy machine, so a hundredth is allowed.
    assert_near(shares, 1.0, 0.01);
    let (p50, p99) = ("/stages/D2C/p50_ns", "/stages/D2C/p99_ns");
    assert!(number(run, p50) > 0.0 && number(run, p99) >= number(run, p50));
}

/// The jobs count their own I/Os. The capture must have all of them, except lost ones and those at
/// the edges of the counted time, and none of another program.
fn has_the_jobs_ios(run: &Value) {
    let (ios, captured) = (number(run, "/ios"), number(run, "/captured"));
    let lost = number(run, "/lost") + number(run, "/not_kept");
    assert!(ios > 100.0, "{run:#}");
    assert!(captured <= ios * 1.1, "{run:#}");
    assert!(captured + lost >= ios * 0.85, "{run:#}");
}

/// The queues are the kernel's, and every request is a read in one of them.
fn has_the_kernels_queues(run: &Value) {
    if run["captured_by"] != "bpf" {
        assert_eq!(run["queues"], Value::Array(Vec::new()));
        return;
    }
    let device = &run["queues"][0];
    let queues = queues_in_sysfs(device["device"].as_str().unwrap());
    assert_eq!(number(device, "/queues"), queues as f64, "{device:#}");
    assert_eq!(device["writes"], Value::Null);
    let reads = device["reads"].list("queues");
    assert_eq!(reads.len(), queues);
    let sum: f64 = reads.iter().map(|queue| number(queue, "/requests")).sum();
    // An I/O merged into another request has no request of its own.
    let merged = run["stages"].get("Q2M");
    let merged = merged.map_or(0.0, |stage| number(stage, "/n"));
    assert_eq!(sum + merged, number(run, "/captured"));
    let misplaced = number(device, "/reads/map/misplaced");
    assert_eq!(misplaced, 0.0, "jobs are pinned: {device:#}");
}

/// Checks that stages are missing because the capture was refused, and skips the test.
fn skip_unseen(stages: &Value) {
    assert!(stages["unseen"]["refused"].is_string(), "{stages}");
    skip(&stages.to_string());
}

#[test]
fn each_number_of_jobs_has_its_stages() {
    let folder = Place::on_disk();
    let reader = DiskReader::start(folder.path());
    let ended = folder.q2c(format!("bench --scratch 16m --stages --json {POINTS}"));
    drop(reader);
    let result = ended.json();
    assert_eq!(result["job"]["stages"], true);
    // The null engine has no stages, and says why.
    for jobs in [1, 2] {
        assert_eq!(stages(&result, "null", jobs)["unseen"], "past-block-layer");
    }
    for jobs in [1, 2] {
        let job_stages = stages(&result, "io_uring", jobs);
        if !job_stages["unseen"].is_null() {
            return skip_unseen(job_stages);
        }
        let run = &job_stages["seen"];
        adds_up(run);
        has_the_jobs_ios(run);
        let others = number(run, "/others");
        assert!(others > 0.0, "the other program reads: {run:#}");
        has_the_kernels_queues(run);
    }
    is_read_back(&folder);
}

/// `q2c report` makes the table, the JSON and the page from the run's folder.
fn is_read_back(folder: &Place) {
    let run = folder.only_run();
    let report = |form: &str| folder.done(format!("report {} {form}", run.display()));
    let phrases =
        "stage | bottleneck of io_uring interrupt over the jobs: | with the capture beside it";
    has_words(&report(""), phrases);
    let json = strict_json(&report("--json"));
    let kept = strict_json(&folder.text(run.join("result.json")));
    assert_eq!(stages(&json, "io_uring", 2), stages(&kept, "io_uring", 2));
    report("--html again.html");
    has_words(&folder.text("again.html"), "data-chart=\"stages-0-0\"");
}

/// The background's threads belong to the same program, and its I/Os go to the same disk. They are
/// still separated from the job's, and each phase has the I/Os of its own time.
#[test]
fn a_background_is_not_in_the_stages() {
    let folder = Place::on_disk();
    let command_line = "bench --scratch 16m --stages --json --engine io_uring --method interrupt \
                 --trials 1 --seconds 0.5 --warm-up 0.25 --phases --background none \
                 --background rw=randread,bs=16k,depth=2";
    let result = folder.json(command_line);
    let cells = result.list("cells");
    assert_eq!(cells.len(), 2);
    if !cells[0]["stages"]["unseen"].is_null() {
        return skip_unseen(&cells[0]["stages"]);
    }
    let runs = [&cells[0]["stages"]["seen"], &cells[1]["stages"]["seen"]];
    for run in runs {
        adds_up(run);
        has_the_jobs_ios(run);
    }
    // The background has two requests in flight beside the job's one.
    let [_alone, beside] = runs.map(|run| number(run, "/others"));
    assert!(beside > 100.0, "{result:#}");
}
