//! Tests of `q2c poll watch`, without a terminal and in one.

use crate::program::{Finished, number, q2c};
use q2c_testkit::{alone, strict_json};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Termios, Winsize, tcgetattr, tcsetwinsize};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Watches a simulated device of 1 ms.
fn watch(more: &[&str]) -> Finished {
    let folder = tempfile::tempdir().unwrap();
    let watch = ["poll", "watch", "sim:1ms", "--interval", "100ms"];
    q2c(folder.path(), &[&watch[..], more].concat())
}

fn rows(result: &Value, method: &str) -> Vec<Value> {
    let rows = result["methods"].as_array().unwrap().iter();
    rows.filter(|row| row["method"] == method)
        .cloned()
        .collect()
}

/// Two seconds with intervals of 100 ms, and a change of method every 500 ms: polling, then a sleep
/// of 200 us, then one of 1.5 ms, which always misses on a device of 1 ms.
#[test]
fn methods_in_turns_as_json() {
    alone("methods_in_turns_as_json", || {
        let rules = [
            "--policy",
            "poll",
            "--policy",
            "fixed:200us",
            "--policy",
            "fixed:1500us",
        ];
        let how = ["--seconds", "2", "--every", "500ms", "--json"];
        let ended = watch(&[&rules[..], &how].concat());
        let lines = ended.stderr.lines().count();
        let result = ended.json();
        assert_eq!(
            (&result["schema"], &result["ended"]),
            (&"q2c.watch/2".into(), &"asked".into())
        );
        let intervals = result["intervals"].as_array().unwrap();
        assert_eq!(lines, 1 + intervals.len(), "a head, and a line for each");
        // The intervals follow each other without a gap, and last two seconds together.
        let mut end = 0.0;
        for interval in intervals {
            let begin = number(interval, "/end_s") - number(interval, "/length_s");
            assert!((begin - end).abs() < 0.01, "{begin} after {end}");
            end = number(interval, "/end_s");
        }
        assert!((2.0..2.5).contains(&end), "{end} s");
        let one = |method: &str| match &rows(&result, method)[..] {
            [row] => row.clone(),
            other => panic!("{method}: {other:?}"),
        };
        let (poll, clear, late) = (
            one("poll"),
            one("hybrid:fixed:sleep=200us"),
            one("hybrid:fixed:sleep=1500us"),
        );
        assert_eq!(
            (&poll["was"]["kind"], &poll["median"]["miss_rate"]),
            (&"poll".into(), &Value::Null)
        );
        assert_eq!(number(&clear, "/median/effective_sleep_ns"), 200e3);
        assert_eq!(number(&late, "/median/miss_rate"), 1.0);
        assert_eq!(number(&late, "/median/effective_sleep_ns"), 1500e3);
        assert!(number(&late, "/median/slept_ns") >= 1490e3);
        assert!(number(&late, "/median/p50_ns") >= 1490e3);
        assert_eq!(late["was"]["kind"], "hybrid");
        assert_eq!(late["was"]["means"], "memory");
        // The first 250 ms of a rule do not count; polling counts from its first I/O.
        assert_eq!(number(&poll, "/settling"), 0.0);
        assert!(number(&clear, "/settling") >= 2.0 && number(&clear, "/intervals") >= 1.0);
        let counted = intervals.iter().filter(|i| i["settled"] == true).count();
        let methods = result["methods"].as_array().unwrap().iter();
        assert_eq!(
            methods.map(|m| number(m, "/intervals")).sum::<f64>(),
            counted as f64
        );
    });
}

/// A file of 16 MiB with random content.
fn random_file(folder: &std::path::Path) -> String {
    let path = folder.join("random.bin");
    std::fs::write(&path, q2c_testkit::random_mib().repeat(16)).unwrap();
    File::open(&path).unwrap().sync_all().unwrap();
    path.to_str().unwrap().to_owned()
}

