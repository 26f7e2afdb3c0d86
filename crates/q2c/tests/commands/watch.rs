//! Tests of `q2c poll watch`, without a terminal and in one.

use crate::program::*;
use crate::terminal::Terminal;
use q2c_testkit::strict_metrics;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

fn watch(more: &str) -> CommandOutcome {
    Place::new().q2c(format!("{WATCH} {more}"))
}

fn rows(result: &Value, method: &str) -> Vec<Value> {
    let rows = result.list("methods").iter();
    let rows = rows.filter(|row| row["method"] == method);
    rows.cloned().collect()
}

/// Ten simulated seconds: polled I/Os of 80.6 us, then those of a sleep of 200 us, each with 2.5 us
/// of wake-up, one look and 0.6 us of steps. Its screen would race, so there are lines.
#[test]
fn simulated_time_does_not_wait() {
    let place = Place::new();
    let command =
        "poll watch sim:80us --machine cores=4 --policy poll --policy fixed:200us --interval 1s";
    let ended = place.q2c(format!("{command} --seconds 10 --every 5s --json"));
    let (lines, result) = ended.lines();
    assert!(lines.len() >= 10, "{}", lines.len());
    assert_eq!(result["machine"]["simulated"]["cores"], 4);
    for (method, cycle_s) in [("poll", 80.6e-6), ("hybrid:fixed:sleep=200us", 203.15e-6)] {
        let row = &rows(&result, method)[0];
        assert_near(number(row, "/median/iops"), 1.0 / cycle_s, 1e-3);
    }
    for (line, said) in [
        (command.to_owned(), "--seconds"),
        (
            command.replace("sim:80us", "/dev/null") + " --seconds 2",
            "--machine with",
        ),
    ] {
        place.q2c(line).refused(2, &[said]);
    }
}

/// Two seconds with intervals of 100 ms, and a new method every 500 ms. First polling, then a sleep
/// of 200 us, then one of 1.5 ms, which always misses on a device of 1 ms.
#[test]
fn methods_in_turns_as_json() {
    alone(|| {
        let rules = "--policy poll --policy fixed:200us --policy fixed:1500us";
        let ended = watch(&format!("{rules} --seconds 2 --every 500ms --json"));
        let stderr_lines = ended.stderr.lines().count();
        let (lines, result) = ended.lines();
        assert_eq!(result["schema"], "q2c.watch/2");
        assert_eq!(result["ended"], "asked");
        let intervals = result.list("intervals");
        assert_eq!(stderr_lines, 1 + intervals.len(), "a head and lines");
        assert_eq!(lines.len(), intervals.len());
        for (line, interval) in lines.iter().zip(intervals) {
            agrees(line, interval, &result);
        }
        // The intervals follow each other without a gap, and last two seconds in sum.
        let mut end = 0.0;
        for interval in intervals {
            let begin = number(interval, "/end_s") - number(interval, "/length_s");
            assert!((begin - end).abs() < 0.01, "{begin} after {end}");
            end = number(interval, "/end_s");
        }
        assert!((2.0..2.5).contains(&end), "{end} s");
        let only_row = |method: &str| match &rows(&result, method)[..] {
            [row] => row.clone(),
            other => panic!("{method}: {other:?}"),
        };
        let [poll, clear] = ["poll", "hybrid:fixed:sleep=200us"].map(only_row);
        let late = only_row("hybrid:fixed:sleep=1500us");
        assert_eq!(poll["was"]["kind"], "poll");
        assert_eq!(poll["median"]["miss_rate"], Value::Null);
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
        let methods = result.list("methods").iter();
        let sum: f64 = methods.map(|m| number(m, "/intervals")).sum();
        assert_eq!(sum, counted as f64);
    });
}

