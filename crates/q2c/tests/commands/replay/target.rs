use super::*;

#[test]
fn a_request_that_fails_stops_the_replay_or_is_counted() {
    let folder = Place::new();
    let trace = even_trace(folder.path());
    let trace = trace.to_str().unwrap();
    let target = "fault:eio@100:sim:50us";
    let replay = format!("replay {trace} {target} --json --max-lateness 1s");
    let stopped = folder.q2c(&replay);
    assert_eq!(stopped.code, 6, "{}", stopped.stderr);
    let result = json(&stopped);
    assert_eq!(result["errors"], 1);
    assert_eq!(result["complete"], false);
    let first = result["first_error"].as_str().unwrap();
    has_words(first, "request 99 | Input/output error");
    let went_on = folder.q2c(format!("{replay} --on-error go-on"));
    let result = json(&went_on);
    assert_eq!(went_on.code, 6);
    let figures = ["issued", "errors", "valid"].map(|figure| result[figure].clone());
    assert_eq!(figures, [json!(500), json!(1), json!(false)]);
}

#[test]
fn writes_are_read_unless_the_target_is_named_again() {
    let folder = Place::on_disk();
    let target = folder.path().join("target.bin");
    let before: Vec<u8> = (0..1u32 << 20).map(|n| (n * 31 % 251) as u8).collect();
    fs::write(&target, &before).unwrap();
    let target = target.to_str().unwrap();
    let mut text = "submit,offset,size,op\n".to_owned();
    // The offsets span twice the target's size, so half of the requests wrap to its start.
    (0..512).for_each(|n| text += &format!("{},{},4096,write\n", n * 100, n * 4096));
    folder.put("writes.csv", text);
    let command_line = format!("replay writes.csv {target} {NO_ENDS} --json --max-lateness 1s");
    let read = folder.q2c(&command_line);
    if read.code == 5 && read.stderr.contains("direct") {
        return skip("no direct I/O on the folder of test files");
    }
    assert_eq!(read.code, 0, "{}", read.stderr);
    let changed = &json(&read)["changed"];
    assert_eq!(changed["write-read"].as_u64(), Some(512), "{changed}");
    assert_eq!(changed["modulo"].as_u64(), Some(256), "{changed}");
    assert_eq!(fs::read(target).unwrap(), before, "untouched");
    let refused = folder.q2c(format!("{command_line} --writes allow"));
    assert_eq!(refused.code, 5, "{}", refused.stderr);
    assert_eq!(fs::read(target).unwrap(), before, "untouched");
    let written = folder.q2c(format!("{command_line} --allow-write {target}"));
    assert_eq!(written.code, 0, "{}", written.stderr);
    let after = fs::read(target).unwrap();
    let blocks = before.chunks(4096).zip(after.chunks(4096));
    assert_eq!(after.len(), before.len());
    let same = blocks.filter(|(a, b)| a == b).count();
    assert_eq!(same, 0, "every block was written");
}

/// Requests of a device go to the target that `--map` names. Devices without a target are left out
/// and counted.
#[test]
fn devices_are_mapped_to_targets() {
    let folder = Place::new();
    // A row of DiskSim: time in ns, device, block, number of blocks, and 1 for a read.
    let text: String = (0..300)
        .map(|n| format!("{} {} {} 8 1\n", n * 100_000, n % 3, n * 8))
        .collect();
    folder.put("two.trace", text);
    let arguments = "two.trace --format disksim --unit ns --map 1:0=sim:100us --map 1:2=null";
    let result = replayed(folder.path(), arguments);
    assert_eq!(texts(&result, "targets", "path"), ["sim:100us", "null"]);
    assert_eq!(result["issued"].as_u64(), Some(200));
    assert_eq!(result["changed"]["no-target"].as_u64(), Some(100));
    // One target gets 100 requests of 100 us; the other one takes almost no time.
    let sum = number(&result, "/sum_u2c_s");
    assert!((0.01..1.0).contains(&sum), "{result}");
    // Only one of the targets could be simulated.
    let stderr = folder
        .q2c(format!("replay {arguments} --part 0s..1ms"))
        .stderr;
    has_words(
        &stderr,
        "sim:100us takes its requests in real time | null is not",
    );
}

#[test]
fn a_target_is_written_before_each_trial_where_that_is_asked_for_and_allowed() {
    let folder = Place::on_disk();
    let target = folder.path().join("target.bin");
    fs::write(&target, vec![0xaa; 1 << 20]).unwrap();
    let target = target.to_str().unwrap();
    let trace = even_trace(folder.path());
    let trace = trace.display();
    let command_line = format!(
        "replay {trace} {target} --part 0s..0.1s --precondition sequential --json --max-lateness 1s"
    );
    let refused = folder.q2c(&command_line);
    assert_eq!(refused.code, 5, "{}", refused.stderr);
    if refused.stderr.contains("direct") {
        return skip("no direct I/O on the folder of test files");
    }
    let old = |byte: &u8| *byte == 0xaa;
    assert!(fs::read(target).unwrap().iter().all(old), "untouched");
    let done = folder.q2c(format!("{command_line} --allow-write {target}"));
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert_eq!(json(&done)["job"]["precondition"], "sequential");
    let after = fs::read(target).unwrap();
    let mut blocks = after.chunks(4096);
    assert_eq!(after.len(), 1 << 20);
    assert!(!blocks.any(|block| block.iter().all(old)));
}

/// Only the requests of one of two alternating processes are replayed, and the result says so.
#[test]
fn one_process_is_replayed_alone() {
    let folder = Place::new();
    let rows = (0..200).map(|n| {
        let (comm, pid) = if n % 4 == 0 { ("db", 7) } else { ("backup", 9) };
        let (begin, end, offset) = (n * 1000, n * 1000 + 50, n * 4096);
        format!("{begin},{end},{offset},4096,read,{comm},{pid}\n")
    });
    let head = "submit_ns,reap_ns,offset,bytes,op,comm,pid\n";
    let text = head.to_owned() + &rows.collect::<String>();
    folder.put("in.csv", text);
    let command_line = "replay in.csv null --format csv --unit us --json --max-lateness 1s";
    for process in ["db", "7"] {
        let done = folder.q2c(format!("{command_line} --process {process}"));
        let result = json(&done);
        assert_eq!(done.code, 0, "{}", done.stderr);
        assert_eq!(result["issued"].as_u64(), Some(50), "{result}");
        assert_eq!(result["trace"]["requests"].as_u64(), Some(50), "{result}");
        assert_eq!(result["job"]["process"], process);
        let said = report_text(folder.path(), &done);
        let only = format!("only requests of process {process}");
        assert!(said.contains(&only), "{said}");
    }
    // Times of `--part` count from the trace's first request.
    let part = folder.q2c(format!("{command_line} --process 9 --part 0s..100ms"));
    assert_eq!(json(&part)["issued"].as_u64(), Some(75), "{}", part.stderr);
    let none = folder.q2c(format!("{command_line} --process fio"));
    none.refused(3, "find process fio in in.csv | backup (9), db (7)");
}