/// On a disk the latency is split while the workload runs: a sleep of 5 ms is far longer than a
/// read of 4 KiB takes, so most of it is oversleep that was asked for.
#[test]
fn parts_of_the_latency_on_a_disk() {
    alone("parts_of_the_latency_on_a_disk", || {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let file = random_file(folder.path());
        let args = [
            "poll",
            "watch",
            &file,
            "--interval",
            "500ms",
            "--seconds",
            "3",
        ];
        let how = ["--policy", "fixed:5ms", "--parts", "--json"];
        let ended = q2c(folder.path(), &[&args[..], &how].concat());
        let below = ended.stderr.matches("oversleep").count();
        let result = ended.json();
        if !result["late"]["unseen"].is_null() {
            let why = result["late"]["unseen"].to_string();
            return q2c_testkit::skip("parts_of_the_latency_on_a_disk", &why);
        }
        let lost = number(&result, "/late/seen/lost");
        let intervals = result["intervals"].as_array().unwrap();
        for interval in intervals {
            let (matched, misses) = (
                number(interval, "/late/matched"),
                number(interval, "/late/misses"),
            );
            assert!(matched > 0.0 && misses > 0.8 * matched, "{interval}");
            let lateness = &interval["misses"]["lateness"];
            assert!(
                number(lateness, "/max_ns") >= number(lateness, "/p50_ns"),
                "{lateness}"
            );
            for miss in interval["misses"]["kept"].as_array().unwrap() {
                // The sleep is 5 ms, and the device took a part of it. A read that took longer is a
                // miss only where the wake-up was late, and then nothing of the sleep was too long.
                let (oversleep, device) =
                    (number(miss, "/oversleep_ns"), number(miss, "/device_ns"));
                assert!(oversleep <= 5e6 && number(miss, "/t_s") < 10.0, "{miss}");
                assert!(device < 5e6 || number(miss, "/wakeup_ns") > 0.0, "{miss}");
            }
        }
        assert!(below >= intervals.len(), "a line below each interval's");
        let late = &result["methods"][0]["median"]["late"];
        assert!(number(late, "/unmatched/no_request") <= lost, "{late}");
        let part = |name: &str| number(late, &format!("/parts/{name}_ns"));
        let parts = [
            "submission",
            "device",
            "return",
            "oversleep",
            "wakeup",
            "reap",
        ];
        let all = parts.map(part);
        let sum: f64 = all.iter().sum();
        assert!(all.iter().all(|part| *part >= 0.0) && sum >= 5e6, "{late}");
        // Reads of a busy disk may take milliseconds, and then less is left of the sleep.
        assert!(part("device") + part("oversleep") > 0.8 * 5e6, "{late}");
        assert!(part("oversleep") <= 5e6, "{late}");
    });
}

#[test]
fn without_a_device_there_are_no_parts_and_the_reason_is_told() {
    alone(
        "without_a_device_there_are_no_parts_and_the_reason_is_told",
        || {
            let how = ["--policy", "poll", "--seconds", "0.3", "--parts"];
            let json = watch(&[&how[..], &["--json"]].concat()).json();
            assert_eq!(json["late"]["unseen"], "no-device");
            assert!(json["intervals"][0]["late"].is_null());
            let text = watch(&how).done();
            assert!(text.contains("late time: none: no block device"), "{text}");
            let plain = watch(&["--policy", "poll", "--seconds", "0.3", "--json"]).json();
            assert!(plain["late"].is_null(), "none was asked for");
        },
    );
}

#[test]
fn lines_and_a_table_where_there_is_no_terminal() {
    alone("lines_and_a_table_where_there_is_no_terminal", || {
        let ended = watch(&["--seconds", "1", "--policy", "mean:50%,100ms"]);
        assert!(!ended.stderr.contains("failed"), "{}", ended.stderr);
        let said = ended.done();
        assert!(!said.contains('\u{1b}'), "no colours, no cursor: {said}");
        let (lines, table) = said.split_once("\n\n").expect("a table below the lines");
        let mut lines = lines.lines();
        let head = lines.next().unwrap();
        for word in [
            "until", "IOPS", "missed", "asked", "slept", "CPU", "p50", "p99", "method",
        ] {
            assert!(head.contains(word), "{word}: {head}");
        }
        let lines: Vec<&str> = lines.collect();
        // On a machine with other work, two intervals may become one.
        assert!((7..=10).contains(&lines.len()), "{said}");
        assert!(
            lines
                .iter()
                .all(|l| l.contains("mean:ratio=50%,period=100ms")),
            "{said}"
        );
        assert!(lines[0].ends_with("(settling)") && !lines.last().unwrap().ends_with("(settling)"));
        assert!(table.contains("mean:ratio=50%,period=100ms") && table.contains("hybrid (memory)"));
    });
}

/// Intervals with background have a row of their own, and every job does I/O.
#[test]
fn jobs_and_a_background() {
    alone("jobs_and_a_background", || {
        let background = ["--background", "engine=sim:2ms,depth=4,jobs=2"];
        let how = [
            "--jobs",
            "2",
            "--seconds",
            "0.5",
            "--policy",
            "interrupt",
            "--json",
        ];
        let result = watch(&[&background[..], &how].concat()).json();
        let row = &rows(&result, "interrupt")[0];
        assert_eq!(row["background"], true);
        assert!(number(row, "/median/background_iops") > 100.0);
        // The foreground's two jobs share a server that does 1000 I/Os per second. The background
        // has another device.
        assert!(
            (200.0..1_030.0).contains(&number(row, "/median/iops")),
            "{row}"
        );
        assert_eq!(result["job"]["cpus"].as_array().unwrap().len(), 2);
    });
}

