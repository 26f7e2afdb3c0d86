//! Tests of `q2c runs`, of the latest run, and of `q2c diff`.

use crate::program::*;

fn bench(folder: &Path, target: &str) {
    let job = "--method poll --jobs 1 --depth 1";
    let short = "--seconds 200ms --warm-up 200ms --trials 3";
    run_q2c(folder, &format!("bench {target} {job} {short}")).done();
}

/// The folders of the two runs, the latest first, which is the one that is drawn without a name.
fn listed(folder: &Path) -> [String; 2] {
    let list = run_q2c(folder, "runs --json").json();
    let field = |at: usize, what: &str| list["runs"][at][what].as_str().map(str::to_owned);
    for (at, target) in ["sim:4ms", "sim:1ms"].into_iter().enumerate() {
        let target_and_end = (field(at, "target"), field(at, "end"));
        assert_eq!(
            target_and_end,
            (Some(target.to_owned()), Some("complete".to_owned()))
        );
    }
    let paths = [0, 1].map(|at| field(at, "path").unwrap_or_default());
    let drawn = run_q2c(folder, "report").done();
    assert_eq!(drawn, q2c(folder, &["report", &paths[0]]).done());
    paths
}

/// A device of 4 ms after one of 1 ms, each with 500 ns of submission: a quarter of the I/Os fit
/// into the time.
#[test]
fn runs_are_listed_and_compared() {
    let folder = Place::new();
    let none = folder.q2c("runs").done();
    assert_eq!(none, "no runs in runs\n");
    let said = folder.q2c("report");
    assert_eq!(said.code, 3, "{}", said.stderr);
    has_words(&said.stderr, "no run with a result lies in runs");

    bench(folder.path(), "sim:1ms");
    bench(folder.path(), "sim:4ms");
    let [late, early] = listed(folder.path());
    let limits = split("--fail-if p50>+200% --fail-if iops<-50% --fail-if p50>+500%");
    let diff = ["diff", &early, &late, "--json"];
    let said = folder.words(&[&diff[..], &limits].concat());
    assert_eq!(said.code, 7, "{}", said.stderr);
    let result = q2c_testkit::strict_json(&said.stdout);
    let change = |figure: &str| {
        let mut figures = result.list("figures").iter();
        figures
            .find(|change| change["figure"] == figure)
            .unwrap()
            .clone()
    };
    let ratio = change("p50")["ratio"].as_f64().unwrap();
    assert_eq!(ratio, 4_000_500.0 / 1_000_500.0);
    assert_eq!(change("iops")["says"], "worse");
    let broken: Vec<bool> = result
        .list("limits")
        .iter()
        .map(|limit| limit["broken"] != serde_json::json!([]))
        .collect();
    assert_eq!(broken, [true, true, false]);
    // What differs besides the figures is the target.
    let changed = result.list("changed");
    assert!(
        changed.iter().any(|fact| fact["b"] == "sim:4ms"),
        "{changed:?}"
    );

    let none = folder.q2c(format!("diff {early} {late} --fail-if p98>+1%"));
    assert_eq!(none.code, 2, "{}", none.stderr);
    assert!(none.stderr.contains("p50, p99"), "{}", none.stderr);
    let text = folder.q2c(format!("diff {early} {late}")).done();
    assert!(text.contains("\n▸ B is worse in"), "{text}");
    let ticket = folder
        .q2c(format!("diff {early} {late} --format md"))
        .done();
    assert!(ticket.contains("| figure | A | B |"), "{ticket}");
    // It is drawn again from its JSON.
    folder.put("diff.json", serde_json::to_string(&result).unwrap());
    let again = folder.q2c("report diff.json").done();
    assert!(again.contains("limit: p50>+200%: broken by"), "{again}");

    folder.put(Path::new(&late).join("result.json"), "");
    let list = folder.q2c("runs --json").json();
    assert_eq!(list["runs"][0]["end"], "unreadable");
    assert_eq!(list["runs"][1]["end"], "complete");
}

#[test]
fn results_of_two_kinds_are_not_compared() {
    let folder = Place::new();
    let sim = ["poll", "sim", "list.trace", "--policy", "pas", "--json"];
    let list = split(
        "trace import list.txt --format latency-list --unit us --op read --bs 4k --out \
         list.trace",
    );
    folder.put("list.txt", "30\n40\n50\n");
    folder.words(&list).done();
    folder.put("sim.json", folder.words(&sim).done());
    let said = folder.q2c("diff sim.json sim.json");
    assert_eq!(said.code, 3, "{}", said.stderr);
    has_words(
        &said.stderr,
        "expected a result of q2c tune, q2c bench, q2c replay, q2c analyze, q2c fs bench, q2c poll tune-kernel, q2c place run, found schema `q2c.poll-sim/1`",
    );
    // A trace is analysed, and alike with itself.
    let same = folder.q2c("diff list.trace list.trace").done();
    has_words(&same, "▸ Single values, which tell nothing apart\n");
    let wrong = folder.q2c("diff a b --fail-if p99+5%");
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
    let folder = Place::new();
    folder.q2c("man pages").done();
    let page = folder.text("pages/q2c-poll-sim.1");
    assert!(page.contains("Simulate sleep rules on a trace"), "{page}");
    let pages = fs::read_dir(folder.path().join("pages")).unwrap().count();
    assert!(pages > 40, "{pages}");
    for shell in ["bash", "zsh", "fish"] {
        let script = folder.q2c(format!("completions {shell}")).done();
        assert!(script.contains("tune-kernel"), "{shell}");
    }
    let rules = folder.q2c("poll rules").done();
    for rule in ["mean", "min", "pas", "uring", "fixed"] {
        assert!(rules.contains(&format!("\n{rule}: ")), "{rule}: {rules}");
    }
    let wide = |line: &&str| line.chars().count() > 120 && !line.starts_with("    q2c ");
    assert_eq!(rules.lines().find(wide), None);
}
