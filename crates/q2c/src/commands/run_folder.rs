//! The parts that commands with a run folder share: the identity of the program, the files in the
//! folder, and the end of a run.

use crate::config;
use crate::output::say;
use q2c_engine::TimeSource;
use q2c_engine::floor;
use q2c_model::{CpuId, Fault, OrFault};
use q2c_result::Exit;
use q2c_run::run_dir::RunDirError;
use q2c_run::{Identity, RunDir, RunState, whole_file};
use q2c_workbench::workbench::Workbench;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// q2c's version, and a checksum of the program where it can be read: it tells one build from
/// another in the identity of a run.
pub fn program() -> String {
    let mut checksum = crc32fast::Hasher::new();
    let mut piece = vec![0; 1 << 20];
    if let Ok(mut program) = std::env::current_exe().and_then(File::open) {
        while let Ok(n @ 1..) = program.read(&mut piece) {
            checksum.update(&piece[..n]);
        }
    }
    format!("{} {:08x}", env!("CARGO_PKG_VERSION"), checksum.finalize())
}

/// The result of a command in a run folder or a file, if it has this schema.
pub fn result<T: DeserializeOwned>(run: &Path, command: &str, schema: &str) -> Result<T, Fault> {
    /// The field that every result has.
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let path = match run.is_dir() {
        true => run.join("result.json"),
        false => run.to_owned(),
    };
    let bad = |why: String| Fault::new(Exit::Input, format!("read {}: {why}", path.display()));
    let text = whole_file::read_named_text(&path, whole_file::RESULT);
    let text = text.map_err(|e| bad(e.to_string()))?;
    let no_result = |e| bad(format!("expected a result of {command}, found {e}"));
    let head: Head = serde_json::from_str(&text).map_err(no_result)?;
    if head.schema != schema {
        let found = head.schema.escape_debug();
        return Err(bad(format!("expected schema {schema}, found `{found}`")));
    }
    serde_json::from_str(&text).map_err(no_result)
}

/// Opens the folder of an interrupted run again. Says on stderr what was cut off in its files.
pub fn resumed(path: &Path, identity: &Identity) -> Result<RunDir, Fault> {
    let (folder, torn) = RunDir::resume(path, identity).map_err(RunDirError::on_resume)?;
    torn.iter().for_each(|torn| say(&torn.to_string()));
    Ok(folder)
}

/// Writes result and page into the folder, beside them what the command took from the configuration
/// file, and closes it with `state`.
pub fn publish(
    folder: RunDir,
    state: RunState,
    result: &impl Serialize,
    page: &str,
) -> Result<(), Fault> {
    folder.publish_json("result.json", result)?;
    folder.publish("report.html", |out| out.write_all(page.as_bytes()))?;
    if let Some(taken) = config::taken() {
        folder.publish("config.toml", |out| out.write_all(taken.as_bytes()))?;
    }
    folder.finish(state).map_err(Fault::from)
}

/// Says where the report is.
pub fn tell_report(folder: &Path) {
    say(&format!("report: {}", folder.join("report.html").display()));
}

/// Ends a run that gave a result, and returns its exit code. A run that is not complete keeps its
/// scratch file, and the user is told how to go on.
pub fn end(state: RunState, bench: Workbench, folder: &Path) -> Exit {
    if state == RunState::Complete {
        if let Some(scratch) = &bench.kept_scratch {
            tell_no_longer_needed(scratch);
        }
        return Exit::Done;
    }
    tell_stopped(folder);
    keep_for_resume(bench, folder);
    Exit::Interrupted
}

/// Says that a run was stopped after some of its trials, and how to go on.
pub fn tell_stopped(folder: &Path) {
    say(&format!(
        "stopped: the finished trials are in the report; {} goes on",
        resume(folder)
    ));
}

/// The command line that goes on with the run in `folder`.
pub fn resume(folder: &Path) -> String {
    let command = RunDir::inspect(folder).map_or_else(
        |_| "q2c COMMAND".to_owned(),
        |(record, _)| format!("q2c {}", record.name),
    );
    format!("{command} --resume {}", quoted(folder))
}

/// A path as one word of a shell.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-:+@%,=".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Keeps the scratch file of a run that ended early. `--resume` could not go on without it.
pub fn keep_for_resume(bench: Workbench, folder: &Path) {
    tell_kept(bench.keep_scratch(), folder);
}

/// Names the scratch file that an earlier session left for a run that is complete now. It is not
/// removed: a later run may have it as its target.
pub fn tell_no_longer_needed(scratch: &Path) {
    say(&format!(
        "the run is complete and does not need {} any more: remove it when it is not wanted",
        scratch.display()
    ));
}

/// Names the scratch file that was kept for the run in `folder`, if there is one.
pub fn tell_kept(scratch: Option<PathBuf>, folder: &Path) {
    if let Some(scratch) = scratch {
        say(&format!(
            "kept {} for {}; remove it when it is not wanted",
            scratch.display(),
            resume(folder)
        ));
    }
}

/// CPU time that q2c itself takes per I/O.
pub struct Floor {
    /// With every I/O recorded, ns.
    pub recorded_ns: f64,
    /// With nothing kept, ns.
    pub bare_ns: f64,
}

/// Measures the floor on `cpu`, with an engine that does nothing.
pub fn floor(time: &TimeSource, cpu: CpuId) -> Result<Floor, Fault> {
    Ok(Floor {
        recorded_ns: floor::measure(time, cpu).or_exit(Exit::Environment)?,
        bare_ns: floor::measure_bare(time, cpu).or_exit(Exit::Environment)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_one_word_of_a_shell() {
        for (path, word) in [
            ("runs/2026-a_b", "runs/2026-a_b"),
            ("my runs/a", "'my runs/a'"),
            ("it's", r"'it'\''s'"),
        ] {
            assert_eq!(quoted(Path::new(path)), word);
        }
    }

    #[test]
    fn a_run_is_gone_on_with_by_its_own_command() {
        let runs = tempfile::tempdir().unwrap();
        let plan = std::collections::BTreeMap::from([("seed", 1)]);
        let folder = RunDir::create(runs.path(), "bench", &plan, &Identity::default()).unwrap();
        let told = resume(folder.path());
        let path = folder.path().display();
        assert_eq!(told, format!("q2c bench --resume {path}"));
    }
}
