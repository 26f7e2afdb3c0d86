//! Tests of `q2c tune --from TRACE` and `q2c tune -- COMMAND`.

use crate::program::{run_q2c as run, *};

const SHORT: [&str; 5] = ["--seconds", "0.1", "--trials", "1", "--json"];

/// A folder on a disk: that of the build.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

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
    let import = format!(
        "trace import t.csv --out {name}.parquet --format csv --unit us --columns {columns}"
    );
    run(folder, &import).done();
}

/// Pairs of reads of 16 KiB, 100 us of every 200 us, and a write of 4 KiB with every tenth pair.
fn reads_and_writes(folder: &Path) {
    let pairs = (0..300).flat_map(|n| {
        let start = n * 200;
        let write = (n % 10 == 0).then_some((start + 10, 40, 4096, "write"));
        [(start, 100, 16_384, "read"); 2].into_iter().chain(write)
    });
    trace(folder, "mixed", pairs);
}

/// The whole way on a scratch file: pattern, workload, trials, likeness, worth, and the run read
/// back.
#[test]
fn a_trace_is_tuned_for_on_a_scratch_file() {
    let folder = folder();
    let at = folder.path();
    reads_and_writes(at);
    let arguments = ["tune", "--from", "mixed.parquet", "--scratch", "8m"];
    let ended = q2c(at, &[&arguments[..], &SHORT].concat());
    let said = "mixed.parquet: 630 reads and writes";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    let result = ended.json();
    let program = &result["program"];
    assert_eq!(number(program, "/pattern/ios"), 630.0);
    assert_eq!(program["pattern"]["layer"], "user");
    assert_eq!(number(program, "/pattern/kinds/0/in_flight/mean"), 2.0);
    assert_eq!(number(program, "/pattern/kinds/1/sizes/0/bytes"), 4096.0);
    assert_eq!(program["copied"]["sizes"], serde_json::json!([16_384]));
    let job = &result["job"];
    assert_eq!(job["rw"], "randread");
    assert_eq!(job["block_sizes"], program["copied"]["sizes"]);
    assert_eq!(job["jobs"], program["copied"]["jobs"]);
    let like = &program["likeness"][0];
    let figures = texts(like, "figures", "figure");
    assert_eq!(
        figures,
        ["in-flight", "size", "iops", "latency-p50", "latency-p99"]
    );
    assert_eq!(number(like, "/figures/4/program"), 100_000.0);
    let interrupt = result.list("cells").iter();
    let mut interrupt = interrupt.filter(|cell| cell["method"] == "interrupt");
    let measured = &interrupt.next().unwrap()["measured"];
    assert_eq!(
        number(like, "/figures/2/workload"),
        number(measured, "/iops/median")
    );
    let worth = &program["worth"][0];
    assert_eq!(worth["over"]["method"], "interrupt");
    assert!((number(worth, "/ios_share") - 600.0 / 630.0).abs() < 1e-6);
    is_kept(at, &result);
}

/// The run has the trace, is drawn again, and its scratch file is gone.
fn is_kept(at: &Path, result: &Value) {
    let run_folder = run_in(at);
    let name = run_folder.to_str().unwrap();
    let info = run(at, &format!("trace info {name}/program.parquet --json")).json();
    assert_eq!(number(&info, "/summary/records"), 630.0);
    let drawn = run(at, &format!("report {name}")).done();
    for text in [
        "worth to the program at 16 KiB",
        "not copied",
        "16 KiB: IOPS ",
    ] {
        assert!(drawn.contains(text), "{text}: {drawn}");
    }
    run(at, &format!("report {name} --html page.html")).done();
    let page = fs::read_to_string(at.join("page.html")).unwrap();
    assert!(page.contains("Program and workload"));
    let json = run(at, &format!("report {name} --json")).json();
    assert_eq!(json["program"]["copied"], result["program"]["copied"]);
    let kept = strict_json(&fs::read_to_string(run_folder.join("program.json")).unwrap());
    assert_eq!(kept["copied"], result["program"]["copied"]);
}

