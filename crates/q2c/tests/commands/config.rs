//! Tests of the configuration file.

use crate::program::*;
use std::os::unix::fs::chown;

/// A run in a folder below the file takes target, settings and limits from the file. Typed options
/// win, and the run can be repeated from its stored settings.
#[test]
fn a_run_takes_from_the_file_what_was_not_typed() {
    waiting(|| {
        let folder = Place::new();
        let below = folder.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        folder.put(
            "q2c.toml",
            "[targets]\nslow = \"sim:1ms\"\n\n[defaults]\nout = \"kept\"\nseconds = \"200ms\"\n\n[bench]\nmethod = \"poll\"\n\
             trials = 3\nwarm-up = \"200ms\"\nfail-if = \"iops>1\"\n",
        );
        let first = run_q2c(&below, "bench @slow --trials 2");
        assert_eq!(first.code, 7, "{}", first.stderr);
        has_words(&first.stderr, "limit iops>1: broken by");
        let mut lines = first.stderr.lines();
        let from_line = lines.find(|line| line.starts_with("from ")).unwrap();
        for (word, is_told) in [
            ("@slow = sim:1ms", true),
            ("defaults.seconds = 200ms", true),
            ("bench.method = poll", true),
            ("trials", false),
        ] {
            assert_eq!(from_line.contains(word), is_told, "{word}: {from_line}");
        }
        let run = only_in(&folder.path().join("kept"));
        let plan = "target = \"sim:1ms\" | seconds = 0.2 | trials = 2 | method = [\"poll\"]";
        has_words(&folder.text(run.join("plan.toml")), plan);
        let kept = run.join("config.toml");
        let text = folder.text(&kept);
        has_words(&text, "slow = \"sim:1ms\"");
        assert!(!text.contains("trials"), "{text}");

        // `q2c runs` and `q2c report` use the same folder.
        let list = run_q2c(&below, "runs --json").json();
        assert_eq!(list.list("runs").len(), 1, "{list}");
        assert_eq!(run_q2c(&below, "report").done(), first.stdout);

        let elsewhere = tempfile::tempdir().unwrap();
        let kept = kept.to_str().unwrap();
        let command_line = format!("bench @slow --trials 2 --config {kept} --fail-if iops>2000");
        let again = run_q2c(elsewhere.path(), &command_line);
        assert_eq!(again.code, 0, "{}", again.stderr);
        assert_eq!(fs::read_dir(folder.path().join("kept")).unwrap().count(), 2);
    });
}

#[test]
fn the_doctor_tells_what_the_file_sets_or_what_is_wrong_in_it() {
    let folder = Place::new();
    let check = |options: &str| {
        let report = folder.json(format!("doctor --json {options}"));
        let check = entry(&report, "checks", "id", "config");
        ["verdict", "found"].map(|field| check[field].as_str().unwrap().to_owned())
    };
    assert_eq!(check("")[1], "no q2c.toml");
    let text = "[targets]\nx = \"sim:1ms\"\n[tune]\ntrials = 3\n";
    folder.put("q2c.toml", text);
    let [verdict, finding] = check("");
    assert_eq!(verdict, "pass");
    let sets = "q2c.toml: @x = sim:1ms, tune.trials = 3";
    assert!(finding.ends_with(sets), "{finding}");
    assert_eq!(check("--no-config")[1], "no q2c.toml");
    folder.put("q2c.toml", "[tune]\ntrals = 3\nseconds = \"0\"\n");
    let [verdict, finding] = check("");
    assert_eq!(verdict, "warn");
    let phrases = "line 2, column 1: expected a key of [tune] | did you mean `trials`?";
    has_words(&finding, phrases);
    folder.put("q2c.toml", "[tune]\ntrials = 0\nseconds = \"0\"\n");
    let phrases = "line 2, column 10: tune.trials:  | line 3, column 11: tune.seconds: ";
    has_words(&check("")[1], phrases);
}

#[test]
fn a_file_with_a_fault_is_refused_where_it_matters() {
    let folder = Place::with_file("q2c.toml", "[tune]\nsecnds = 3\n");
    let said = "q2c.toml: line 2, column 1: expected a key of [tune]";
    let runs = folder.q2c("runs");
    runs.refused(3, &[said, "did you mean `seconds`?"]);
    assert_eq!(folder.done("runs --no-config"), "no runs in runs\n");
    folder.done("poll rules");
    let cases = [
        "3 | runs --config gone.toml | gone.toml",
        "2 | runs --config x --no-config | cannot be used",
        "2 | tune @x --no-config | find the target @x | ./@x",
    ];
    refuses_in(folder.path(), &cases);

    let other = folder.path().join("other.toml");
    fs::write(&other, "[defaults]\nout = \"there\"\n").unwrap();
    let output = q2c_command(folder.path(), &["runs"])
        .env("Q2C_CONFIG", &other)
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let there = folder.path().canonicalize().unwrap().join("there");
    assert_eq!(stdout, format!("no runs in {}\n", there.display()));
}

#[test]
fn no_file_allows_writing() {
    let folder = Place::with_file("q2c.toml", "[targets]\nx = \"data\"\n");
    let named = folder.q2c("bench @x --rw randwrite --allow-write @x");
    named.refused(2, "--allow-write takes no name of q2c.toml");
    folder.put("q2c.toml", "[bench]\nallow-write = \"data\"\n");
    folder.q2c("bench data").refused(3, "found `allow-write`");
}

/// A file that another user put above this folder is ignored unless it is named. A file of the user
/// behind sudo is not another user's.
#[test]
fn a_strangers_file_is_not_obeyed() {
    let folder = Place::with_file("q2c.toml", "[defaults]\nout = \"there\"\n");
    if chown(folder.path().join("q2c.toml"), Some(65_534), None).is_err() {
        return skip("not root");
    }
    let said = ["q2c.toml belongs to user 65534", "--no-config"];
    folder.q2c("runs").refused(3, &said);
    folder.done("runs --config q2c.toml");
    folder.done("runs --no-config");
    let code_behind_sudo = |user| {
        let mut command = q2c_command(folder.path(), &["runs"]);
        let output = command.env("SUDO_UID", user).output();
        output.unwrap().status.code()
    };
    assert_eq!(code_behind_sudo("65534"), Some(0));
    assert_eq!(code_behind_sudo("65533"), Some(3));
}
