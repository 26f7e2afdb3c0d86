//! Tests of `q2c analyze --live`. Refusals are tested everywhere. A capture needs permission;
//! otherwise the test is skipped and counted.

use crate::program::*;
use crate::terminal::Terminal;
use q2c_testkit::strict_metrics;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// A shell command that reads a file of 4 MiB twenty times, with pauses; its I/O is captured.
const READER: &str = "i=0; while [ $i -lt 20 ]; do dd if=file of=/dev/null bs=16k iflag=direct 2>/dev/null; i=$((i + 1)); sleep 0.1; done";

/// A folder on a disk, with the file that is read.
fn folder() -> Place {
    let folder = Place::on_disk();
    folder.put_synced("file", vec![7; 4 << 20]);
    folder
}

/// With BPF and with tracefs, lines are printed while a command runs, and then the analysis of the
/// whole capture.
#[test]
fn a_line_for_each_interval_and_the_whole() {
    let folder = folder();
    for by in ["bpf", "tracefs"] {
        let live = format!("analyze --live file --by {by} --op read --interval 500ms");
        let ended = folder.q2c(format!("{live} -- sh -c '{READER}'"));
        if ended.code == 4 || ended.code == 5 {
            skip(ended.stderr.trim());
            continue;
        }
        let text = ended.done();
        let (lines, whole) = text.split_once("file \u{b7}").unwrap_or((&text, ""));
        let shown = lines.lines().filter(|line| line.contains("D2C ")).count();
        assert!(shown >= 3, "{text}");
        has_words(lines, "IOPS");
        has_words(whole, "most time:");
    }
}

/// A line for each interval with its histogram and processes, then the whole as the last line.
#[test]
fn json_is_a_line_for_each_interval_and_the_whole() {
    let folder = folder();
    let live = "analyze --live file --op read --max-size 16k --interval 300ms --json";
    let ended = folder.q2c(format!("{live} -- sh -c '{READER}'"));
    if ended.code == 4 || ended.code == 5 {
        return skip(ended.stderr.trim());
    }
    has_words(&ended.stderr, "IOPS");
    let (lines, result) = ended.lines();
    // Other processes may read, too. A read across two extents of the file is split in two.
    let shown = number(&result, "/requests") + number(&result, "/lost");
    assert!(shown >= 20.0 * 250.0, "{result}");
    assert_eq!(result["input"]["path"], "file");
    assert!(lines.len() >= 3, "{lines:?}");
    let mut readers = 0.0;
    for line in &lines {
        assert_eq!(line["schema"], "q2c.live-interval/1");
        assert!(!line["device"].as_str().unwrap().is_empty());
        let ios = number(line, "/ios");
        assert!((number(line, "/iops") * number(line, "/length_s") - ios).abs() < 1e-6);
        let latency = &line["latency"];
        let buckets = latency.list("buckets").iter();
        let counted: f64 = buckets.map(|bucket| number(bucket, "/ios")).sum();
        assert_eq!(counted, number(latency, "/ios"));
        assert!(counted <= ios);
        let processes = line.list("processes").iter();
        let named = processes.clone().filter(|process| process["comm"] == "dd");
        readers += named.map(|process| number(process, "/ios")).sum::<f64>();
        let total: f64 = processes.map(|process| number(process, "/ios")).sum();
        assert!(total <= ios, "{line}");
    }
    // The last interval may not have ended, and lost I/Os are in no interval.
    let lost = number(&result, "/lost");
    assert!(readers + lost >= 10.0 * 250.0, "{readers} I/Os of dd");
}

#[test]
fn metrics_are_served_while_it_runs() {
    let folder = folder();
    let command_line =
        "analyze --live file --op read --interval 200ms --json --prometheus 127.0.0.1:0";
    let mut command = q2c_command(folder.path(), &split(command_line));
    command.args(["--", "sh", "-c", READER]);
    let (mut child, stdout) = spawn(command, Stdio::piped());
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let address = read_address(&mut stderr);
    let mut lines = stdout.lines();
    let seen: Vec<String> = lines.by_ref().take(4).map_while(Result::ok).collect();
    if seen.len() < 4 {
        child.wait().unwrap();
        return skip("no capture here");
    }
    let ios = |lines: &[String]| -> f64 {
        let line_ios = |line: &String| number(&strict_json(line), "/ios");
        lines.iter().map(line_ios).sum()
    };
    let served = strict_metrics(&get(&address, "/metrics").1);
    // Further intervals may have ended, but everything that was printed is served.
    let total = served.value("q2c_ios_total", &[]);
    assert!(total >= ios(&seen), "{total}: {seen:?}");
    assert!(served.value("q2c_block_latency_seconds_count", &[]) > 0.0);
    assert!(served.value("q2c_stage_seconds_total", &[("stage", "D2C")]) > 0.0);
    assert_eq!(served.label_values("device").len(), 1);
    lines.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// In a terminal each view replaces the one before. After each wipe come as many lines as the next
/// wipe removes, fewer than the terminal has, and none is too wide.
#[test]
fn a_view_takes_the_place_of_the_one_before() {
    let folder = folder();
    let live = format!("analyze --live file --op read --interval 200ms -- sh -c '{READER}'");
    let (code, text) = Terminal::of_columns(100, folder.path(), &live).end();
    if code == Some(4) || code == Some(5) {
        return skip(text.trim());
    }
    assert_eq!(code, Some(0), "{text}");
    // A wipe moves up by its number of lines.
    let views: Vec<(usize, &str)> = text
        .split("\u{1b}[J")
        .zip(text.split("\u{1b}[J").skip(1))
        .filter_map(|(before, after)| {
            let (_, up) = before.rsplit_once("\u{1b}[")?;
            let view = after
                .rsplit_once("\u{1b}[")
                .filter(|(_, s)| s.ends_with('F'));
            Some((up.strip_suffix('F')?.parse().ok()?, view?.0))
        })
        .collect();
    assert!(views.len() >= 3, "{text}");
    for ((_, view), (wiped_lines, _)) in views.iter().zip(&views[1..]) {
        assert_eq!(view.lines().count(), *wiped_lines, "{view}");
        assert!(*wiped_lines < 24, "{view}");
        let width = |line: &str| {
            let mut parts = line.split('\u{1b}');
            let first = parts.next().unwrap_or("").chars().count();
            let more = parts.map(|part| part.split_once('m').map_or(0, |(_, r)| r.chars().count()));
            first + more.sum::<usize>()
        };
        assert!(view.lines().all(|line| width(line) <= 100), "{view}");
    }
    let (_, last) = views.last().unwrap();
    has_words(last, "load: | process | least..most | Q2C from | IOPS");
}

/// A signal is the normal end of a capture without a time or a command. The exit code is 0.
#[test]
fn a_signal_ends_it() {
    let folder = folder();
    let arguments = ["analyze", "--live", "file", "--interval", "200ms"];
    let (mut child, stdout) = spawn(q2c_command(folder.path(), &arguments), Stdio::null());
    let mut lines = stdout.lines();
    let seen = lines.by_ref().take(3).count();
    if seen < 3 {
        child.wait().unwrap();
        return skip("no capture here");
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    lines.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
