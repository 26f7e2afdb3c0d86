//! Tests of `q2c reproduce` and `q2c experiment`.

use crate::program::*;

/// One job on a device that answers each request after 10 ms, with a second phase at depth 4.
const SMALL: &str = r#"schema = "q2c.reproduce/2"
name = "small"
title = "Do four in flight do four times as many?"
setting = "a device with eight servers"
interval = "50ms"

[windows]
steady = "100ms.."

[[device]]
name = "disk"
make = "sim:10ms,servers=8"

[[job]]
name = "reader"
device = "disk"

[[phase]]
name = "one"
length = "500ms"

[[phase]]
name = "four"
length = "500ms"
set.reader = { depth = 4 }

[[claim]]
says = "four in flight do more than twice as many"
published = "four times"
phase = "four"
window = "steady"
expect = "ratio(iops, one) > 2"

[[claim]]
says = "one in flight does more than 200 in a second"
phase = "one"
expect = "iops > 200"

[[claim]]
says = "it needs more CPUs than anything has"
phase = "one"
needs = { cpus = 100000 }
expect = "iops > 0"

[[chart]]
title = "IOPS over time"
figure = "iops"
over = "time"
published = [{ name = "published", points = [["0.2", 100], ["0.7", 400]] }]

[from]
device = "source"
job = "chosen: the defaults of a job"
phase = { one = "source", four.length = "source", four.set = "chosen: half of the servers" }
"#;

/// The claim of the experiment `small` that no machine can judge.
const LACKS: &str = "it needs more CPUs than anything has";

/// A folder with the experiment `small`.
fn small() -> Place {
    Place::with_file("small.toml", SMALL)
}

fn verdict<'a>(result: &'a Value, says: &str) -> &'a str {
    let claim = entry(result, "claims", "says", says);
    claim["verdict"].as_str().unwrap()
}

#[test]
fn claims_are_judged_and_the_result_is_drawn_again() {
    let folder = small();
    let result = folder.json("reproduce small.toml --trials 3 --json");
    assert_eq!(result["schema"], "q2c.reproduce/2");
    let verdicts = texts(&result, "claims", "verdict");
    assert_eq!(verdicts, ["holds", "does-not-hold", "cannot-judge"]);
    let lacks = entry(&result, "claims", "says", LACKS);
    assert_eq!(lacks["needs"][0]["needed"], "100000");
    // After 10 ms of service come 3 us for the interrupt and 0.6 us for the next submission.
    let iops = number(lacks, "/expects/0/measured/median");
    assert_close(iops, 1e9 / 10_003_600.0);
    assert_eq!(lacks["needs"][0]["present"], "8");
    assert_eq!(result["machine"]["kernel"], "simulated");
    let trials = &lacks["expects"][0]["trials"];
    assert_eq!(number(trials, "/judged"), 3.0);
    assert_eq!(number(trials, "/asked"), 3.0);
    // The series starts with the jobs and has ten intervals in each phase.
    let phases = &result["points"][0]["trials"][0]["phases"];
    for (phase, begin_s) in phases.as_array().unwrap().iter().zip([0.0, 0.5]) {
        assert_eq!(number(phase, "/begin_s"), begin_s);
        assert_eq!(phase["jobs"][0].list("ticks").len(), 10);
    }
    let Reports { table, csv, page } = folder.reports(folder.only_run(), &result);
    let verdicts = "does-not-hold (predicted) | takes 100000 CPUs | Published: four times";
    has_words(&table, verdicts);
    has_words(&csv, "four,reader");
    assert!(csv.lines().count() > 50, "{csv}");
    has_words(&page, "Diamonds: published | does-not-hold");
    has_words(&page, "job: the defaults of a job");
}