#[test]
fn own_rules_are_methods_too() {
    alone("own_rules_are_methods_too", || {
        let own = ["--rule", "0.5 * min", "--seconds", "0.5", "--json"];
        let result = watch(&own).json();
        let method = result["methods"][0]["method"].as_str().unwrap();
        assert!(method.starts_with("hybrid:rule:"), "{method}");
    });
}

#[test]
fn what_cannot_be_watched_is_refused() {
    alone("what_cannot_be_watched_is_refused", || {
        watch(&["--bs", "4k,64k"]).refused(2, &["one block size", "4 KiB, 64 KiB"]);
        watch(&["--seconds", "0"]).refused(2, &["0.1 s to 86400 s"]);
        watch(&["--policy", "median"]).refused(2, &["median"]);
        watch(&["--every", "1ms"]).refused(2, &["--every"]);
        let folder = tempfile::tempdir().unwrap();
        let bare = |more: &[&str]| q2c(folder.path(), &[&["poll", "watch"][..], more].concat());
        bare(&[]).refused(2, &["--scratch 1g"]);
        let none = ["sim:1ms", "--interval", "0"];
        bare(&none).refused(2, &["--interval", "100.0 ms to", "`0`"]);
        bare(&["sim:1ms", "--interval", "20ms"]).refused(2, &["--interval", "`20ms`"]);
        bare(&["sim:1ms", "--seconds", "0.5"]).refused(2, &["one interval at least", "1.00 s"]);
    });
}

#[test]
fn a_fault_ends_it_with_what_was_seen() {
    alone("a_fault_ends_it_with_what_was_seen", || {
        let folder = tempfile::tempdir().unwrap();
        let watch = [
            "poll",
            "watch",
            "fault:eio@500:sim:1ms",
            "--interval",
            "100ms",
            "--json",
        ];
        let ended = q2c(folder.path(), &watch);
        assert_eq!(ended.code, 6, "{}", ended.stderr);
        assert!(
            ended.stderr.contains("failed to do I/O: foreground job 0"),
            "{}",
            ended.stderr
        );
        let result: Value = strict_json(&ended.stdout);
        assert!(
            result["ended"]
                .as_str()
                .unwrap()
                .starts_with("fault: do I/O")
        );
    });
}

/// Starts a watch without an end. Its stdout is returned.
fn started(more: &[&str]) -> (Child, BufReader<std::process::ChildStdout>) {
    let watch = ["poll", "watch", "sim:1ms", "--interval", "100ms"];
    let mut child = Command::new(env!("CARGO_BIN_EXE_q2c"))
        .args([&watch[..], more].concat())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    (child, stdout)
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id() as i32).unwrap()
}

#[test]
fn a_signal_ends_it_with_what_was_seen() {
    alone("a_signal_ends_it_with_what_was_seen", || {
        for signal in [Signal::INT, Signal::TERM] {
            let (mut child, mut stdout) = started(&[]);
            let mut line = String::new();
            while !line.contains("poll") {
                line.clear();
                assert!(
                    stdout.read_line(&mut line).unwrap() > 0,
                    "ended before a line"
                );
            }
            kill_process(pid(&child), signal).unwrap();
            let mut rest = String::new();
            stdout.read_to_string(&mut rest).unwrap();
            assert_eq!(child.wait().unwrap().code(), Some(130));
            assert!(
                rest.contains("method, and what it was") && rest.contains("poll (memory)"),
                "{rest}"
            );
        }
    });
}

#[test]
fn a_reader_that_has_seen_enough_ends_it() {
    alone("a_reader_that_has_seen_enough_ends_it", || {
        let (mut child, mut stdout) = started(&[]);
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        drop(stdout);
        assert_eq!(child.wait().unwrap().code(), Some(0));
    });
}