/// A recording of another tool is imported, and a simulated target is taken. The trace in the run
/// is a q2c trace of it.
#[test]
fn a_recording_of_another_tool_is_tuned_for() {
    let folder = folder();
    let at = folder.path();
    let rows = (0..200u64).map(|n| {
        let (time, offset) = (128_166_372_000_000_000 + n * 2_000, n * 7919 % 1000 * 8192);
        format!("{time},host,0,Read,{offset},8192,1000\n")
    });
    fs::write(at.join("msr.csv"), rows.collect::<String>()).unwrap();
    let arguments = ["tune", "sim:100us", "--from", "msr.csv"];
    let result = q2c(at, &[&arguments[..], &SHORT].concat()).json();
    assert_eq!(result["program"]["recording"]["source"], "msr");
    assert_eq!(number(&result, "/program/copied/sizes/0"), 8192.0);
    let kept = run_in(at).join("program.parquet");
    let info = run(at, &format!("trace info {} --json", kept.display())).json();
    assert_eq!(number(&info, "/summary/records"), 200.0);
}

/// Reads that take 100 us of every 300 us: the job thinks for 200 us, in the trials and in the
/// report that is drawn again. The histogram of think times has classes of less than 1 %.
#[test]
fn think_times_are_copied() {
    let folder = folder();
    let at = folder.path();
    trace(at, "thinks", (0..300).map(|n| (n * 300, 100, 4096, "read")));
    let arguments = ["tune", "sim:100us", "--from", "thinks.parquet"];
    let result = q2c(at, &[&arguments[..], &SHORT].concat()).json();
    let program = &result["program"];
    let think_ns = number(program, "/copied/think_ns");
    assert!((think_ns / 200e3 - 1.0).abs() < 0.01, "{think_ns}");
    assert_eq!(number(program, "/copied/jobs"), 1.0);
    assert!((number(&result, "/job/think_ns") - think_ns).abs() < 1.0);
    let like = &program["likeness"][0]["figures"];
    // One in flight for a third of the time, and 3,333 per second.
    assert!(
        (number(like, "/0/program") - 1.0 / 3.0).abs() < 0.01,
        "{like}"
    );
    assert!(
        (number(like, "/2/program") / 3_333.3 - 1.0).abs() < 0.01,
        "{like}"
    );
    // By interrupts an I/O of 100 us takes 3,600 ns more. Of 0.1 s, whole I/Os are counted.
    let workload = number(like, "/2/workload");
    let expected = 1e9 / (think_ns + 103_600.0);
    assert!(
        (workload / expected - 1.0).abs() < 0.005,
        "{workload}, expected {expected}"
    );
    let not_copied = program["copied"]["not_copied"].to_string();
    assert!(!not_copied.contains("think"), "{not_copied}");
    let run_folder = run_in(at);
    let drawn = run(at, &format!("report {}", run_folder.display())).done();
    for text in ["between its I/Os", "4 KiB: IOPS ", "think times included"] {
        assert!(drawn.contains(text), "{text}: {drawn}");
    }
    let plan = fs::read_to_string(run_folder.join("plan.toml")).unwrap();
    assert!(plan.contains("think_ns = "), "{plan}");
}

#[test]
fn jobs_on_a_scratch_file_think() {
    let folder = folder();
    let at = folder.path();
    let arguments = ["tune", "--scratch", "8m", "--think", "2ms"];
    let ended = q2c(at, &[&arguments[..], &SHORT].concat());
    let result = ended.json();
    assert_eq!(number(&result, "/job/think_ns"), 2e6);
    let cells = result.list("cells");
    for cell in cells {
        assert!(number(cell, "/measured/iops/median") < 510.0, "{cell}");
    }
    let drawn = run(at, &format!("report {}", run_in(at).display())).done();
    assert!(drawn.contains("2 ms between its I/Os"), "{drawn}");
}

/// dd does 400 direct reads of 32 KiB, which are tuned for. Commands that fail are told.
#[test]
fn a_command_is_recorded_and_tuned_for() {
    let folder = folder();
    let at = folder.path();
    let data: Vec<u8> = (0..16 << 20).map(|n: u32| ((n * 31) >> 3) as u8).collect();
    fs::write(at.join("file"), data).unwrap();
    fs::File::open(at.join("file")).unwrap().sync_all().unwrap();
    let dd = "dd if=file of=/dev/null bs=32k iflag=direct count=400";
    let command_line = format!("tune --scratch 8m --process dd {} -- {dd}", SHORT.join(" "));
    let ended = run(at, &command_line);
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
    assert!(run_in(at).join("program.parquet").exists());
    let shown = number(program, "/pattern/ios") + number(program, "/recording/lost");
    assert!(shown >= 390.0, "{program}");

    let cases = [
        "2 | tune -- ./no-such-program | start ./no-such-program",
        "2 | tune -- sh -c false | record sh: expected it to end with 0, found 1",
        "3 | tune --process true -- true | --record names another",
        "5 | tune --record /nowhere -- true | name the disk of the program's data by --record",
    ];
    refuses_in(at, &cases);
}
