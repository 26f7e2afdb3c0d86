//! Tests of `q2c tune --from TRACE` and `q2c tune -- COMMAND`.

use crate::program::*;

const SHORT: &str = "--seconds 0.1 --trials 1 --json";

/// Makes the trace `NAME.parquet`. A row has start and latency (us), size and operation.
pub(crate) fn trace(
    folder: &Path,
    name: &str,
    rows: impl Iterator<Item = (u64, u64, u64, &'static str)>,
) {
    let mut text = "submit,took,offset,size,op\n".to_owned();
    for (n, (start, latency, size, op)) in rows.enumerate() {
        let offset = n * 7919 % 1000 * 65_536;
        text += &format!("{start},{latency},{offset},{size},{op}\n");
    }
    fs::write(folder.join("t.csv"), text).unwrap();
    let columns = "submit_ns=submit,latency=took,offset=offset,bytes=size,op=op";
    let import = format!("trace import t.csv --out {name}.parquet --format csv --unit us");
    run_q2c(folder, &format!("{import} --columns {columns}")).done();
}

/// Pairs of 16 KiB reads, busy 100 us of every 200 us; each tenth pair has a write of 4 KiB.
fn reads_and_writes(folder: &Path) {
    let pairs = (0..300).flat_map(|n| {
        let start = n * 200;
        let write = (n % 10 == 0).then_some((start + 10, 40, 4096, "write"));
        [(start, 100, 16_384, "read"); 2].into_iter().chain(write)
    });
    trace(folder, "mixed", pairs);
}

/// All steps on a scratch file: pattern, workload, trials, likeness, worth, and reading the run
/// back.
#[test]
fn a_trace_is_tuned_for_on_a_scratch_file() {
    let folder = Place::on_disk();
    reads_and_writes(folder.path());
    let ended = folder.q2c(format!("tune --from mixed.parquet --scratch 8m {SHORT}"));
    has_words(&ended.stderr, "mixed.parquet: 630 reads and writes");
    let result = ended.json();
    let program = &result["program"];
    assert_eq!(number(program, "/pattern/ios"), 630.0);
    assert_eq!(program["pattern"]["layer"], "user");
    assert_eq!(number(program, "/pattern/kinds/0/in_flight/mean"), 2.0);
    assert_eq!(number(program, "/pattern/kinds/1/sizes/0/bytes"), 4096.0);
    assert_eq!(program["copied"]["sizes"], json!([16_384]));
    let job = &result["job"];
    assert_eq!(job["rw"], "randread");
    assert_eq!(job["block_sizes"], program["copied"]["sizes"]);
    assert_eq!(job["jobs"], program["copied"]["jobs"]);
    let like = &program["likeness"][0];
    let figures = texts(like, "figures", "figure");
    let wanted = split("in-flight size iops latency-p50 latency-p99");
    assert_eq!(figures, wanted);
    assert_eq!(number(like, "/figures/4/program"), 100_000.0);
    let interrupt = entry(&result, "cells", "method", "interrupt");
    let measured = number(interrupt, "/measured/iops/median");
    assert_eq!(number(like, "/figures/2/workload"), measured);
    let worth = &program["worth"][0];
    assert_eq!(worth["over"]["method"], "interrupt");
    assert_close(number(worth, "/ios_share"), 600.0 / 630.0);
    is_kept(&folder, &result);
}

/// The run has the trace and can be drawn again, and its scratch file is gone.
fn is_kept(folder: &Place, result: &Value) {
    let run = folder.only_run();
    let name = run.display();
    let info = folder.json(format!("trace info {name}/program.parquet --json"));
    assert_eq!(number(&info, "/summary/records"), 630.0);
    let report = |form: &str| folder.done(format!("report {name} {form}"));
    let phrases = "worth to the program at 16 KiB | not copied | 16 KiB: IOPS ";
    has_words(&report(""), phrases);
    report("--html page.html");
    has_words(&folder.text("page.html"), "Program and workload");
    let json = strict_json(&report("--json"));
    assert_eq!(json["program"]["copied"], result["program"]["copied"]);
    let kept = strict_json(&folder.text(run.join("program.json")));
    assert_eq!(kept["copied"], result["program"]["copied"]);
}

/// A recording of another tool is imported, and the target may be simulated. The run keeps the
/// recording as a q2c trace.
#[test]
fn a_recording_of_another_tool_is_tuned_for() {
    let folder = Place::on_disk();
    let rows = (0..200u64).map(|n| {
        let (time, offset) = (128_166_372_000_000_000 + n * 2_000, n * 7919 % 1000 * 8192);
        format!("{time},host,0,Read,{offset},8192,1000\n")
    });
    folder.put("msr.csv", rows.collect::<String>());
    let result = folder.json(format!("tune sim:100us --from msr.csv {SHORT}"));
    assert_eq!(result["program"]["recording"]["source"], "msr");
    assert_eq!(number(&result, "/program/copied/sizes/0"), 8192.0);
    let kept = folder.only_run().join("program.parquet");
    let info = folder.json(format!("trace info {} --json", kept.display()));
    assert_eq!(number(&info, "/summary/records"), 200.0);
}

/// Reads that take 100 us of every 300 us. The job thinks for 200 us, in the trials and in the
/// report drawn again. Classes in the histogram of think times are less than 1 % wide.
#[test]
fn think_times_are_copied() {
    let folder = Place::on_disk();
    let rows = (0..300).map(|n| (n * 300, 100, 4096, "read"));
    trace(folder.path(), "thinks", rows);
    let result = folder.json(format!("tune sim:100us --from thinks.parquet {SHORT}"));
    let program = &result["program"];
    let think_ns = number(program, "/copied/think_ns");
    assert_near(think_ns, 200e3, 0.01);
    assert_eq!(number(program, "/copied/jobs"), 1.0);
    assert!((number(&result, "/job/think_ns") - think_ns).abs() < 1.0);
    let like = &program["likeness"][0]["figures"];
    // One read is in flight for a third of the time, with 3,333 per second.
    assert_near(number(like, "/0/program"), 1.0 / 3.0, 0.03);
    assert_near(number(like, "/2/program"), 3_333.3, 0.01);
    // By interrupts an I/O of 100 us takes 3,600 ns more. In 0.1 s, whole I/Os are counted.
    let expected = 1e9 / (think_ns + 103_600.0);
    assert_near(number(like, "/2/workload"), expected, 0.005);
    let not_copied = program["copied"]["not_copied"].to_string();
    assert!(!not_copied.contains("think"), "{not_copied}");
    let drawn = folder.q2c(format!("report {}", folder.only_run().display()));
    let phrases = "between its I/Os | 4 KiB: IOPS  | think times included";
    has_words(&drawn.done(), phrases);
    let plan = folder.text(folder.only_run().join("plan.toml"));
    has_words(&plan, "think_ns = ");
}

#[test]
fn jobs_on_a_scratch_file_think() {
    let folder = Place::on_disk();
    let result = folder.json(format!("tune --scratch 8m --think 2ms {SHORT}"));
    assert_eq!(number(&result, "/job/think_ns"), 2e6);
    for cell in result.list("cells") {
        assert!(number(cell, "/measured/iops/median") < 510.0, "{cell}");
    }
    let drawn = folder.q2c(format!("report {}", folder.only_run().display()));
    has_words(&drawn.done(), "2 ms between its I/Os");
}

/// dd does 400 direct reads of 32 KiB, for which q2c tunes. A failed command is reported.
#[test]
fn a_command_is_recorded_and_tuned_for() {
    let folder = Place::on_disk();
    let data: Vec<u8> = (0..16 << 20).map(|n: u32| ((n * 31) >> 3) as u8).collect();
    folder.put_synced("file", data);
    let dd = "dd if=file of=/dev/null bs=32k iflag=direct count=400";
    let ended = folder.q2c(format!("tune --scratch 8m --process dd {SHORT} -- {dd}"));
    if ended.code == 4 || ended.code == 5 {
        skip(ended.stderr.trim());
        return;
    }
    let result = ended.json();
    let program = &result["program"];
    assert_eq!(program["recording"]["command"][0], "dd");
    assert_eq!(program["pattern"]["layer"], "block");
    assert_eq!(number(program, "/copied/sizes/0"), 32_768.0);
    assert_eq!(program["copied"]["random"], false);
    assert_eq!(number(program, "/copied/jobs"), 1.0);
    assert_eq!(program["pattern"]["submitters"][0]["name"], "dd");
    assert!(folder.only_run().join("program.parquet").exists());
    let shown = number(program, "/pattern/ios") + number(program, "/recording/lost");
    assert!(shown >= 390.0, "{program}");

    let cases = [
        "2 | tune -- ./no-such-program | start ./no-such-program",
        "2 | tune -- sh -c false | record sh: expected it to end with 0, found 1",
        "3 | tune --process true -- true | --record names another",
        "5 | tune --record /nowhere -- true | name the disk of the program's data by --record",
    ];
    refuses_in(folder.path(), &cases);
}
