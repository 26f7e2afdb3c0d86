//! Tests of `q2c runs`, of the latest run, and of `q2c diff`.

use crate::program::{has_words, put, q2c, split};
use std::fs;
use std::path::Path;

fn bench(folder: &Path, target: &str) {
    let job = ["--method", "poll", "--jobs", "1", "--depth", "1"];
    let short = ["--seconds", "200ms", "--warm-up", "200ms", "--trials", "3"];
    q2c(folder, &[&["bench", target][..], &job, &short].concat()).done();
}

/// The folders of the two runs, the latest first, which is the one that is drawn without a name.
fn listed(folder: &Path) -> [String; 2] {
    let list = q2c(folder, &["runs", "--json"]).json();
    let field = |at: usize, what: &str| list["runs"][at][what].as_str().map(str::to_owned);
    for (at, target) in ["sim:4ms", "sim:1ms"].into_iter().enumerate() {
        let target_and_end = (field(at, "target"), field(at, "end"));
        assert_eq!(
            target_and_end,
            (Some(target.to_owned()), Some("complete".to_owned()))
        );
    }
    let paths = [0, 1].map(|at| field(at, "path").unwrap_or_default());
    let drawn = q2c(folder, &["report"]).done();
    assert_eq!(drawn, q2c(folder, &["report", &paths[0]]).done());
    paths
}

/// A device of 4 ms after one of 1 ms, each with 500 ns of submission: a quarter of the I/Os fit
/// into the time.
#[test]
fn runs_are_listed_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let none = q2c(folder.path(), &["runs"]).done();
    assert_eq!(none, "no runs in runs\n");
    let said = q2c(folder.path(), &["report"]);
    assert_eq!(said.code, 3, "{}", said.stderr);
    has_words(&said.stderr, &["no run with a result lies in runs"]);

    bench(folder.path(), "sim:1ms");
    bench(folder.path(), "sim:4ms");
    let [late, early] = listed(folder.path());
    let limits = split("--fail-if p50>+200% --fail-if iops<-50% --fail-if p50>+500%");
    let diff = ["diff", &early, &late, "--json"];
    let said = q2c(folder.path(), &[&diff[..], &limits].concat());
    assert_eq!(said.code, 7, "{}", said.stderr);
    let result = q2c_testkit::strict_json(&said.stdout);
    let change = |figure: &str| {
        let mut figures = result["figures"].as_array().unwrap().iter();
        figures
            .find(|change| change["figure"] == figure)
            .unwrap()
            .clone()
    };
    let ratio = change("p50")["ratio"].as_f64().unwrap();
    assert_eq!(ratio, 4_000_500.0 / 1_000_500.0);
    assert_eq!(change("iops")["says"], "worse");
    let broken: Vec<bool> = result["limits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|limit| limit["broken"] != serde_json::json!([]))
        .collect();
    assert_eq!(broken, [true, true, false]);
    // What differs besides the figures is the target.
    let changed = result["changed"].as_array().unwrap();
    assert!(
        changed.iter().any(|fact| fact["b"] == "sim:4ms"),
        "{changed:?}"
    );

    let none = q2c(
        folder.path(),
        &["diff", &early, &late, "--fail-if", "p98>+1%"],
    );
    assert_eq!(none.code, 2, "{}", none.stderr);
    assert!(none.stderr.contains("p50, p99"), "{}", none.stderr);
    let text = q2c(folder.path(), &["diff", &early, &late]).done();
    assert!(text.contains("\n▸ B is worse in"), "{text}");
    let ticket = q2c(folder.path(), &["diff", &early, &late, "--format", "md"]).done();
    assert!(ticket.contains("| figure | A | B |"), "{ticket}");
    // It is drawn again from its JSON.
    put(
        &folder.path().join("diff.json"),
        serde_json::to_string(&result).unwrap(),
    );
    let again = q2c(folder.path(), &["report", "diff.json"]).done();
    assert!(again.contains("limit: p50>+200%: broken by"), "{again}");

    fs::write(folder.path().join(&late).join("result.json"), "").unwrap();
    let list = q2c(folder.path(), &["runs", "--json"]).json();
    assert_eq!(list["runs"][0]["end"], "unreadable");
    assert_eq!(list["runs"][1]["end"], "complete");
}

#[test]
fn results_of_two_kinds_are_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    let sim = ["poll", "sim", "list.trace", "--policy", "pas", "--json"];
    let list = split(
        "trace import list.txt --format latency-list --unit us --op read --bs 4k --out \
         list.trace",
    );
    fs::write(folder.path().join("list.txt"), "30\n40\n50\n").unwrap();
    q2c(folder.path(), &list).done();
    put(
        &folder.path().join("sim.json"),
        q2c(folder.path(), &sim).done(),
    );
    let said = q2c(folder.path(), &["diff", "sim.json", "sim.json"]);
    assert_eq!(said.code, 3, "{}", said.stderr);
    has_words(
        &said.stderr,
        &[
            "expected a result of q2c tune, q2c bench, q2c replay, q2c analyze, q2c fs bench, q2c poll tune-kernel, q2c place run, found schema `q2c.poll-sim/1`",
        ],
    );
    // A trace is analysed, and alike with itself.
    let same = q2c(folder.path(), &["diff", "list.trace", "list.trace"]).done();
    assert!(
        same.contains("▸ Single values, which tell nothing apart\n"),
        "{same}"
    );
    let wrong = q2c(folder.path(), &["diff", "a", "b", "--fail-if", "p99+5%"]);
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
    assert!(
        wrong
            .stderr
            .contains("expected a limit on a change such as p99>+5%"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn the_shell_is_served() {
    let folder = tempfile::tempdir().unwrap();
    q2c(folder.path(), &["man", "pages"]).done();
    let page = fs::read_to_string(folder.path().join("pages/q2c-poll-sim.1")).unwrap();
    assert!(page.contains("Simulate sleep rules on a trace"), "{page}");
    let pages = fs::read_dir(folder.path().join("pages")).unwrap().count();
    assert!(pages > 40, "{pages}");
    for shell in ["bash", "zsh", "fish"] {
        let script = q2c(folder.path(), &["completions", shell]).done();
        assert!(script.contains("tune-kernel"), "{shell}");
    }
    let rules = q2c(folder.path(), &["poll", "rules"]).done();
    for rule in ["mean", "min", "pas", "uring", "fixed"] {
        assert!(rules.contains(&format!("\n{rule}: ")), "{rule}: {rules}");
    }
    let wide = |line: &&str| line.chars().count() > 120 && !line.starts_with("    q2c ");
    assert_eq!(rules.lines().find(wide), None);
}