#[track_caller]
fn agrees(line: &Value, interval: &Value, result: &Value) {
    assert_eq!(line["schema"], "q2c.watch-interval/1");
    assert_eq!(line["device"], "sim:1ms");
    for (field, value) in interval.as_object().unwrap() {
        assert_eq!(&line[field], value, "{field} of {line}");
    }
    let row = interval["method"].as_u64();
    let name = row.map(|row| &result["methods"][row as usize]["method"]);
    assert_eq!(&line["method_name"], name.unwrap_or(&Value::Null));
    assert_eq!(line["background"], Value::Null);
    let ios = number(line, "/counts/ios");
    let wanted = number(interval, "/iops") * number(interval, "/length_s");
    // The threads read their own clocks, shortly before or after the edge of the interval.
    let tolerance = 2.0 + wanted * 0.05;
    assert!((ios - wanted).abs() <= tolerance, "{ios}, {wanted}");
    let latency = &line["latency"];
    let recorded = ios - number(interval, "/unrecorded");
    assert_eq!(number(latency, "/ios"), recorded);
    let buckets = latency.list("buckets");
    let total_ios: f64 = buckets.iter().map(|bucket| number(bucket, "/ios")).sum();
    assert_eq!(total_ios, number(latency, "/ios"));
    let Some(p50) = interval["p50_ns"].as_f64() else {
        return assert_eq!(ios, 0.0, "{line}");
    };
    // The buckets up to the median's hold at least half of the I/Os.
    let is_below = |bucket: &&Value| number(bucket, "/from_ns") <= p50;
    let below = buckets.iter().filter(is_below);
    let ios_below: f64 = below.map(|bucket| number(bucket, "/ios")).sum();
    assert!(ios_below * 2.0 >= total_ios, "{p50} in {latency}");
    assert!(number(latency, "/sum_ns") >= total_ios * number(&buckets[0], "/from_ns"));
}

/// On a disk the latency is split while the workload runs. A sleep of 5 ms is much longer than a
/// read of 4 KiB, so most of the sleep is oversleep.
#[test]
fn parts_of_the_latency_on_a_disk() {
    alone(|| {
        let folder = Place::on_disk();
        folder.put_synced("random.bin", q2c_testkit::random_mib().repeat(16));
        let how = "--interval 500ms --seconds 3 --policy fixed:5ms --parts --json";
        let ended = folder.q2c(format!("poll watch random.bin {how}"));
        let lines = ended.stderr.matches("oversleep").count();
        let (_, result) = ended.lines();
        if !result["late"]["unseen"].is_null() {
            return skip(&result["late"]["unseen"].to_string());
        }
        let lost = number(&result, "/late/seen/lost");
        let intervals = result.list("intervals");
        for interval in intervals {
            let late = |name: &str| number(interval, &format!("/late/{name}"));
            let (matched, misses) = (late("matched"), late("misses"));
            assert!(matched > 0.0 && misses > 0.8 * matched, "{interval}");
            let lateness = |name: &str| number(interval, &format!("/misses/lateness/{name}"));
            assert!(lateness("max_ns") >= lateness("p50_ns"), "{interval}");
            for miss in interval["misses"].list("kept") {
                // The sleep is 5 ms, and the device used a part of it. A longer read is a miss only
                // if the wake-up was late, and then no part of the sleep was too long.
                let part = |name: &str| number(miss, name);
                let (oversleep, device) = (part("/oversleep_ns"), part("/device_ns"));
                assert!(oversleep <= 5e6 && number(miss, "/t_s") < 10.0, "{miss}");
                assert!(device < 5e6 || number(miss, "/wakeup_ns") > 0.0, "{miss}");
            }
        }
        assert!(lines >= intervals.len(), "a line below each interval's");
        let late = &result["methods"][0]["median"]["late"];
        assert!(number(late, "/unmatched/no_request") <= lost, "{late}");
        let part = |name: &str| number(late, &format!("/parts/{name}_ns"));
        let parts = split("submission device return oversleep wakeup reap");
        let lengths_ns: Vec<f64> = parts.into_iter().map(part).collect();
        assert!(lengths_ns.iter().all(|part| *part >= 0.0), "{late}");
        assert!(lengths_ns.iter().sum::<f64>() >= 5e6, "{late}");
        // On a busy disk a read may take milliseconds, which leaves less of the sleep.
        assert!(part("device") + part("oversleep") > 0.8 * 5e6, "{late}");
        assert!(part("oversleep") <= 5e6, "{late}");
    });
}

#[test]
fn without_a_device_there_are_no_parts_and_the_reason_is_told() {
    alone(|| {
        let (_, json) = watch("--policy poll --seconds 0.3 --parts --json").lines();
        assert_eq!(json["late"]["unseen"], "no-device");
        assert!(json["intervals"][0]["late"].is_null());
        let text = watch("--policy poll --seconds 0.3 --parts").done();
        has_words(&text, "late time: none: no block device");
        let (_, plain) = watch("--policy poll --seconds 0.3 --json").lines();
        assert!(plain["late"].is_null(), "none was asked for");
    });
}

