//! The corpus: stored results of every kind, samples of every input format, and command lines, with
//! the outputs that q2c makes from them.
//!
//! `corpus.tar.zst` has three folders. `inputs/` holds `results/NAME.json`, samples, and
//! `lines.txt` with a command line in each line, as a JSON list. The outputs are in two folders.
//! `facts/` holds data: results written again, their cells as CSV, exit codes, records. `looks/`
//! holds what people read: answers at 80 columns, everything at 160, Markdown, the text of pages,
//! messages.
//!
//! An intended change is accepted by `Q2C_ACCEPT=1 cargo test -p q2c --test commands corpus`.

use crate::program::*;
use q2c_report::stored_results;
use q2c_report::terminal::Screen;
use q2c_testkit::{ArchiveFiles, pack, unpack};
use std::collections::BTreeSet;
use std::process::Command;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus.tar.zst");

#[test]
fn what_is_made_of_the_corpus() {
    let path = Path::new(CORPUS);
    let kept = unpack(path);
    let inputs = kept.iter().filter(|(name, _)| name.starts_with("inputs/"));
    let mut made: ArchiveFiles = inputs.map(|(n, text)| (n.clone(), text.clone())).collect();
    let folder = Place::new();
    write(&made, folder.path());
    let results = draw_results(&made);
    made.extend(results);
    made.extend(run_lines(&folder.path().join("inputs")));
    if std::env::var_os("Q2C_ACCEPT").is_some() {
        return pack(&made, path);
    }
    if made == kept {
        return;
    }
    for (name, files) in [("kept", &kept), ("now", &made)] {
        write(files, &folder.path().join(name));
    }
    let mut diff = Command::new("diff");
    diff.current_dir(folder.path());
    let output = diff.args(["-ruN", "-U1", "kept", "now"]).output().unwrap();
    let differences = String::from_utf8_lossy(&output.stdout);
    let first_lines: Vec<&str> = differences.lines().take(400).collect();
    panic!(
        "the corpus changed; Q2C_ACCEPT=1 accepts it:\n{}",
        first_lines.join("\n")
    );
}

fn write(files: &ArchiveFiles, folder: &Path) {
    for (name, content) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// Draws each stored result in every form, and returns the texts by name.
fn draw_results(inputs: &ArchiveFiles) -> ArchiveFiles {
    let mut made = ArchiveFiles::new();
    let mut schemas = BTreeSet::new();
    for (path, text) in inputs {
        let Some(name) = path.strip_prefix("inputs/results/") else {
            continue;
        };
        let name = name.trim_end_matches(".json");
        let mut keep = |layer: &str, form: &str, text: String| {
            made.insert(format!("{layer}/results/{name}.{form}"), text.into_bytes());
        };
        let result = match stored_results::read(&String::from_utf8_lossy(text)) {
            Ok(result) => result,
            Err(refused) => {
                keep("looks", "refused", refused.to_string());
                continue;
            }
        };
        let json = result.json().unwrap();
        let parsed: serde_json::Value = serde_json::from_str(&json).unwrap();
        schemas.insert(parsed["schema"].as_str().unwrap().to_owned());
        keep("facts", "json", json);
        match result.csv() {
            Ok(csv) => keep("facts", "csv", csv),
            Err(reason) => keep("looks", "csv", reason.to_string()),
        }
        let screen = Screen::new(80, false);
        let document = result.document();
        keep("looks", "txt", document.text(screen));
        let verbose = Screen {
            verbose: true,
            ..Screen::new(160, false)
        };
        keep("looks", "whole", document.text(verbose));
        keep("looks", "md", document.markdown());
        keep("looks", "page", text_of(&document.page().unwrap()));
    }
    assert_eq!(
        schemas.len(),
        all_schemas(),
        "a result of each kind: {schemas:?}"
    );
    made
}

/// The number of schemas, counted in the message of a refusal.
fn all_schemas() -> usize {
    let refused = stored_results::read(r#"{"schema": "none"}"#)
        .err()
        .expect("no schema");
    refused.to_string().matches("q2c.").count()
}

/// The text of a page, one line per piece between tags, without scripts, styles and drawings.
fn text_of(page: &str) -> String {
    let mut text = String::new();
    let mut unread = page;
    while let Some((piece, tag)) = unread.split_once('<') {
        text += piece;
        text += "\n";
        let hidden_tags = ["script", "style", "svg"];
        let hidden = hidden_tags.iter().find(|name| tag.starts_with(**name));
        let end = hidden.map_or(">".to_owned(), |name| format!("</{name}>"));
        unread = tag.split_once(&end).map_or("", |(_, behind)| behind);
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| format!("{line}\n")).collect()
}

/// Runs the command lines one after the other in the folder of the inputs, and returns what they
/// print.
fn run_lines(folder: &Path) -> ArchiveFiles {
    let lines = fs::read_to_string(folder.join("lines.txt")).unwrap();
    let (mut facts, mut looks) = (String::new(), String::new());
    for line in lines.lines() {
        let args: Vec<String> = serde_json::from_str(line).unwrap();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ended = q2c(folder, &args);
        facts += &format!("{line}: {}\n", ended.code);
        looks += &format!("{line}\n{}", ended.stderr);
        let is_data = ["--json", "csv", "fio-iolog", "blkparse"]
            .iter()
            .any(|data| args.contains(data));
        *(if is_data { &mut facts } else { &mut looks }) += &ended.stdout;
    }
    let files = [("facts/lines.txt", facts), ("looks/lines.txt", looks)];
    files
        .map(|(name, text)| (name.to_owned(), text.into_bytes()))
        .into()
}
