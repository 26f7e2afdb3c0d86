//! Tests of `q2c runs`, of the latest run, and of `q2c diff`.

use crate::program::*;

fn bench(folder: &Path, target: &str) {
    let job = "--method poll --jobs 1 --depth 1";
    let short = "--seconds 200ms --warm-up 200ms --trials 3";
    run_q2c(folder, &format!("bench {target} {job} {short}")).done();
}

/// The folders of the two runs, the latest first. Without a name, `q2c report` draws the latest.
fn listed(folder: &Path) -> [String; 2] {
    let list = run_q2c(folder, "runs --json").json();
    let field = |nth: usize, name: &str| list["runs"][nth][name].as_str().map(str::to_owned);
    for (nth, target) in ["sim:4ms", "sim:1ms"].into_iter().enumerate() {
        assert_eq!(field(nth, "target").as_deref(), Some(target));
        assert_eq!(field(nth, "end").as_deref(), Some("complete"));
    }
    let paths = [0, 1].map(|nth| field(nth, "path").unwrap_or_default());
    let drawn = run_q2c(folder, "report").done();
    assert_eq!(drawn, q2c(folder, &["report", &paths[0]]).done());
    paths
}

/// A device of 4 ms after one of 1 ms, each with 500 ns of submission: a quarter of the I/Os fit
/// into the time.
#[test]
fn runs_are_listed_and_compared() {
    let folder = Place::new();
    let none = folder.done("runs");
    assert_eq!(none, "no runs in runs\n");
    let none = folder.q2c("report");
    none.refused(3, "no run with a result lies in runs");

    bench(folder.path(), "sim:1ms");
    bench(folder.path(), "sim:4ms");
    let [late, early] = listed(folder.path());
    let limits = "--fail-if p50>+200% --fail-if iops<-50% --fail-if p50>+500%";
    let ended = folder.q2c(format!("diff {early} {late} --json {limits}"));
    assert_eq!(ended.code, 7, "{}", ended.stderr);
    let result = strict_json(&ended.stdout);
    let change = |figure: &str| entry(&result, "figures", "figure", figure);
    assert_eq!(number(change("p50"), "/ratio"), 4_000_500.0 / 1_000_500.0);
    assert_eq!(change("iops")["says"], "worse");
    let limits = result.list("limits").iter();
    let broken = limits.map(|limit| limit["broken"] != json!([]));
    assert!(broken.eq([true, true, false]), "{}", result["limits"]);
    // Besides the figures only the target differs.
    entry(&result, "changed", "b", "sim:4ms");

    let diff = |how: &str| folder.q2c(format!("diff {early} {late} {how}"));
    diff("--fail-if p98>+1%").refused(2, "p50, p99");
    has_words(&diff("").done(), "\n▸ B is worse in");
    has_words(&diff("--format md").done(), &["| figure | A | B |"]);
    // The comparison can be drawn again from its JSON.
    folder.put("diff.json", result.to_string());
    let again = folder.done("report diff.json");
    has_words(&again, "limit: p50>+200%: broken by");

    folder.put(Path::new(&late).join("result.json"), "");
    let list = folder.json("runs --json");
    assert_eq!(list["runs"][0]["end"], "unreadable");
    assert_eq!(list["runs"][1]["end"], "complete");
}

#[test]
fn the_shell_is_served() {
    let folder = Place::new();
    folder.done("man pages");
    let page = folder.text("pages/q2c-poll-sim.1");
    has_words(&page, "Simulate sleep rules on a trace");
    let pages = fs::read_dir(folder.path().join("pages")).unwrap().count();
    assert!(pages > 40, "{pages}");
    for shell in ["bash", "zsh", "fish"] {
        let script = folder.done(format!("completions {shell}"));
        assert!(script.contains("tune-kernel"), "{shell}");
    }
    let rules = folder.done("poll rules");
    for rule in ["mean", "min", "pas", "uring", "fixed"] {
        assert!(rules.contains(&format!("\n{rule}: ")), "{rule}: {rules}");
    }
    let wide = |line: &&str| line.chars().count() > 120 && !line.starts_with("    q2c ");
    assert_eq!(rules.lines().find(wide), None);
}