/// The machine of the file counts, whatever the run names; a real device cannot have one.
#[test]
fn a_file_may_name_its_machine() {
    let named = SMALL.replacen("title =", "machine = \"cores=3\"\ntitle =", 1);
    let folder = Place::with_file("small.toml", &named);
    let result = folder.json("reproduce small.toml --trials 1 --machine cores=5 --json");
    assert_eq!(result["machine"]["simulated"]["cores"], 3);
    assert_eq!(texts(&result, "claims", "basis")[0], "predicted");
    for (from, to, said) in [
        ("cores=3", "cores=0", "cores = 0: expected 1"),
        (
            "sim:10ms,servers=8",
            "null_blk:size=1g",
            "a machine is for simulated devices",
        ),
    ] {
        let wrong = named.replace(from, to);
        assert_ne!(wrong, named);
        folder.put("small.toml", wrong);
        folder
            .q2c("experiment check small.toml")
            .refused(3, &[said]);
    }
}

#[test]
fn files_are_checked_by_line() {
    let folder = small();
    let sound = folder.done("experiment check small.toml");
    has_words(&sound, "small: sound. 3 claims");
    has_words(
        &sound,
        "from the source: device, phase.four.length | chosen: phase.four.set: half",
    );
    let wrong = SMALL
        .replace("iops > 200", "speed > 200")
        .replace("depth = 4", "depth = 0");
    folder.put("wrong.toml", wrong);
    folder.q2c("experiment check wrong.toml").refused(3, "wrong.toml: line 25: depth is `0` | wrong.toml: line 37: `speed > 200`: there is no figure `speed`; there are iops");
    folder.q2c("reproduce wrong.toml").refused(3, "line 25");
}

#[test]
fn the_list_has_every_file_and_its_needs() {
    let list = Place::new().json("reproduce --list --json");

    let files = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments")).unwrap();
    let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let mut names: Vec<String> = files.map(|file| stem(file.unwrap().path())).collect();
    // The table of what is published is no experiment.
    names.retain(|name| name != "published");
    let mut listed = texts(&list, "experiments", "name");
    names.sort();
    listed.sort_unstable();
    assert_eq!(listed, names);
    let queues = entry(&list, "experiments", "name", "hwqueue-scaling");
    assert_eq!(queues["needs"][0]["needed"], "120");
    let variant = entry(&list, "experiments", "name", "miss-rate-interference-1m");
    assert_eq!(variant["variant_of"], "miss-rate-interference");
}

/// A machine with two CPUs on which a submission takes 1 ms.
const SLOW: &str = "cores = 2\nslice_ns = 3000000\nsubmission_ns = 1000000\nturnaround_ns = 100\nlook_ns = 50\n\
                    switch_ns = 1500\ntimer_ns = 500\nwake_delay_ns = 2500\ninterrupt_ns = 1000\ninterrupt_delay_ns = 3000\n";

/// A run that was cut off after its second trial, as by SIGKILL, ends like the complete run, on the
/// machine of its plan.
#[test]
fn a_run_in_simulated_time_goes_on_on_its_own_machine() {
    let folder = small();
    folder.put("slow.toml", SLOW);
    let whole = folder.q2c("reproduce small.toml --trials 4 --machine slow.toml --json");
    let whole = whole.json();
    let claim = entry(&whole, "claims", "says", LACKS);
    let iops = number(claim, "/expects/0/measured/median");
    assert_close(iops, 1e9 / 11_003_100.0);
    assert_eq!(claim["needs"][0]["present"], "2");
    let run = folder.only_run();
    let change = |name: &str, change: fn(String) -> String| {
        let path = run.join(name);
        fs::write(&path, change(fs::read_to_string(&path).unwrap())).unwrap();
    };
    let running = |text: String| text.replace("\"complete\"", "\"running\"");
    change("state.json", running);
    let two = |text: String| text.split_inclusive('\n').take(2).collect();
    change("cells.jsonl", two);
    fs::remove_file(folder.path().join("slow.toml")).unwrap();
    let resumed = folder.q2c(format!("reproduce --resume {} --json", run.display()));
    has_words(&resumed.stderr, "2 trials done before");
    let resumed = resumed.json();
    for field in ["points", "claims", "machine"] {
        assert_eq!(resumed[field], whole[field], "{field}");
    }
}