#[test]
fn lines_and_a_table_where_there_is_no_terminal() {
    alone(|| {
        let ended = watch("--seconds 1 --policy mean:50%,100ms");
        assert!(!ended.stderr.contains("failed"), "{}", ended.stderr);
        let said = ended.done();
        assert!(!said.contains('\u{1b}'), "no colours, no cursor: {said}");
        let (lines, table) = said.split_once("\n\n").expect("a table below the lines");
        let mut lines = lines.lines();
        let head = lines.next().unwrap();
        let columns = "until | IOPS | missed | asked | slept | CPU | p50 | p99 | method";
        has_words(head, columns);
        let lines: Vec<&str> = lines.collect();
        // On a machine with other work, two intervals may become one.
        assert!((7..=10).contains(&lines.len()), "{said}");
        let rule = "mean:ratio=50%,period=100ms";
        assert!(lines.iter().all(|line| line.contains(rule)), "{said}");
        assert!(lines[0].ends_with("(settling)") && !lines.last().unwrap().ends_with("(settling)"));
        has_words(table, &[rule, "hybrid (memory)"]);
    });
}

/// Intervals with a background have a row of their own, and every job does I/O.
#[test]
fn jobs_and_a_background() {
    alone(|| {
        let background = "--background engine=sim:2ms,depth=4,jobs=2";
        let how = "--jobs 2 --seconds 0.5 --policy interrupt --json";
        let (lines, result) = watch(&format!("{background} {how}")).lines();
        for line in &lines {
            assert_eq!(line["background"], true, "{line}");
        }
        assert!(number(&lines[1], "/counts/background_ios") > 10.0);
        let row = &rows(&result, "interrupt")[0];
        assert_eq!(row["background"], true);
        assert!(number(row, "/median/background_iops") > 100.0);
        // The foreground's two jobs share a server with 1000 I/Os per second. The background has
        // its own device.
        let iops = number(row, "/median/iops");
        assert!((200.0..1_030.0).contains(&iops), "{row}");
        assert_eq!(result["job"].list("cpus").len(), 2);
    });
}

#[test]
fn own_rules_are_methods_too() {
    alone(|| {
        let (_, result) = watch("--rule '0.5 * min' --seconds 0.5 --json").lines();
        let method = result["methods"][0]["method"].as_str().unwrap();
        assert!(method.starts_with("hybrid:rule:"), "{method}");
    });
}

#[test]
fn a_fault_ends_it_with_what_was_seen() {
    alone(|| {
        let ended = Place::new().q2c("poll watch fault:eio@500:sim:1ms --interval 100ms --json");
        assert_eq!(ended.code, 6, "{}", ended.stderr);
        has_words(&ended.stderr, "failed to do I/O: foreground job 0");
        let (_, result) = lines(&ended.stdout);
        has_words(&result["ended"].to_string(), "\"fault: do I/O");
    });
}

/// Starts an endless watch, and also returns its stdout.
fn watching(more: &str, stderr: Stdio) -> (Child, BufReader<ChildStdout>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_q2c"));
    command.args(words(&format!("{WATCH} {more}")));
    spawn(command, stderr)
}

#[test]
fn a_signal_ends_it_with_what_was_seen() {
    alone(|| {
        for signal in [Signal::INT, Signal::TERM] {
            let (mut child, mut stdout) = watching("", Stdio::null());
            let mut line = String::new();
            while !line.contains("poll") {
                line.clear();
                let read = stdout.read_line(&mut line).unwrap();
                assert!(read > 0, "ended before a line");
            }
            kill_process(Pid::from_child(&child), signal).unwrap();
            let mut text = String::new();
            stdout.read_to_string(&mut text).unwrap();
            assert_eq!(child.wait().unwrap().code(), Some(130));
            has_words(&text, "method, and what it was | poll (memory)");
        }
    });
}

/// The first line appears before the watch has ended.
#[test]
fn a_reader_that_has_seen_enough_ends_it() {
    alone(|| {
        for (more, first) in [("", "until"), ("--json", "\"kind\":\"interval\"")] {
            let (mut child, mut stdout) = watching(more, Stdio::null());
            let mut line = String::new();
            stdout.read_line(&mut line).unwrap();
            has_words(&line, first);
            drop(stdout);
            assert_eq!(child.wait().unwrap().code(), Some(0));
        }
    });
}

