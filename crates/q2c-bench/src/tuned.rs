//! Reads the methods that an earlier run of `q2c tune` recommends, for `q2c bench --tuned`.

use itertools::Itertools;
use q2c_model::Bytes;
use q2c_result::bench::{TunedMethod, TunedRun};
use q2c_result::tune::{SCHEMA, TuneResult};
use q2c_result::tune_jobs::{self, TuneJobsResult};
use q2c_run::whole_file;
use serde::Deserialize;
use std::path::Path;

/// Reads the methods from a run's folder or `result.json`; those of several job counts separately.
pub fn tuned(run: &Path, sizes: &[Bytes], jobs: &[u32]) -> Result<TunedRun, String> {
    let mut file = run.to_owned();
    if run.is_dir() {
        file.push("result.json");
    }
    let name = file.display();
    let text = whole_file::read_text(&file, whole_file::MAX_RESULT)
        .map_err(|error| format!("read {name}: {error}; name a run of q2c tune"))?;
    let (target, methods) = read(&text, sizes, jobs).map_err(|actual| {
        format!("read {name}: expected the result of q2c tune, found {actual}; name such a run")
    })?;
    Ok(TunedRun {
        run: run.display().to_string(),
        target,
        methods,
    })
}

/// The tuned target, and the methods. The error says what was found instead.
fn read(text: &str, sizes: &[Bytes], jobs: &[u32]) -> Result<(String, Vec<TunedMethod>), String> {
    #[derive(Deserialize)]
    struct TuneHeader {
        schema: String,
    }
    let head: TuneHeader = parsed(text)?;
    match head.schema.as_str() {
        tune_jobs::SCHEMA => over_jobs(&parsed(text)?, sizes, jobs),
        SCHEMA => {
            let result: TuneResult = parsed(text)?;
            let methods = methods(&result, sizes, None)?;
            Ok((result.target.path, methods))
        }
        other => Err(format!("schema {}", other.escape_debug())),
    }
}

fn parsed<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|e| e.to_string())
}

fn over_jobs(
    result: &TuneJobsResult,
    sizes: &[Bytes],
    jobs: &[u32],
) -> Result<(String, Vec<TunedMethod>), String> {
    let mut tuned_methods = Vec::new();
    for &n in jobs {
        let run = result.run(n).ok_or_else(|| {
            let tuned = result.runs.iter().map(|run| run.job.jobs).join(",");
            format!("no answer for --jobs {n}, but for --jobs {tuned}: measure these")
        })?;
        tuned_methods.extend(methods(run, sizes, Some(n))?);
    }
    let target = result.runs.first();
    let target = target.map_or_else(String::new, |run| run.target.path.clone());
    Ok((target, tuned_methods))
}

/// The methods of a run at one number of jobs. `jobs` is that number; `None` applies them to all.
fn methods(
    result: &TuneResult,
    sizes: &[Bytes],
    jobs: Option<u32>,
) -> Result<Vec<TunedMethod>, String> {
    let method = |&bs: &Bytes| {
        let mut answers = result.recommendation.iter();
        let Some(answer) = answers.find(|answer| answer.bs == bs) else {
            let mut sizes = result.recommendation.iter().map(|answer| answer.bs);
            let answered = match sizes.join(", ").as_str() {
                "" => "none at all".to_owned(),
                sizes => format!("for {sizes}: measure these with --bs"),
            };
            return Err(format!("no answer for {bs}, but {answered}"));
        };
        let method = answer.method.clone();
        Ok(TunedMethod { bs, jobs, method })
    };
    sizes.iter().map(method).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../q2c/tests/kept/{name}"))
    }

    /// The stored run on a simulated device recommends `hybrid:uring` for 4 KiB, and nothing else.
    #[test]
    fn a_run_recommends_one_method_for_each_block_size() {
        let tuned_run = tuned(&kept("tune-4.json"), &[Bytes(4096)], &[1, 8]).unwrap();
        assert_eq!(tuned_run.target, "sim:200us");
        assert_eq!(tuned_run.methods.len(), 1);
        for jobs in [1, 8] {
            let method = tuned_run.method(Bytes(4096), jobs).unwrap();
            assert_eq!(method.to_string(), "hybrid:uring");
        }
        let missing = tuned(&kept("tune-4.json"), &[Bytes(4096), Bytes(8192)], &[1]).unwrap_err();
        assert!(missing.contains("for 8 KiB, but for 4 KiB"), "{missing}");
    }

    /// The stored run at 1 job, and a copy at 4 jobs that recommends polling.
    #[test]
    fn a_run_over_jobs_recommends_one_method_for_each_number() {
        let text = std::fs::read_to_string(kept("tune-4.json")).unwrap();
        let one: TuneResult = serde_json::from_str(&text).unwrap();
        let mut four = one.clone();
        four.job.jobs = 4;
        four.recommendation[0].method = q2c_policy::Method::POLL;
        let both = TuneJobsResult::new(&[1, 4], vec![one, four], None);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("result.json");
        std::fs::write(&file, serde_json::to_string(&both).unwrap()).unwrap();

        let tuned_run = tuned(folder.path(), &[Bytes(4096)], &[4, 1]).unwrap();
        assert_eq!(tuned_run.target, "sim:200us");
        assert_eq!(tuned_run.methods.len(), 2);
        for (jobs, text) in [(1, "hybrid:uring"), (4, "poll")] {
            let method = tuned_run.method(Bytes(4096), jobs).unwrap();
            assert_eq!(method.to_string(), text);
            assert!(tuned_run.names(Bytes(4096), method));
        }
        assert!(tuned_run.method(Bytes(4096), 2).is_none());
        let missing = tuned(&file, &[Bytes(4096)], &[1, 2]).unwrap_err();
        let message = "no answer for --jobs 2, but for --jobs 1,4";
        assert!(missing.contains(message), "{missing}");
    }

    #[test]
    fn what_is_no_run_of_tune_is_refused() {
        let bench = tuned(&kept("bench-5.json"), &[Bytes(4096)], &[1]).unwrap_err();
        assert!(bench.contains("expected the result of q2c tune"), "{bench}");
        let gone = tuned(&kept("nowhere.json"), &[Bytes(4096)], &[1]).unwrap_err();
        assert!(gone.contains("nowhere.json"), "{gone}");
    }
}