/// A sleep of half of 10 ms costs no IOPS. There are five trials of 40 s.
#[test]
fn a_simulated_target_is_measured_in_simulated_time() {
    let result = Place::new().json("reproduce poll-vs-hybrid-cpu --target sim:10ms --json");
    let same = "hybrid polling has the IOPS of polling";
    assert_eq!(verdict(&result, same), "holds");
    assert_eq!(result["machine"]["kernel"], "simulated");
    assert_eq!(result.list("warnings").len(), 0, "{}", result["warnings"]);
}

/// Interrupts of eight threads take 0.6 CPUs: 1.076 us in each 13.6 us.
#[test]
fn interrupts_of_a_simulated_machine_are_no_other_programs() {
    let folder = Place::new();
    let text = SMALL.replace("sim:10ms", "sim:10us");
    let text = text.replace("device = \"disk\"\n", "device = \"disk\"\nthreads = 8\n");
    folder.put("small.toml", text);
    let result = folder.json("reproduce small.toml --trials 1 --scale 0.1 --json");
    assert_eq!(texts(&result, "warnings", "id"), ["times-scaled"]);
}

#[test]
fn a_stopped_run_goes_on() {
    let folder = small();
    let line = "reproduce small.toml --trials 4 --real-time";
    assert_eq!(folder.interrupted(line, "trial 2: took").code, 130);
    let run = folder.only_run();
    let resumed = folder.q2c(format!("reproduce --resume {} --json", run.display()));
    has_words(&resumed.stderr, "2 trials done before");
    let result = resumed.json();
    assert_eq!(result["points"][0].list("trials").len(), 4);
    assert_eq!(result["complete"], true);
    assert_ne!(result["machine"]["kernel"], "simulated");
}

/// A trace of 20 reads, 50 ms apart, loads neither device. Its replay takes 1 s on both, and only
/// the sum of U2C differs.
const COMPARED: &str = r#"schema = "q2c.reproduce/2"
name = "compared"
title = "Which device is better?"
setting = "two devices, one of them half as fast"

[compare]
command = "q2c compare light.parquet FIRST SECOND --max-lateness 10ms"
traces = ["light"]
devices = ["first", "second"]
modes = ["timed"]

[[claim]]
says = "completion time does not tell the devices apart"
expect = ["completion[device=first] ~ 1 s +- 0.2 s", "completion[device=second] ~ 1 s +- 0.2 s"]

[[claim]]
says = "the sum of U2C does"
expect = "sum_u2c[device=second] / sum_u2c[device=first] ~ 2 +- 0.4"
"#;

#[test]
fn a_result_of_compare_is_judged() {
    alone(|| {
        let folder = Place::with_file("compared.toml", COMPARED);
        let reproduce = "reproduce compared.toml --json";
        let without = folder.json(reproduce);
        let claim = &without["claims"][0];
        assert_eq!(claim["verdict"], "cannot-judge");
        let reason = claim["reasons"][0]["why"].as_str().unwrap();
        has_words(reason, "q2c compare light.parquet | --from");
        let row = |n: u64| format!("0,{},4096,R,0.{:02}\n", n * 8, n * 5);
        let rows: String = (0..20).map(row).collect();
        folder.put("light.spc", rows);
        folder.done("trace import light.spc --format spc --out light.parquet");
        let judge = |first: &str, second: &str, out: &str| {
            // A few milliseconds of lateness do not matter beside the 20 ms of the faster device.
            let how = format!("--trials 3 --max-lateness 10ms --out {out}");
            folder.done(format!("compare light.parquet {first} {second} {how}"));
            let run = only_in(&folder.path().join(out));
            folder.json(format!("{reproduce} --from {}", run.display()))
        };
        let run_here = folder.json(format!("{reproduce} --on sim:20ms sim:40ms --trials 3"));
        assert_eq!(verdict(&run_here, "the sum of U2C does"), "holds");
        assert_eq!(run_here["claims"][1]["basis"], "predicted");
        let traces = "traces = [\"light\"]";
        let long = COMPARED.replace(traces, &format!("{traces}\nlengths = [\"10s\"]"));
        folder.put("long.toml", long);
        let other = folder.json("reproduce long.toml --json --on sim:20ms sim:40ms --trials 1");
        let reason = other["claims"][1]["reasons"][0]["why"].as_str().unwrap();
        has_words(reason, "lasts 0.950 s | that of the source 10 s");
        folder.put(
            "wrong.toml",
            COMPARED.replace("--max-lateness 10ms", "--mode timd"),
        );
        let wrong = folder.q2c("experiment check wrong.toml");
        assert_eq!(wrong.code, 3, "{}", wrong.stderr);
        has_words(&wrong.stderr, "timd | the experiment's command");
        let published = judge("sim:20ms", "sim:40ms", "one");
        assert_eq!(
            published["claims"][1]["expects"],
            run_here["claims"][1]["expects"]
        );
        let completion = "completion time does not tell the devices apart";
        assert_eq!(verdict(&published, completion), "holds");
        assert_eq!(verdict(&published, "the sum of U2C does"), "holds");
        let turned = judge("sim:40ms", "sim:20ms", "other");
        assert_eq!(verdict(&turned, "the sum of U2C does"), "does-not-hold");
    });
}

