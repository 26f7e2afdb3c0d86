use crate::file::check::tests::{assert_faults, problems};
use crate::file::{Experiment, built_in_experiments};
use q2c_result::reproduce::SettingOrigin;

/// The job's depth, engine, pattern and threads are defaults; phases set its method.
const SOUND: &str = r#"schema = "q2c.reproduce/2"
name = "origins"
title = "Where does it come from?"
setting = "one reader"

[from]
axis.n = { values = "source", with.time = "chosen: the source names no time" }
device = "source"
job.reader.bs = "source"
job.reader.device = "source"
job.reader.depth = "chosen: the source names none"
job.reader.engine = "source"
job.reader.pattern = "source"
job.reader.threads = "source"
phase = "source"

[[device]]
name = "disk"
make = "sim:{n.time},servers={n}"

[[axis]]
name = "n"
values = [1, 2]
with.time = ["1ms", "2ms"]

[[job]]
name = "reader"
device = "disk"
bs = "4k"

[[phase]]
name = "only"
length = "1s"
set.reader = { method = "poll" }

[[claim]]
says = "it works"
published = "it works"
at.n = 1
expect = "iops > 0"
"#;

#[test]
fn every_setting_has_an_origin_and_every_origin_a_setting() {
    let experiment = Experiment::parse(SOUND).unwrap();
    let is_chosen = |origin: &&SettingOrigin| origin.chosen.is_some();
    let (chosen, from_source): (Vec<_>, Vec<_>) = experiment.origins.iter().partition(is_chosen);
    let from_source: Vec<&str> = from_source.iter().map(|o| o.setting.as_str()).collect();
    let source = "axis.n.values device job.reader.bs job.reader.device job.reader.engine \
                  job.reader.pattern job.reader.threads phase";
    assert_eq!(from_source.join(" "), source);
    let wanted = [
        ("axis.n.with.time", "the source names no time"),
        ("job.reader.depth", "the source names none"),
    ];
    let wanted = wanted.map(|(setting, reason)| SettingOrigin {
        setting: setting.to_owned(),
        chosen: Some(reason.to_owned()),
    });
    assert_eq!(chosen, wanted.iter().collect::<Vec<_>>());
    let cases = r#"
7 | , with.time = "chosen: the source names no time" | , with.tine = "source" | no setting `tine`; there are time
24 | , with.time = "chosen: the source names no time" |  | say where `axis.n.with` comes
8 | device = "source" | device = "chosen: " | `device` has no origin here; write device = "source"
8 | device = "source" | device = 1 | `device` has no origin here
8 | device = "source" | device.disc = "source" | no setting `disc`; there are disk
8 | device = "source" | device.disk.make.size = "source" | `device.disk.make` has no origin here
17 | device = "source" | # | say where `device` comes from
9 | job.reader.bs = | job.reader.size = | no setting `size`
26 | job.reader.depth = "chosen: the source names none" | # | say where `job.reader.depth` comes from
28 | job.reader.device = "source" | # | say where `job.reader.device` comes from
16 | phase = "source" | phase = "source"\nwindow = "source" | no setting `window`
6 | [from] | [other] | unknown field `other`
"#;
    assert_faults(SOUND, cases);
}

#[test]
fn only_published_claims_of_no_variant_demand_origins() {
    let from = SOUND.find("[from]").unwrap();
    let device = SOUND.find("[[device]]").unwrap();
    let without = [&SOUND[..from], &SOUND[device..]].concat();
    let problems = problems(&without);
    assert_eq!((problems.len(), problems[0].line), (1, 2));
    let message = &problems[0].words;
    assert!(
        message.contains("write [from] with axis, device, job, phase"),
        "{message}"
    );
    let unpublished = without.replace("published = \"it works\"\n", "");
    assert_eq!(Experiment::parse(&unpublished).unwrap().origins, []);
    let variant = "variant_of = { name = \"x\", reason = \"y\" }\n\n[[device]]";
    let variant = without.replace("[[device]]", variant);
    assert_eq!(Experiment::parse(&variant).unwrap().origins, []);
}

/// A literal file of published claims says what stands in its source. Reasons are one sentence.
#[test]
fn built_in_experiments_name_their_origins() {
    for experiment in built_in_experiments().unwrap() {
        let name = &experiment.name;
        let is_literal = experiment.variant_of.is_none();
        assert_eq!(experiment.origins.is_empty(), !is_literal, "{name}");
        for reason in experiment
            .origins
            .iter()
            .filter_map(|origin| origin.chosen.as_ref())
        {
            assert!(reason.split(' ').count() <= 25, "{name}: {reason}");
            assert!(
                !reason.contains(". ") && !reason.ends_with('.'),
                "{name}: {reason}"
            );
        }
    }
}
