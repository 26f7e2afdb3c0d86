//! Tests of `q2c place`.

use crate::program::*;

const PUBLISHED: &str = "place sim --published --json";

fn setup<'a>(result: &'a Value, name: &str) -> &'a Value {
    entry(result, "setups", "name", name)
}

/// The published figures are 9.1 %, 9.8 % and 21.75 %. The paper does not say which definition of a
/// gain they use, so the nearer one counts.
#[test]
fn the_published_gains_are_predicted_and_the_result_is_always_the_same() {
    let folder = Place::new();
    let printed = folder.done(PUBLISHED);
    assert_eq!(folder.done(PUBLISHED), printed);
    let result = strict_json(&printed);
    let error = |setup: &Value, figure: &str, published: f64| {
        let by = |gain: &str| (number(setup, &format!("/{figure}/{gain}")) - published).abs();
        by("t_over_t_minus_1").min(by("one_minus"))
    };
    let four = setup(&result, "8c8p-4x2");
    assert!(error(four, "gain_over_free_pct", 9.8) <= 5.0, "{four}");
    assert!(error(four, "gain_over_worst_pct", 21.75) <= 5.0, "{four}");
    assert_eq!(four["worst_is"], json!(["bunch"]));
    let one = setup(&result, "2c2p-1x2");
    let times = &one["c_time"];
    let over_spread = 100.0 * (number(times, "/spread") / number(times, "/colocate") - 1.0);
    assert!((over_spread - 9.1).abs() <= 2.0, "{over_spread}");
    let fitted =
        ["2c2p-2x2", "2c2p-1x2", "8c8p-4x2"].map(|name| setup(&result, name)["fitted"].clone());
    assert_eq!(fitted, [json!(true), json!(false), json!(false)]);
    for setup in result.list("setups") {
        for rules in ["proposed", "proposed_literal"] {
            let time = number(setup, &format!("/c_time/{rules}"));
            assert!(time <= 1.02 * number(setup, "/c_time/best"), "{setup}");
        }
    }
    assert_eq!(result["rules"], json!("proposed_literal"));
    let over_free = &four["gain_over_free_pct"];
    let [low, high] = [0, 1].map(|end| number(over_free, &format!("/one_minus_range/{end}")));
    assert!((low..high).contains(&number(over_free, "/one_minus")));
}

#[test]
fn a_simulation_is_drawn_again() {
    let folder = Place::new();
    let sim = "place sim --cores 2 --compute 3 --polling 3 --starts 8";
    let printed = folder.done(format!("{sim} --json"));
    folder.put("place.json", &printed);
    let result = strict_json(&printed);
    let Reports { table, csv, page } = folder.reports("place.json", &result);
    has_words(&table, "with swap | best placement");
    assert_eq!(folder.done(sim), table);
    assert_eq!(csv.lines().count(), 9);
    has_words(&page, "3 computing + 3 polling on 2 cores of 2 threads");
}

/// Without any effect of neighbours only time sharing remains: two tasks on each CPU.
#[test]
fn speeds_come_from_a_file() {
    let folder = Place::new();
    let none = "compute_beside_compute = 1\ncompute_beside_polling = 1\n\
        polling_beside_compute = 1\npolling_beside_polling = 1\n";
    folder.put("s.toml", none);
    let result = folder.json("place sim --speeds s.toml --starts 2 --background none --json");
    assert_eq!(number(&result, "/setups/0/c_time_unit"), 2.0);
    assert_eq!(result["speeds_from"], json!({"file": "s.toml"}));
    assert_eq!(result["warnings"], json!([]));
    let wrong = folder.q2c("place sim --background 5s");
    wrong.refused(2, "two durations such as 500us/4s, or none | found `5s`");
    folder.put("s.toml", none.replace('1', "7"));
    let fast = folder.q2c("place sim --speeds s.toml");
    fast.refused(3, "s.toml | 0.01 to 2 | found 7");
}

/// A process of this name that spins until the value is dropped.
struct Spinner(std::process::Child);

impl Spinner {
    fn start_named(folder: &std::path::Path, name: &str) -> Self {
        let program = folder.join(name);
        fs::copy("/bin/sh", &program).expect("copy the shell");
        let spins = std::process::Command::new(program)
            .args(["-c", "while :; do :; done"])
            .spawn();
        Spinner(spins.expect("start it"))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Guests test the detection of polling; here hints by name replace it.
#[test]
fn a_look_tells_who_polls_and_is_drawn_again() {
    let folder = Place::new();
    let path = folder.path();
    let _spinners = ["q2c-polls", "q2c-computes"].map(|name| Spinner::start_named(path, name));
    folder.put("hints.toml", "polling = ['q2c-pol*']\n");
    let watch = "place watch --json --hints hints.toml --window 300ms";
    let printed = folder.done(watch);
    let look = strict_json(&printed);
    let cpus = look.list("cores").iter().flat_map(|core| core.list("cpus"));
    let tasks: Vec<&Value> = cpus.flat_map(|cpu| cpu.list("tasks")).collect();
    let task = |name: &str| *tasks.iter().find(|t| t["name"] == name).expect("the task");
    assert_eq!(task("q2c-polls")["polls"], json!(true));
    assert_eq!(task("q2c-polls")["by"], json!("hint"));
    assert_eq!(task("q2c-computes")["polls"], json!(false));
    folder.put("look.json", &printed);
    let Reports { table, csv, .. } = folder.reports("look.json", &look);
    has_words(&table, "q2c-polls (hint)");
    assert_eq!(csv.lines().count(), tasks.len() + 1);
    folder.put("hints.toml", "poling = []\n");
    folder.q2c(watch).refused(3, "hints.toml | poling");
}

fn has_smt() -> bool {
    fs::read_to_string("/sys/devices/system/cpu/smt/active").is_ok_and(|text| text.trim() == "1")
}

/// On a machine with SMT these commands would run, and `start` would move tasks of other tests.
#[test]
fn without_smt_nothing_is_calibrated_or_placed() {
    if has_smt() {
        return skip("this machine has SMT; guests without it test it");
    }
    let folder = Place::new();
    let cases = [
        "4 | place calibrate | two logical CPUs of one core | no SMT here",
        "4 | place run | two logical CPUs of one core | no SMT here",
        "4 | place start --journal journal | expected cores with two logical CPUs | --without-smt",
    ];
    refuses_in(folder.path(), &cases);
    for begun in ["runs", "journal"] {
        assert!(!folder.path().join(begun).exists(), "{begun} was begun");
    }
}
