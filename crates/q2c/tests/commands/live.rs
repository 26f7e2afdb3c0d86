//! Tests of `q2c top` and `q2c analyze --live`. Refusals are tested everywhere. A capture needs
//! permission; otherwise the test is skipped and counted.

use crate::program::*;
use crate::terminal::Terminal;
use q2c_testkit::strict_metrics;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::path::Path;
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

/// The views of a terminal, without their escape sequences. Each begins at the upper left corner.
fn views(text: &str) -> Vec<Vec<String>> {
    let plain = |line: &str| {
        let mut parts = line.split("\u{1b}[");
        let first = parts.next().unwrap_or("").to_owned();
        let is_end = |c: char| c.is_ascii_alphabetic();
        parts.fold(first, |text, part| {
            text + part.split_once(is_end).map_or("", |(_, rest)| rest)
        })
    };
    let views = text.split("\u{1b}[H").skip(1);
    let views = views.filter_map(|view| view.split_once("\u{1b}[J"));
    let lines = views.map(|(view, _)| view.split("\r\n").map(plain).collect());
    lines.collect()
}

/// In a terminal each view fills the screen, and no line is too wide. What the command prints comes
/// at the end, when the screen is given back, before the analysis of the whole.
#[test]
fn each_view_fills_the_screen() {
    let folder = folder();
    for command in ["top", "analyze --live"] {
        let live = format!("{command} file --interval 200ms -- sh -c 'echo printed; {READER}'");
        let (code, text) = Terminal::of_columns(100, folder.path(), &live).end();
        if code == Some(4) || code == Some(5) {
            return skip(text.trim());
        }
        assert_eq!(code, Some(0), "{text}");
        let views = views(&text);
        assert!(views.len() >= 3, "{text}");
        for view in &views {
            assert_eq!(view.len(), 24, "{view:?}");
            let fits = |line: &String| line.chars().count() <= 100;
            assert!(view.iter().all(fits), "{view:?}");
        }
        let last = views.last().unwrap().join("\n");
        has_words(&last, "load: | process | Q2C from | IOPS | q: quit");
        let (_, after) = text.rsplit_once("\u{1b}[?1049l").unwrap();
        let (printed, whole) = after.split_once("printed").unwrap();
        assert!(!printed.contains("most time:"), "{after}");
        has_words(whole, "most time:");
    }
}

/// A pause keeps the capture going, and `q` ends it with the analysis of the whole.
#[test]
fn keys_pause_and_quit() {
    let folder = folder();
    let mut terminal = Terminal::of_columns(80, folder.path(), "top file --interval 200ms");
    let mut begun = false;
    while !begun && terminal.child.try_wait().unwrap().is_none() {
        begun = terminal.has_shown("q: quit");
    }
    if !begun {
        return skip(terminal.end().1.trim());
    }
    terminal.press(" ");
    terminal.shows("PAUSED");
    terminal.press(" ");
    terminal.shows("space: pause");
    std::fs::write(folder.path().join("written"), [1; 4096]).unwrap();
    std::fs::File::open(folder.path().join("written"))
        .unwrap()
        .sync_all()
        .unwrap();
    terminal.press("q");
    let (code, text) = terminal.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("\u{1b}[?1049l"),
        "the screen is given back: {text}"
    );
}

/// Without a name every disk of hardware is captured; with several, each has figures of its own.
#[test]
fn top_without_a_name_takes_every_disk_of_hardware() {
    let ended = Place::new().q2c("top --interval 200ms --seconds 1 --json");
    if ended.code == 4 || ended.code == 5 {
        return skip(ended.stderr.trim());
    }
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let is_hardware = |name: &str| Path::new("/sys/block").join(name).join("device").exists();
    let lines = ended.stdout.lines().map(strict_json);
    let lines: Vec<_> = lines.filter(|line| line["kind"] == "interval").collect();
    assert!(!lines.is_empty(), "{}", ended.stdout);
    for line in lines {
        let names: Vec<&str> = line["device"].as_str().unwrap().split(',').collect();
        assert!(names.iter().all(|name| is_hardware(name)), "{names:?}");
        if names.len() > 1 {
            let disks = line["disks"].as_object().unwrap();
            assert_eq!(disks.len(), names.len(), "{line}");
            let ios: f64 = disks.values().map(|disk| number(disk, "/ios")).sum();
            assert_eq!(ios, number(&line, "/ios"));
        }
    }
}

#[test]
fn both_commands_have_the_options_of_the_live_view() {
    let folder = Place::new();
    for command in ["top", "analyze"] {
        let help = folder.done(format!("{command} --help"));
        has_words(
            &help,
            "--interval | --prometheus | --seconds | --by | --pid | --latency-above | --op | --json",
        );
    }
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
