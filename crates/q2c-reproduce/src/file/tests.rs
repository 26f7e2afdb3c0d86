#[path = "tests/published.rs"]
mod published;

use super::*;
use crate::file::Problem;
use q2c_result::fs::FileSystem;
use q2c_result::reproduce::StudyKind;

const SOUND: &str = r#"schema = "q2c.reproduce/2"
name = "small"
title = "Small"
setting = "nowhere"

[windows]
steady = "100ms.."

[[device]]
name = "disk"
make = "sim:50us,servers={n}"

[[axis]]
name = "n"
values = [1, 2]

[[job]]
name = "foreground"
device = "disk"
method = ["hybrid:mean:ratio=50%,period=10ms", "poll"]

[[phase]]
name = "alone"
length = "1s"

[[phase]]
name = "deep"
length = "1s"
set.foreground = { depth = 4, method = "poll" }

[[claim]]
says = "it works"
phase = "alone"
expect = ["iops[n=1] > 0", "steady.miss_rate[n=2] < 10 %"]
"#;

pub(crate) fn problems(text: &str) -> Vec<Problem> {
    match Experiment::parse(text) {
        Err(ExperimentError::Wrong(problems)) => problems,
        other => panic!("expected problems, found {other:?}"),
    }
}

/// Checks that one change to a correct file causes a problem. Each line of `cases` holds the
/// problem's line, the old text, the new text (`\n` ends a line), and words of the problem.
pub(crate) fn assert_faults(sound: &str, cases: &str) {
    for case in cases.trim().lines() {
        let case = case.replace("\\n", "\n");
        let parts: Vec<&str> = case.split(" | ").collect();
        let [line, from, to, excerpt] = parts[..] else {
            panic!("{case}");
        };
        let text = sound.replacen(from, to, 1);
        assert_ne!(text, sound, "{from}");
        let problems = problems(&text);
        let has_excerpt = |problem: &&Problem| problem.words.contains(excerpt);
        let problem = problems.iter().find(has_excerpt);
        let at = problem.map(|problem| problem.line);
        assert_eq!(at, line.parse().ok(), "{excerpt}: {problems:?}");
    }
}

#[test]
fn a_sound_file_has_its_settings_by_phase_and_point() {
    let experiment = Experiment::parse(SOUND).unwrap();
    assert_eq!(experiment.points().len(), 2);
    let phases = &experiment.jobs[0].phases;
    let at = |phase: usize| {
        let settings = phases[phase].as_ref().unwrap();
        settings.settings_at(&experiment.points()[0]).unwrap()
    };
    assert_eq!((at(0).depth, at(0).methods.len()), (1, 2));
    assert_eq!((at(1).depth, at(1).methods.len()), (4, 1));
    assert!(!experiment.takes_target());
    assert_eq!(experiment.scaled_phases(0.5), [Nanos::from_millis(500); 2]);
    // Two points of 2 s, and a little time to start each trial.
    let length_s = |scale| experiment.length_s(scale, 5).unwrap();
    let (whole, half) = (length_s(1.0), length_s(0.5));
    assert!((20.0..21.0).contains(&whole), "{whole}");
    assert!((half - (whole - 10.0)).abs() < 1e-9, "{half}");
}

#[test]
fn what_is_wrong_is_told_with_line_and_remedy() {
    let cases = r#"
1 | reproduce/2 | reproduce/1 | write schema = "q2c.reproduce/2"
2 | name = "small" | name = "Small one" | lower-case
7 | steady = "100ms.." | steady = "1s..0s" | ends before
7 | steady = "100ms.." | steady = "1s.." | begins at 1 s, and the longest phase lasts 1 s
11 | sim:50us | sum:50us | sim:50us
14 | [[axis]] | [[device]]\nname = "disk"\nmake = "sim:1us"\n[[axis]] | two devices `disk`
15 | values = [1, 2] | values = [1, 1] | twice
15 | values = [1, 2] | values = [1, true] | a number, or a text
19 | device = "disk" | device = "disc" | [[device]]
20 | hybrid:mean | hybrid:median | median
24 | length = "1s"\n\n[[phase]]\nname = "deep" | length = "1"\n\n[[phase]]\nname = "deep" | 20s
29 | depth = 4 | depth = 0 | from 1 to 1024
29 | set.foreground | set.background | no job `background`
33 | phase = "alone" | phase = "lonely" | there are alone, deep
34 | iops[n=1] > 0 | iops > 0 | no value of `n`
34 | iops[n=1] > 0 | speed[n=1] > 0 | there are iops
32 | says = "it works" | say = "it works" | unknown field `say`
"#;
    assert_faults(SOUND, cases);
}