/// A terminal of 100 columns and 24 lines, with q2c in it.
struct Terminal {
    master: File,
    slave: OwnedFd,
    before: Termios,
    child: Child,
    written: Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    fn with(args: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap();
        let size = Winsize {
            ws_row: 24,
            ws_col: 100,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&slave, size).unwrap();
        let before = tcgetattr(&slave).unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        let child = Command::new(env!("CARGO_BIN_EXE_q2c"))
            .args(args)
            .env("TERM", "xterm-256color")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        let master = File::from(master);
        let (sender, written) = channel();
        let mut reader = master.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..n].to_vec()).is_err() {
                    return;
                }
            }
        });
        Terminal {
            master,
            slave,
            before,
            child,
            written,
            seen: String::new(),
        }
    }

    fn read(&mut self, patience: Duration) -> bool {
        match self.written.recv_timeout(patience) {
            Ok(bytes) => {
                self.seen += &String::from_utf8_lossy(&bytes);
                true
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => false,
        }
    }

    /// Waits until `text` is written after the text that was waited for before.
    #[track_caller]
    fn shows(&mut self, text: &str) {
        let begun = Instant::now();
        while !self.seen.contains(text) {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "no {text}: {}",
                self.seen
            );
            assert!(
                self.child.try_wait().unwrap().is_none(),
                "ended: {}",
                self.seen
            );
            self.read(Duration::from_millis(50));
        }
        let from = self.seen.find(text).unwrap() + text.len();
        self.seen.drain(..from);
    }

    fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end. Returns the exit code and what was written meanwhile, and checks that the
    /// modes of the terminal are as before.
    #[track_caller]
    fn end(mut self) -> (Option<i32>, String) {
        let begun = Instant::now();
        let status = loop {
            self.read(Duration::from_millis(20));
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "no end: {}",
                self.seen
            );
        };
        while self.read(Duration::from_millis(200)) {}
        let after = tcgetattr(&self.slave).unwrap();
        let modes = |t: &Termios| (t.local_modes, t.input_modes, t.output_modes);
        assert_eq!(modes(&after), modes(&self.before), "raw mode is over");
        (status.code(), std::mem::take(&mut self.seen))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The program has already ended where the test passed.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";
const WATCH: [&str; 5] = ["poll", "watch", "sim:1ms", "--interval", "100ms"];

/// ratatui writes only the cells that change. So the test waits for words of which no drawing
/// before had a letter in the same place.
#[test]
fn keys_on_a_terminal() {
    alone("keys_on_a_terminal", || {
        let rules = ["--policy", "poll", "--policy", "mean:50%,100ms"];
        let background = ["--background", "engine=sim:2ms"];
        let mut terminal = Terminal::with(&[&WATCH[..], &rules, &background].concat());
        terminal.shows(ENTER);
        let raw = tcgetattr(&terminal.slave).unwrap().local_modes;
        assert!(!raw.contains(LocalModes::ICANON) && !raw.contains(LocalModes::ECHO));
        terminal.shows("left/right: ratio");
        terminal.shows("memory");
        terminal.press("\u{1b}[D");
        terminal.shows("no ratio");
        terminal.press("\u{1b}[B");
        terminal.shows("hybrid:mean");
        terminal.press("\u{1b}[C");
        terminal.press("b");
        terminal.press("p");
        terminal.shows("PAUSED");
        std::thread::sleep(Duration::from_millis(600));
        terminal.press("q");
        let (code, rest) = terminal.end();
        assert_eq!(code, Some(0), "{rest}");
        let (_, table) = rest.split_once(LEAVE).expect("the screen is left");
        assert!(!table.contains(ENTER));
        for row in ["poll + background", "mean:ratio=50%", "mean:ratio=55%"] {
            assert!(table.contains(row), "{row}: {table}");
        }
        assert!(rest.contains("\u{1b}[?25h"), "the cursor is back: {rest}");
    });
}

#[test]
fn a_terminal_is_given_back_whatever_ends_it() {
    alone("a_terminal_is_given_back_whatever_ends_it", || {
        let mut terminal = Terminal::with(&WATCH);
        terminal.shows("memory");
        kill_process(pid(&terminal.child), Signal::TERM).unwrap();
        let (code, rest) = terminal.end();
        assert_eq!(code, Some(130), "{rest}");
        assert!(
            rest.contains(LEAVE) && rest.contains("stopped by a signal"),
            "{rest}"
        );

        let mut terminal = Terminal::with(&WATCH);
        terminal.shows("memory");
        terminal.press("\u{3}");
        let (code, rest) = terminal.end();
        assert_eq!(code, Some(130), "{rest}");
        assert!(rest.contains(LEAVE), "{rest}");

        let faulty = [
            "poll",
            "watch",
            "fault:eio@300:sim:1ms",
            "--interval",
            "100ms",
        ];
        let (code, rest) = Terminal::with(&faulty).end();
        assert_eq!(code, Some(6), "{rest}");
        let (_, after) = rest.split_once(LEAVE).expect("the screen is left");
        assert!(after.contains("failed to do I/O"), "{rest}");
    });
}

#[test]
fn plain_is_plain_on_a_terminal_too() {
    alone("plain_is_plain_on_a_terminal_too", || {
        let (code, rest) =
            Terminal::with(&[&WATCH[..], &["--plain", "--seconds", "0.3"]].concat()).end();
        assert_eq!(code, Some(0), "{rest}");
        assert!(!rest.contains(ENTER) && rest.contains("until"), "{rest}");
    });
}
