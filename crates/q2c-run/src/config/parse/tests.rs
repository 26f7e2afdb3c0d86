//! Tests of what a file may hold.

use super::*;

fn read(text: &str) -> Result<Config, Vec<SettingError>> {
    let tables = [DEFAULTS, "tune"].map(|name| ConfigTable {
        name,
        keys: vec!["seconds", "bs", "fail-if", "out"],
    });
    parse(Path::new("/lab/q2c.toml"), text, &tables)
}

fn texts<'a>(config: &'a Config, table: &str, key: &str) -> Option<Vec<&'a str>> {
    let setting = config.setting(table, key, true)?;
    Some(setting.texts().collect())
}

#[test]
fn settings_are_texts_as_they_would_be_typed() {
    let text = r#"
[targets]
disk = "/dev/nvme0n1"
file = "./data.bin"

[defaults]
seconds = 2
out = "runs"
bs = "4k"

[tune]
seconds = 0.5
fail-if = ["p99>200us", "iops<50000"]
"#;
    let config = read(text).unwrap();
    assert_eq!(config.targets["disk"], "/dev/nvme0n1");
    assert_eq!(config.targets["file"], "/lab/./data.bin");
    // The command's own table comes first.
    assert_eq!(texts(&config, "tune", "seconds"), Some(vec!["0.5"]));
    assert_eq!(texts(&config, "bench", "seconds"), Some(vec!["2"]));
    assert_eq!(texts(&config, "tune", "bs"), Some(vec!["4k"]));
    assert_eq!(texts(&config, "tune", "out"), Some(vec!["/lab/runs"]));
    let limits = vec!["p99>200us", "iops<50000"];
    assert_eq!(texts(&config, "tune", "fail-if"), Some(limits));
    assert_eq!(texts(&config, "bench", "fail-if"), None);
    assert_eq!(config.setting("bench", "seconds", false), None);
    let setting = config.setting("tune", "fail-if", false).unwrap();
    assert_eq!(setting.name(), "tune.fail-if");
    let place = setting.values[1].place;
    assert_eq!((place.line, place.column), (13, 25));
}

#[test]
fn all_faults_are_told_with_their_places() {
    let text = r#"[targets]
"a b" = "x"
disk = 7
[defalts]
[tune]
secnds = 1
bs = true
fail-if = []
xyzzy = 1
"#;
    let faults = read(text).unwrap_err();
    let messages: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let wanted = [
        (2, 1, "found `a b`"),
        (3, 8, "such as \"/dev/nvme0n1\""),
        (4, 2, "found `defalts`; did you mean `defaults`?"),
        (6, 1, "found `secnds`; did you mean `seconds`?"),
        (7, 6, "or a list of them for bs"),
        (8, 11, "found an empty list"),
        (9, 1, "one of seconds, bs, fail-if, out, found `xyzzy`"),
    ];
    assert_eq!(messages.len(), wanted.len(), "{messages:#?}");
    for (message, (line, column, end)) in messages.iter().zip(wanted) {
        let begin = format!("line {line}, column {column}: ");
        assert!(message.starts_with(&begin), "{message}");
        assert!(message.ends_with(end), "{message}");
    }
}

#[test]
fn what_is_not_toml_has_a_place() {
    let faults = read("[tune]\nseconds = \n").unwrap_err();
    assert_eq!(faults[0].place.line, 2, "{faults:?}");
    let faults = read("tune = 3\n").unwrap_err();
    assert_eq!(faults[0].words, "expected a table [tune], found a value");
    let nothing = Config {
        path: "/lab/q2c.toml".into(),
        ..Config::default()
    };
    assert_eq!(read(""), Ok(nothing));
}

/// The file that lists what a run took can be parsed again.
#[test]
fn what_was_taken_is_read_again() {
    let config = read("[targets]\ndisk = \"/dev/sda\"\n[tune]\nfail-if = [\"p99>5us\", \"iops<5\"]\nseconds = 2\n").unwrap();
    let settings: Vec<&Setting> = config.settings.iter().collect();
    let text = crate::config::to_toml(&config.path, &config.targets, &settings);
    let head = "# What the run took from /lab/q2c.toml\n";
    assert!(text.starts_with(head), "{text}");
    let again = read(&text).unwrap();
    assert_eq!(again.targets, config.targets);
    assert_eq!(texts(&again, "tune", "seconds"), Some(vec!["2"]));
    let limits = |config| texts(config, "tune", "fail-if");
    assert_eq!(limits(&again), limits(&config));
}