#[test]
fn texts_go_with_the_values_of_an_axis() {
    let axis = "values = [1, 2]\nwith.way = [\"poll\", \"interrupt\"]";
    let text = SOUND.replace("values = [1, 2]", axis);
    let text = text.replace("method = \"poll\"", "method = \"{n.way}\"");
    let experiment = Experiment::parse(&text).unwrap();
    let deep = experiment.jobs[0].phases[1].as_ref().unwrap();
    let points = experiment.points();
    let methods = points.iter().map(|at| {
        let settings = deep.settings_at(&experiment.expand(at)).unwrap();
        settings.methods[0].to_string()
    });
    assert_eq!(methods.collect::<Vec<_>>(), ["poll", "interrupt"]);
    assert_faults(&text, "16 | , \"interrupt\"] | ] | write one for each");
    let kernel = |method: &str| SOUND.replace("\"poll\" }", &format!("\"{method}\" }}"));
    let unfit = kernel("hybrid-kernel:pas");
    assert!(problems(&unfit)[0].words.contains("more than the times"));
    for method in ["", ":57us", ":min:70%,10ms"] {
        let method = &format!("hybrid-kernel{method}");
        assert!(Experiment::parse(&kernel(method)).is_ok(), "{method}");
    }
}

#[test]
fn the_scheduler_of_a_real_machine_places_unpinned_threads() {
    let text = SOUND.replace("depth = 4", "depth = 4, cpus = \"any\"");
    let experiment = Experiment::parse(&text).unwrap();
    let at = experiment.expand(&experiment.points()[0]);
    let cpus = experiment.jobs[0].phases.iter().flatten();
    let cpus: Vec<_> = cpus.map(|s| s.settings_at(&at).unwrap().cpus).collect();
    assert_eq!(cpus, [Some(1), None]);
    let simulated = text.replace("title =", "machine = \"cores=2\"\ntitle =");
    assert_faults(&simulated, "30 | depth = 4 | depth = 3 | no scheduler");
}

#[test]
fn all_problems_are_told_in_order() {
    let text = SOUND.replace("depth = 4", "depth = 0");
    let text = text.replace("reproduce/2", "x");
    let lines = |text: &str| -> Vec<usize> { problems(text).iter().map(|p| p.line).collect() };
    assert_eq!(lines(&text), [1, 29]);
    // A wrong name outside an expression and one inside; each is reported at its place.
    let places = "phase = \"lonely\"\nwindow = \"stedy\"";
    let names = SOUND.replace("phase = \"alone\"", places);
    let names = names.replace("iops[n=1] > 0", "speed[n=1] > 0");
    assert_eq!(lines(&names), [33, 34, 35]);
}

#[test]
fn built_in_experiments_are_sound_and_others_are_refused() {
    let experiments = crate::file::built_in_experiments().unwrap();
    for experiment in &experiments {
        for (claim, _) in &experiment.claims {
            assert!(!claim.expects.is_empty());
        }
        if let Some(variant) = &experiment.variant_of {
            let literal = experiments.iter().find(|other| other.name == variant.name);
            let literal = literal.expect(&variant.name);
            assert!(literal.variant_of.is_none() && !variant.reason.is_empty());
        }
    }
    let error = crate::file::built_in_experiment("miss").unwrap_err();
    let error = error.to_string();
    assert!(error.contains("miss-rate-interference"), "{error}");
}

