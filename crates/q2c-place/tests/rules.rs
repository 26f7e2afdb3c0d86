//! The placement rules in C, which the sched_ext scheduler runs in the kernel, against those in
//! Rust, on generated machines.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use q2c_place::map::SmtMap;
use q2c_place::predictor::Class;
use q2c_place::rules::{
    AllMovable, Decider, LINUX_THRESHOLD, Rules, RunQueueCounts, THRESHOLD, Tally,
};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const MACHINES: usize = 5_000;

#[derive(Debug)]
struct GeneratedMachine {
    cores: usize,
    threads: usize,
    caches: usize,
    counts: Vec<RunQueueCounts>,
}

fn machines() -> Vec<GeneratedMachine> {
    let strategy = (1..=6_usize, 1..=3_usize, 1..=3_usize, 0..=4_u32).prop_flat_map(
        |(cores, threads, caches, max_tasks)| {
            let queue = (0..=max_tasks, 0..=max_tasks)
                .prop_map(|(compute, polling)| RunQueueCounts { compute, polling });
            let counts = proptest::collection::vec(queue, cores * threads);
            counts.prop_map(move |counts| GeneratedMachine {
                cores,
                threads,
                caches,
                counts,
            })
        },
    );
    let mut runner = TestRunner::deterministic();
    let draw = |_| strategy.new_tree(&mut runner).expect("a machine").current();
    (0..MACHINES).map(draw).collect()
}

fn build(folder: &Path) -> std::path::PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rules.c");
    let program = folder.join("rules");
    let clang = std::env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    let done = Command::new(clang)
        .args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"])
        .args([source, "-o"])
        .arg(&program)
        .status();
    assert!(done.expect("run clang").success(), "rules.c does not build");
    program
}

fn answers(input: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = Command::new(build(folder.path()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("start the program");
    let mut stdin = child.stdin.take().expect("its input");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("its answers");
    let wrote = writer.join().expect("the writer");
    wrote.expect("write the machines");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_rules_in_c_decide_as_those_in_rust() {
    let machines = machines();
    let mut input = String::new();
    let mut expected = Vec::new();
    let polls = |class| u32::from(class == Class::Polling);
    let rules = [
        (Rules::Proposed, THRESHOLD),
        (Rules::Literal, LINUX_THRESHOLD),
    ];
    for (machine, (rules, threshold)) in machines.iter().zip(rules.into_iter().cycle()) {
        let map = SmtMap::regular(machine.cores, machine.threads, machine.caches);
        let decider = Decider {
            tally: &Tally::from_counts(&map, &machine.counts),
            rules,
            threshold,
            movable: &AllMovable,
        };
        let per_cache = machine.cores.div_ceil(machine.caches);
        let swaps = u32::from(rules != Rules::Literal);
        input += &format!("{} {} {per_cache}", machine.cores, machine.threads);
        input += &format!(" {threshold} {swaps}");
        for counts in &machine.counts {
            input += &format!(" {} {}", counts.compute, counts.polling);
        }
        input.push('\n');
        for cpu in 0..map.cpus() {
            expected.push(decider.steal(cpu).map_or("-1 0".to_owned(), |steal| {
                format!("{} {}", steal.from, polls(steal.class))
            }));
        }
        for core in 0..map.cores() {
            let swap = decider.swap_for_core(core);
            expected.push(swap.map_or("-1 -1 -1".to_owned(), |swap| {
                let back = swap.back.map_or(-1, |cpu| cpu as i64);
                format!("{} {} {back}", swap.from, swap.to)
            }));
        }
    }
    let output = answers(&input);
    let answers: Vec<&str> = output.lines().collect();
    assert_eq!(answers.len(), expected.len());
    let mut pairs = answers.iter().zip(&expected);
    let differ = pairs.position(|(answer, expected)| answer != expected);
    assert_eq!(differ.map(|at| (answers[at], &expected[at])), None);
    let decisions = || expected.iter().filter(|line| !line.starts_with('-'));
    for class in [" 0", " 1"] {
        assert!(decisions().any(|line| line.ends_with(class)));
    }
    let moves_alone = |line: &String| line.split(' ').count() == 3 && line.ends_with("-1");
    assert!(decisions().any(moves_alone));
}
