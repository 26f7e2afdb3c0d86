//! Tests of `q2c poll sweep`.

use crate::program::*;

/// A folder with two lists of latencies: one of a constant 30 us, and one of a constant 50 us.
pub(crate) fn two_lists() -> Place {
    let folder = Place::with_file("a.txt", "30\n".repeat(200));
    folder.put("b.txt", "50\n".repeat(200));
    folder
}

pub(crate) fn cell<'a>(result: &'a Value, policy: &str) -> &'a Value {
    entry(result, "cells", "policy", policy)
}

fn first_answer(report: &str) -> &str {
    let mut lines = report.lines();
    lines.find(|line| line.starts_with('▸')).unwrap_or_default()
}

/// A formula without a statistic sleeps longest here, but would sleep as long on a faster device.
/// So a rule that adapts to the device is chosen if there is one.
#[test]
fn a_sleep_that_does_not_follow_the_device_is_chosen_last() {
    let folder = two_lists();
    let args = "poll sweep a.txt --unit us --rule 27us --json";
    let alone = folder.json(args);
    let best = alone["best"]["policy"].as_str().unwrap();
    assert!(best.starts_with("rule:"), "{best}");
    let both = folder.json(format!("{args} --policy min:50%,1ms"));
    let best = both["best"]["policy"].as_str().unwrap();
    assert!(best.starts_with("min:"), "{best}");
    assert_eq!(both.list("cells").len(), 2);
}

/// The device always takes 30 us, and sleeps end 2 us late. By hand: a sleep of 20 us ends at 22
/// us, and 8 us are polled. A sleep of 40 us ends at 42 us, so all miss.
#[test]
fn constant_latencies_have_closed_forms() {
    let folder = two_lists();
    let result = folder.json("poll sweep a.txt --unit us --policy fixed:10us..40us/10us --json");
    assert_eq!(result.list("cells").len(), 4);
    let clear = cell(&result, "fixed:sleep=20us");
    assert_iops(number(clear, "/iops"), 1.0 / 30e-6);
    assert_close(number(clear, "/t_under"), 8.0 / 30.0);
    assert_close(number(clear, "/cpu_ns_per_io"), 8_000.0);
    let late = cell(&result, "fixed:sleep=40us");
    assert_iops(number(late, "/iops"), 1.0 / 42e-6);
    assert_close(number(late, "/t_over"), 12.0 / 30.0);
    assert_close(number(late, "/miss_rate"), 1.0);
    // Percentiles are the middles of classes that are 1.6 % wide.
    assert_near(number(late, "/p99_ns"), 42_000.0, 0.008);
    // The floor excludes the policies that wake late. The longest of the other sleeps is best.
    assert_eq!(result["best"]["policy"], "fixed:sleep=20us");
    assert_iops(number(&result, "/oracle/iops"), 1.0 / 30e-6);
    for field in ["pareto", "speed", "answers", "inputs"] {
        assert!(!result[field].is_null(), "{field}");
    }
}

/// On the published machine a sleep of 20 us costs a context switch and an interrupt handler, 2.563
/// us. The sleep ends at 22 us and adds 0.4 us to the latency of 30 us, so 8.4 us are polled.
#[test]
fn a_sleep_on_the_published_machine_costs_cpu() {
    let folder = two_lists();
    let args = "poll sweep a.txt --unit us --policy fixed:20us --cost published --json";
    let result = folder.json(args);
    let slept = cell(&result, "fixed:sleep=20us");
    assert_close(number(slept, "/cpu_ns_per_io"), 2_563.0 + 8_400.0);
    assert_iops(number(slept, "/iops"), 1.0 / 30.4e-6);
    let cost = result["cost"].as_str().unwrap();
    assert!(cost.contains("wake-ups 2 us late, 2.56 us"), "{cost}");
}

/// A sleep of 25 us ends at 27 us: right for the device of 30 us, but 23 us early for that of 50
/// us. A sleep of 40 us is best for 50 us and too long for 30 us.
#[test]
fn what_is_best_for_two_traces_keeps_the_floor_on_both() {
    let folder = two_lists();
    let policies = "--policy fixed:10us|25us|40us --json";
    let args = "poll sweep a.txt b.txt --unit us";
    let result = folder.json(format!("{args} {policies}"));
    let answers = result.list("answers");
    let best = |n: usize| answers[n]["best"].as_u64().unwrap() as usize;
    let cells = result.list("cells");
    assert_eq!(cells[best(0)]["policy"], "fixed:sleep=25us");
    assert_eq!(cells[best(1)]["policy"], "fixed:sleep=40us");
    assert_eq!(result["best"]["policy"], "fixed:sleep=25us");
    // KIOPS/core is one over the CPU per I/O. The sleep of 25 us takes 3 us of CPU on a, where it
    // is best, and 23 us on b, where the best sleep takes 8 us.
    assert_close(number(&result, "/best/share"), (1.0 + 8.0 / 23.0) / 2.0);
    assert_close(number(&result, "/best_worst_case/share"), 8.0 / 23.0);
    // The shares behind these figures; the sleep of 40 us breaks the floor on a.
    let shares = [Some(1.0), None, Some(8.0 / 23.0), Some(1.0)];
    for (at, share) in [1, 2, 4, 5].into_iter().zip(shares) {
        let actual = cells[at]["share"].as_f64();
        assert_eq!(actual.is_some(), share.is_some(), "{}", cells[at]);
        assert_close(actual.unwrap_or(0.0), share.unwrap_or(0.0));
    }
}

