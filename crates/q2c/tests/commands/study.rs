//! Tests of `q2c poll study`.

use crate::program::*;

/// Writes a folder with a list of latencies for each device, whose time is constant, us.
fn lists(devices: &[(&str, u32)]) -> Place {
    let folder = Place::new();
    for (name, us) in devices {
        folder.put(name, format!("{us}\n").repeat(300));
    }
    folder
}

/// Sleeps end 2 us late, and nothing else has a cost. On 100 us a sleep of 80 % leaves 18 us to
/// poll, and the formula 2 us; on 200 us they leave 38 and 2 us. The best of `min` is 80 %.
#[test]
fn a_study_is_scored_and_drawn_again() {
    let folder = lists(&[("a.txt", 100), ("b.txt", 200)]);
    let study = "poll study --only --rules min:50%|80%,1ms --wake-delay 2us --unit us \
                 --patterns a.txt b.txt --rule 'min - 4us'";
    let printed = folder.done(format!("{study} --json"));
    let result = strict_json(&printed);
    assert_eq!(result["schema"], "q2c.poll-study/1");
    let rules = result.list("rules");
    assert_eq!(rules.len(), 2);
    assert_eq!(rules[0]["rule"], "min - 4us");
    assert_close(number(&rules[0], "/sources_left_out/mean_loss"), 0.0);
    let min = (1.0 - 2.0 / 18.0 + 1.0 - 2.0 / 38.0) / 2.0;
    assert_close(number(&rules[1], "/sources_left_out/mean_loss"), min);
    assert_close(number(&rules[1], "/patterns_left_out/mean_loss"), min);
    assert_eq!(result["patterns"][1]["name"], "b");
    assert_eq!(result["published"]["verdict"], "cannot-judge");

    folder.put("study.json", &printed);
    let Reports { table, csv, page } = folder.reports("study.json", &result);
    // Two runs differ only in speed, which the table does not show.
    assert_eq!(folder.done(study), table);
    has_words(&table, "best on average: rule:period=10ms");
    assert_eq!(csv.lines().count(), 1 + 3 * 2, "{csv}");
    assert!(page.contains("Loss of each rule on each pattern"));
}

/// Without `--only` the standard grid competes too: 304 configurations of `min` and `mean`, and all
/// other ranked rules.
#[test]
fn a_new_rule_competes_with_the_standard_grid() {
    let folder = lists(&[("a.txt", 100), ("b.txt", 200)]);
    let study = "poll study --unit us --measure 100ms --patterns a.txt b.txt \
                 --html s.html --csv s.csv --json --rule 'min - 4us'";
    let result = folder.json(study);
    let rules = texts(&result, "rules", "rule");
    for rule in ["min - 4us", "mean", "min", "pas", "qt"] {
        assert!(rules.contains(&rule), "{rules:?}");
    }
    assert!(result.list("configurations").len() > 304);
    assert!(folder.path().join("s.html").exists() && folder.path().join("s.csv").exists());
}

/// Without patterns the library is studied, with the costs of the published machine.
#[test]
fn the_library_is_studied_when_nothing_is_named() {
    let folder = Place::new();
    let study =
        "poll study --only --rules pas --rules min:70%,10ms --rules ehp --measure 100ms --json";
    let result = folder.json(study);
    let patterns = result.list("patterns");
    assert!(patterns.len() >= 20, "{}", patterns.len());
    let cost = result["cost"].as_str().unwrap();
    assert!(cost.starts_with("published machine"), "{cost}");
    assert_eq!(patterns[0]["path"], "bimodal-30us-300us.parquet");
    assert_eq!(patterns[0]["source"], "model:bimodal-30us-300us");
    assert_eq!(result["not_ranked"][0]["why"], "takes-interrupts");
    let result = folder.json(format!("{study} --interrupts"));
    assert_eq!(result.list("rules").len(), 3);
}

/// A rule that sleeps just less than a device's constant time is best. The search may not use
/// held-out sources, and its result can be drawn again.
#[test]
fn a_search_holds_sources_out_and_is_drawn_again() {
    let folder = lists(&[("a.txt", 60), ("b.txt", 100), ("c.txt", 200), ("d.txt", 80)]);
    let search = "poll search --patterns a.txt b.txt c.txt d.txt --unit us --measure 50ms \
         --warm-up 20ms --points 4 --rounds 2 --finalists 1";
    let named = format!("{search} --hold-out b --hold-out d");
    let printed = folder.done(format!("{named} --json"));
    let result = strict_json(&printed);
    assert_eq!(texts(&result, "searched", "name"), ["a", "c"]);
    assert_eq!(texts(&result, "held_out", "name"), ["b", "d"]);
    let roles = texts(&result, "contenders", "role");
    let count = |role: &str| roles.iter().filter(|r| **r == role).count();
    assert_eq!((count("finalist"), count("reference")), (1, 3), "{roles:?}");
    folder.put("search.json", &printed);
    let table = folder.done("report search.json");
    assert_eq!(folder.done(&named), table);
    has_words(&table, "opened on what was held out");
    assert_eq!(folder.json("report search.json --json"), result);
    folder.done("report search.json --html search.html");
    // A third of four sources is one; the seed draws it.
    let drawn = folder.json(format!("{search} --json"));
    assert_eq!(drawn.list("held_out").len(), 1);
    let unknown = folder.q2c(format!("{search} --hold-out e"));
    unknown.refused(2, "`e` | a, b, c, d");
}