#[test]
fn a_mounted_device_is_studied_without_jobs() {
    let sound = r#"schema = "q2c.reproduce/2"
name = "mounted"
title = "Mounted"
setting = "nowhere"

[[device]]
name = "ram"
make = "ramdisk_mq:size=64m,bs=4k"
mount = "f2fs"

[[claim]]
says = "it is read"
expect = "page_cache_gain / size > 0.5"
"#;
    let experiment = Experiment::parse(sound).unwrap();
    assert_eq!(experiment.study(), StudyKind::Mount);
    let mounted = Some(("ram", FileSystem::F2fs));
    assert_eq!(experiment.mounted_device(), mounted);
    let cases = r#"
9 | "f2fs" | "fat" | unknown variant `fat`
9 | ramdisk_mq:size=64m,bs=4k | loop:1g | mounted on ramdisk_mq, and
9 | [[claim]] | [[device]]\nname = "other"\nmake = "sim:1ms"\n[[claim]] | makes one device
2 | [[claim]] | [[job]]\nname = "j"\ndevice = "ram"\n[[phase]]\nname = "p"\nlength = "1s"\n[[claim]] | only one of them
2 | mount = "f2fs" | # | there is no job
13 | size > 0.5 | iops > 0.5 | there are mounts, size
"#;
    assert_faults(sound, cases);
}

#[test]
fn a_mix_takes_a_mounted_device_and_a_cpu_for_each_task() {
    let sound = r#"schema = "q2c.reproduce/2"
name = "mix"
title = "Mixed"
setting = "nowhere"

[[axis]]
name = "cores"
values = [1, 3]

[[device]]
name = "disk"
make = "null_blk:size=64m"
mount = "ext4"

[mix]
tasks = "{cores}"
length = "10s"

[[claim]]
says = "it works"
expect = "jobs_per_minute[cores=3] > 1"
"#;
    let experiment = Experiment::parse(sound).unwrap();
    assert_eq!(experiment.study(), StudyKind::Mix);
    assert_eq!(experiment.cpus(), Some(3));
    let loop_device = sound.replace("null_blk", "loop").replace("size=", "");
    assert!(Experiment::parse(&loop_device).is_ok());
    // 2 points x 3 trials x 1 s, and some time to begin and end.
    let length_s = experiment.length_s(0.1, 3).unwrap();
    assert!((6.0..9.0).contains(&length_s), "{length_s}");
    let cases = r#"
13 | size=64m | memory_backed=0 | null_blk with memory
13 | null_blk:size=64m | sim:1ms | null_blk with memory
16 | mount = "ext4" | # | needs a file system
16 | "{cores}" | "{tasks}" | 1 to 1024
17 | "10s" | "10ms" | 50ms
17 | length = "10s" | width = "10s" | unknown field
21 | jobs_per_minute | iops | there are jobs_per_minute
"#;
    assert_faults(sound, cases);
}

#[test]
fn one_real_device_at_one_point_takes_real_time() {
    let need = |from: &str, to: &str, target: bool| {
        let experiment = Experiment::parse(&SOUND.replace(from, to)).unwrap();
        experiment.needs_real_time(target)
    };
    assert_eq!(need("", "", false), None);
    let axis = "values = [1, 2]\nwith.make = [\"sim:1ms\", \"loop:1g\"]";
    let mixed = SOUND.replace("sim:50us,servers={n}", "{n.make}");
    let mixed = Experiment::parse(&mixed.replace("values = [1, 2]", axis)).unwrap();
    let reason = mixed.needs_real_time(true);
    assert_eq!(reason.as_deref(), Some("it makes loop:1g"));
    let target = ("device = \"disk\"", "device = \"target\"");
    assert_eq!(need(target.0, target.1, true), None);
    assert!(need(target.0, target.1, false).is_some());
    let device = "[[device]]\nname = \"disk\"\nmake = \"sim:50us,servers={n}\"\n";
    let null = SOUND.replace(target.0, "engine = \"null\"");
    let null = Experiment::parse(&null.replace(device, "")).unwrap();
    assert!(null.needs_real_time(true).is_some());
}