/// The public trace. The paper gives 0.03 and 0.26 for PAS, on a longer part of the trace.
#[test]
fn the_public_trace() {
    let Some(list) = shared_data("the_public_trace", "zssd-983zet-randread4k-latency-us.txt")
    else {
        return;
    };
    let folder = Place::new();
    let list = list.display().to_string();
    let files = "--html s.html --csv s.csv --parquet s.parquet";
    let args = format!("poll sweep {list} --unit us --json");
    let result = folder.json(format!("{args} {files}"));
    let pas = cell(&result, "pas:up=0.01,down=0.1,adaptive=on");
    assert!((0.025..0.040).contains(&number(pas, "/t_over")), "{pas}");
    assert!((0.26..0.33).contains(&number(pas, "/t_under")), "{pas}");
    // The trace lasts 54 ms and is repeated, so windows of 100 ms close, too.
    let mean = cell(&result, "mean:ratio=50%,period=100ms");
    assert!(number(mean, "/effective_sleep_ns") > 20e3, "{mean}");
    let notes = result["answers"][0]["notes"].to_string();
    has_words(&notes, "only ever falls | balance at such a rate");
    let cells = result.list("cells").len();
    let csv = folder.text("s.csv");
    assert_eq!(csv.lines().count(), cells + 1);
    let html = folder.text("s.html");
    assert!(html.contains("I/O by I/O"));
    assert!(fs::metadata(folder.path().join("s.parquet")).unwrap().len() > 1000);
}

/// A recording that exceeds memory is simulated from files, with the same result. Rules that share
/// a pass, single rules, the bounds and the time line all read the files.
#[test]
fn from_files_as_from_memory() {
    let folder = Place::new();
    let latencies = (0..40_000_u64).map(|io| format!("{}\n", 20 + io * 7_919 % 61));
    folder.put("list.txt", latencies.collect::<String>());
    let swept = |more: &str| {
        let rules = "--policy min:70%,1ms --policy pas --policy ewma";
        let sweep = format!("poll sweep list.txt --unit us --json {rules} {more}");
        let mut result = folder.json(sweep);
        let file_bytes = result["inputs"][0]["taken_as"]["in_files"].take();
        result["speed"].take();
        (result, file_bytes.as_u64().unwrap())
    };
    let small = "--memory 64KiB --spill .";
    let (from_memory, no_bytes) = swept("");
    let (from_files, bytes) = swept(small);
    assert_eq!(from_files, from_memory);
    // 40,000 I/Os of 16 bytes.
    assert_eq!((no_bytes, bytes), (0, 640_000));
    let sweep = "poll sweep list.txt --unit us --policy pas";
    let table = folder.done(format!("{sweep} {small}"));
    has_words(&unwrapped(&table), "625 KiB of it in unnamed files");
    let refused = folder.q2c("poll sweep list.txt --unit us --memory 16 --spill missing");
    refused.refused(4, "list.txt | missing | --spill");
}

/// Latencies in us, one per line: of a steady device, of one with two levels, of one that drifts,
/// and of one with a rare stall.
fn shapes() -> impl Iterator<Item = (&'static str, String)> {
    let mut x = 88_172_645_463_325_252_u64;
    let mut noise = move || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x % 1_000) as f64 / 1_000.0
    };
    let mut list = |latency_us: &dyn Fn(u32, f64) -> f64| {
        let lines = (0..1_500).map(|n| format!("{:.3}\n", latency_us(n, noise())));
        lines.collect::<String>()
    };
    let steady = list(&|_, noise| 80.0 + 4.0 * noise);
    let levels = list(&|_, noise| if noise < 0.7 { 20.0 } else { 95.0 } + noise);
    let drift = list(&|n, noise| 30.0 + f64::from(n) * 0.05 + 10.0 * noise);
    let stalls = list(&|n, noise| match n % 400 {
        399 => 5_000.0,
        _ => 12.0 + noise,
    });
    let names = ["steady", "levels", "drift", "stalls"];
    names.into_iter().zip([steady, levels, drift, stalls])
}