/// The served totals equal the sums over the lines up to the last one.
#[test]
fn metrics_are_those_of_the_lines() {
    alone(|| {
        let more = "--json --policy fixed:1500us --prometheus :0";
        let (mut child, stdout) = watching(more, Stdio::piped());
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let address = read_address(&mut stderr);
        assert!(address.starts_with("127.0.0.1:"), "{address}");
        let mut lines = stdout.lines().map_while(Result::ok);
        let first: Vec<Value> = lines.by_ref().take(4).map(|l| strict_json(&l)).collect();
        let (head, page) = get(&address, "/metrics");
        has_words(&head, "200 OK | text/plain; version=0.0.4");
        let served = strict_metrics(&page);
        assert!(get(&address, "/").0.contains("404 Not Found"));
        let watched = served.value("q2c_watched_seconds_total", &[("device", "sim:1ms")]);
        // Further intervals may have ended.
        let mut intervals = first;
        let sum_of = |intervals: &[Value], pointer: &str| -> f64 {
            intervals.iter().map(|line| number(line, pointer)).sum()
        };
        while sum_of(&intervals, "/length_s") < watched - 1e-6 {
            let line = lines.next().expect("a line for each interval");
            intervals.push(strict_json(&line));
        }
        let sum = |pointer: &str| sum_of(&intervals, pointer);
        assert!((sum("/length_s") - watched).abs() < 1e-6, "{watched}");
        for (name, pointer) in [
            ("q2c_ios_total", "/counts/ios"),
            ("q2c_misses_total", "/counts/misses"),
            ("q2c_user_latency_seconds_count", "/latency/ios"),
        ] {
            assert_eq!(served.value(name, &[]), sum(pointer), "{name}");
        }
        assert!(served.value("q2c_misses_total", &[]) > 0.0);
        let seconds = served.value("q2c_user_latency_seconds_sum", &[]);
        assert!((seconds - sum("/latency/sum_ns") / 1e9).abs() < 1e-6);
        let method = [("method", "hybrid:fixed:sleep=1500us")];
        assert_eq!(served.value("q2c_method_info", &method), 1.0);
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        lines.for_each(drop);
        assert_eq!(child.wait().unwrap().code(), Some(130));
    });
}

#[test]
fn an_address_in_use_is_refused_before_any_work() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refused = watch(&format!("--prometheus {address}"));
    refused.refused(4, &[&address, "name another port"]);
}

const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";
const WATCH: &str = "poll watch sim:1ms --interval 100ms";

/// ratatui writes only changed cells. So the test waits for words that share no letter with the
/// previous drawing at the same place.
#[test]
fn keys_on_a_terminal() {
    alone(|| {
        let rules = "--policy poll --policy mean:50%,100ms";
        let mut terminal = Terminal::with(&format!("{WATCH} {rules} --background engine=sim:2ms"));
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
        let (code, text) = terminal.end();
        assert_eq!(code, Some(0), "{text}");
        let (_, table) = text.split_once(LEAVE).expect("the screen is left");
        assert!(!table.contains(ENTER));
        has_words(table, "poll + background | mean:ratio=50% | mean:ratio=55%");
        assert!(text.contains("\u{1b}[?25h"), "the cursor is back: {text}");
    });
}

#[test]
fn a_terminal_is_given_back_whatever_ends_it() {
    alone(|| {
        let mut terminal = Terminal::with(WATCH);
        terminal.shows("memory");
        kill_process(Pid::from_child(&terminal.child), Signal::TERM).unwrap();
        let (code, text) = terminal.end();
        assert_eq!(code, Some(130), "{text}");
        has_words(&text, &[LEAVE, "stopped by a signal"]);

        let mut terminal = Terminal::with(WATCH);
        terminal.shows("memory");
        terminal.press("\u{3}");
        let (code, text) = terminal.end();
        assert_eq!(code, Some(130), "{text}");
        assert!(text.contains(LEAVE), "{text}");

        let faulty = "poll watch fault:eio@300:sim:1ms --interval 100ms";
        let (code, text) = Terminal::with(faulty).end();
        assert_eq!(code, Some(6), "{text}");
        let (_, after) = text.split_once(LEAVE).expect("the screen is left");
        assert!(after.contains("failed to do I/O"), "{text}");
    });
}

/// A screen cannot be combined with lines of JSON, so there is no screen.
#[test]
fn plain_and_json_are_lines_on_a_terminal_too() {
    alone(|| {
        let summary = "{\"kind\":\"interval\" | {\"kind\":\"summary\"";
        for (form, phrases) in [("--plain", "until"), ("--json", summary)] {
            let (code, text) = Terminal::with(&format!("{WATCH} {form} --seconds 0.3")).end();
            assert_eq!(code, Some(0), "{text}");
            assert!(!text.contains(ENTER), "{text}");
            has_words(&text, phrases);
        }
    });
}