/// Two rules on the library of patterns. One follows the latencies closely; the other sleeps a
/// tenth of the minimum, and so polls most of the time.
const RULES: &str = r#"schema = "q2c.reproduce/2"
name = "rules"
title = "How long should one sleep?"
setting = "nowhere"
trials = 4

[study]
only = true

[[study.group]]
name = "closely followed"
rules = "pas"

[[study.group]]
name = "tenth"
rules = "min:10%,10ms"

[[claim]]
says = "a tenth is best"
expect = "loss[rule=tenth] - min(loss over rule) <= 0 %"

[[claim]]
says = "what follows closely loses less"
expect = 'loss[rule="closely followed"] < loss[rule=tenth]'

[[chart]]
title = "Mean loss"
figure = "loss"
over = "rule"
"#;

/// `pas` sleeps most of the time on almost every pattern and keeps the floor there. So `pas` uses
/// less CPU whichever sources are drawn. A rule with a single configuration has the same loss on
/// sources left out.
#[test]
fn sleep_rules_are_judged_over_the_library() {
    let folder = Place::with_file("rules.toml", RULES);
    let args = "reproduce rules.toml --json";
    let result = folder.json(args);
    assert_eq!(result["study"], "rules");
    assert_eq!(verdict(&result, "a tenth is best"), "does-not-hold");
    assert_eq!(verdict(&result, "what follows closely loses less"), "holds");
    let claim = &result["claims"][1];
    assert_eq!(claim["basis"], "predicted");
    assert_eq!(claim["reasons"][0]["reason"], "predicted");
    let points = result.list("points");
    assert_eq!(points.len(), 2);
    for point in points {
        let trials = point.list("trials");
        assert_eq!(trials.len(), 4);
        for trial in trials {
            let figures = &trial["figures"];
            assert_close(number(figures, "/loss"), number(figures, "/left_out"));
        }
    }
    let Reports { table, csv, page } = folder.reports(folder.only_run(), &result);
    let verdicts = "simulator of sleep rules | does-not-hold (predicted) | closely followed";
    has_words(&table, verdicts);
    // Two groups, four trials and two figures, and a header.
    assert_eq!(csv.lines().count(), 1 + 2 * 4 * 2);
    has_words(&page, "simulator of sleep rules | does-not-hold");
    // The same seed draws the same sets.
    let again = folder.json(args);
    assert_eq!(again["points"], result["points"]);
}

/// The background of this experiment is by libaio: a simulated device takes its costs.
#[test]
fn a_simulated_device_lies_behind_the_interface_of_a_job() {
    let folder = Place::new();
    let run = "reproduce sleep-ratio-interference-2cpu --target sim:1ms,servers=4 --scale 0.02 --trials 1";
    let result = folder.json(format!(
        "{run} --machine cores=8,interfaces.libaio.submission_ns=600 --json"
    ));
    let jobs: Vec<&str> = texts(&result, "jobs", "name");
    assert_eq!(jobs, ["foreground", "background"]);
    assert!(
        result
            .list("points")
            .iter()
            .all(|point| !point.list("trials").is_empty())
    );
    let without = folder.q2c(format!("{run} --machine cores=8"));
    has_words(
        &without.stderr,
        "simulate libaio: expected its costs, found none",
    );
}