/// One rule on one trace has identical figures in both commands.
#[test]
fn a_sweep_and_a_simulation_agree() {
    let folder = Place::new();
    let policies = split(
        "linux410 min:70%,1ms min:55%,100ms mean:50%,10ms fixed:15us pas qt ewma quantile lmd ehp dpas",
    );
    let options = policies.iter().map(|policy| format!(" --policy {policy}"));
    let options: String = options.collect();
    for (name, list) in shapes() {
        folder.put(name, list);
        let how = format!("{name} --unit us --json{options}");
        let json = |command| folder.json(format!("poll {command} {how}"));
        let (sweep, sim) = (json("sweep"), json("sim"));
        for cell in sweep.list("cells") {
            let policy = cell["policy"].as_str().unwrap();
            let method = entry(&sim, "methods", "method", &format!("hybrid:{policy}"));
            let figures = "iops cpu_pct miss_rate effective_sleep_ns kiops_per_core p99_ns";
            for figure in split(figures) {
                assert!(cell.get(figure).is_some(), "{figure}: {cell}");
                assert_eq!(cell[figure], method[figure], "{name}, {policy}, {figure}");
            }
        }
        let best = sweep["best"]["policy"].as_str().unwrap();
        let kiops_per_core = |policy: &str| {
            let method = entry(&sim, "methods", "method", &format!("hybrid:{policy}"));
            number(method, "/kiops_per_core")
        };
        let poll = number(&sim["methods"][0], "/kiops_per_core");
        assert!(kiops_per_core(best) > poll, "{name}: {best}");
    }
}

/// A rule whose window does not end within the simulated time never sleeps. Such a rule is classic
/// polling, and not a baseline.
#[test]
fn a_rule_that_never_slept_is_no_baseline() {
    let folder = two_lists();
    let args = "poll sweep a.txt --unit us --policy min:70%,1ms|50ms --warm-up 10ms --measure 20ms";
    let report = folder.done(args).replace("\n  ", " ");
    let linux = "Linux's rule never slept, so it is not compared with";
    has_words(&report, linux);
    let never = "min:ratio=70%,period=50ms never slept: 30.0 ms were simulated";
    has_words(&report, never);
    let result = folder.json(format!("{args} --json"));
    assert_eq!(result["answers"][0]["of_linux"], Value::Null);
}

/// If no configuration keeps the limits, the best without them is named, and the nearest one. The
/// sleep of 20 us takes 8 us of CPU in 30. The sleep of 40 us takes none, at 30/42 of the IOPS.
#[test]
fn without_an_answer_the_best_and_the_nearest_are_named() {
    let folder = two_lists();
    let args = "poll sweep a.txt --unit us --policy fixed:20us|40us --max-cpu 20 --min-iops 99%";
    let result = folder.json(format!("{args} --json"));
    let answer = &result["answers"][0];
    let named = |name: &str| {
        let index = number(answer, &format!("/{name}")) as usize;
        result["cells"][index]["policy"].as_str().unwrap()
    };
    assert!(answer["best"].is_null(), "{answer}");
    assert_eq!(named("most_kiops_per_core"), "fixed:sleep=40us");
    assert_eq!(named("most_iops"), "fixed:sleep=20us");
    // 26.7 % of CPU is 1.33 times 20 %; 42/30 is 1.39 times the floor.
    assert_eq!(named("nearest"), "fixed:sleep=20us");
    let said = folder.done(args);
    let first = "▸ no configuration keeps the limits: the nearest is fixed:sleep=20us,";
    assert!(first_answer(&said).starts_with(first), "{said}");
    let phrases = "most KIOPS/core: fixed:sleep=40us | most IOPS: fixed:sleep=20us";
    has_words(&said, phrases);
    // The sleep of 40 us keeps 30/42 of the IOPS; that of 20 us breaks only the limit on the CPU.
    let line = said.replace("\n  ", " ");
    for broken in [". It breaks the floor", ". It breaks the limits"] {
        assert_eq!(line.matches(broken).count(), 1, "{broken}: {said}");
    }
    has_words(&unwrapped(&said), "most KIOPS/core first in both");
}

/// On the published machine a sleep takes 2.6 us of CPU, on a device of 3 us.
#[test]
fn a_sweep_that_gains_nothing_says_so_first() {
    let folder = Place::with_file("fast.txt", "3\n".repeat(200));
    let args = "poll sweep fast.txt --unit us --cost published";
    let said = folder.done(format!("{args} --policy fixed:100ns"));
    let first = "▸ use classic polling: every rule loses to it. The best has 0.";
    assert!(first_answer(&said).starts_with(first), "{said}");
    has_words(&said, "times the IOPS per core of interrupts");
}
