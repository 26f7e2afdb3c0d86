//! The replays that the arguments of `q2c replay` and `q2c compare` ask for.

use crate::args::{CompareArgs, HowArgs, ModeName};
use q2c_compare::{CaptureWish, ReplayRequest};
use q2c_model::CpuId;
use q2c_model::replay::Mode;
use q2c_replay::Wanted;
use q2c_trace::import::Input;
use std::path::{Path, PathBuf};

/// The least number of devices that are compared.
const TARGETS: usize = 2;

/// The requests of a comparison, one for each mode. A mode that is named twice counts once.
pub fn requests(args: &CompareArgs) -> Vec<ReplayRequest> {
    let mut modes: Vec<ModeName> = Vec::new();
    for mode in &args.mode {
        if !modes.contains(mode) {
            modes.push(*mode);
        }
    }
    let of = |mode| ReplayRequest {
        capture: match (args.no_capture, args.how.capture) {
            (true, _) => CaptureWish::Off,
            (_, true) => CaptureWish::By(args.how.by),
            _ => CaptureWish::WherePermitted,
        },
        ..request(&args.how, mode)
    };
    modes.into_iter().map(of).collect()
}

/// The traces and the targets of a comparison. The words begin with the first trace; words behind
/// it are traces as long as they name files that are recognised as traces, and two targets are
/// left.
pub fn traces_and_targets(args: &CompareArgs) -> (Vec<PathBuf>, &[String]) {
    let room = args.targets.len().saturating_sub(TARGETS);
    let leading = args.targets.iter().take(room);
    let traces = leading.take_while(|word| is_trace(Path::new(word))).count();
    let (more, targets) = args.targets.split_at(traces);
    let first = std::iter::once(args.trace.clone());
    let all = first.chain(more.iter().map(PathBuf::from));
    (all.chain(args.more.iter().cloned()).collect(), targets)
}

fn is_trace(path: &Path) -> bool {
    path.is_file() && Input::recognise(path, None).is_ok()
}

/// How the trace is replayed.
pub fn request(how: &HowArgs, mode: ModeName) -> ReplayRequest {
    let named = how.cpus.as_ref().filter(|cpus| !cpus.0.is_empty());
    ReplayRequest {
        mode: self::mode(how, mode),
        share: how.share,
        engine: how.engine.clone(),
        submitters: how.submitters,
        cpus: named.map(|cpus| cpus.0.iter().copied().map(CpuId).collect()),
        spin: how.spin,
        in_flight: how.in_flight,
        fit: how.offsets,
        writes: how.writes,
        discards: how.discards,
        compressible_pct: how.compress,
        precondition: how.precondition,
        on_error: how.on_error,
        capture: match how.capture {
            true => CaptureWish::By(how.by),
            false => CaptureWish::Off,
        },
        max_lateness: how.max_lateness,
        wanted: wanted(how),
        allow_write: how.run.allow_write.clone(),
        seed: how.run.seed,
    }
}

/// The requests of the trace that are replayed.
pub fn wanted(how: &HowArgs) -> Wanted {
    Wanted {
        range: how.part.map(|part| (part.from, part.to)),
        process: how.process.clone(),
    }
}

/// The mode with the options that it has. Options of other modes mean nothing.
fn mode(how: &HowArgs, mode: ModeName) -> Mode {
    match mode {
        ModeName::Timed => Mode::Timed { speed: how.speed },
        ModeName::Outstanding => Mode::Outstanding {
            count: how.count,
            idle: how.idle,
        },
        ModeName::Closed => Mode::Closed { lane: how.lane },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::tests::{compare, replay};
    use q2c_compare::{OpenSite, PreparedReplay};
    use q2c_host::Roots;
    use q2c_model::replay::{Count, Discards, Fit, Idle, LaneBy, OnError, ShareBy, Writes};
    use q2c_replay::ReplayFacts;
    use q2c_result::replay::ReplayJob;

    fn asked(words: &str) -> ReplayRequest {
        let args = replay(words);
        request(&args.how, args.mode)
    }

    fn job(words: &str) -> ReplayJob {
        let request = asked(&format!("trace null {words}"));
        let facts = ReplayFacts::default();
        let site = OpenSite::of_one(&Roots::live(), &request, "null", &facts, 0).unwrap();
        PreparedReplay::new(&Roots::live(), &request, &facts, &[site], 1)
            .unwrap()
            .job
    }

    #[test]
    fn options_of_other_modes_mean_nothing() {
        let of = |words: &str| asked(&format!("t d {words}")).mode;
        assert_eq!(of("--speed 2x --lane pid"), Mode::Timed { speed: 2.0 });
        let outstanding = Mode::Outstanding {
            count: Count::Blocks,
            idle: Idle::Keep,
        };
        let words = "--mode outstanding --count blocks --idle keep --speed 3";
        assert_eq!(of(words), outstanding);
        let closed = Mode::Closed { lane: LaneBy::Cpu };
        assert_eq!(of("--mode closed --lane cpu"), closed);
    }

    #[test]
    fn what_is_not_typed_is_left_to_the_library() {
        let bare = asked("t d");
        assert!(bare.writes.is_none() && bare.discards.is_none() && bare.cpus.is_none());
        assert_eq!(bare.capture, CaptureWish::Off);
        let typed = asked("t d --capture --cpus 3,1 --part 1s..2s --process fio");
        assert_eq!(typed.capture, CaptureWish::By(None));
        assert_eq!(typed.cpus, Some(vec![CpuId(3), CpuId(1)]));
        assert!(typed.wanted.range.is_some() && typed.wanted.process.is_some());
    }

    #[test]
    fn outstanding_counts_blocks_unless_other_units_are_asked_for() {
        let count = |words: &str| match asked(&format!("t d --mode outstanding {words}")).mode {
            Mode::Outstanding { count, .. } => count,
            other => panic!("{other:?}"),
        };
        assert_eq!(count(""), Count::Blocks);
        assert_eq!(count("--count requests"), Count::Requests);
    }

    #[test]
    fn a_comparison_captures_where_permitted_unless_it_is_told_otherwise() {
        let wish = |words: &str| requests(&compare(&format!("t a b {words}")))[0].capture;
        assert_eq!(wish(""), CaptureWish::WherePermitted);
        assert_eq!(wish("--capture"), CaptureWish::By(None));
        assert_eq!(wish("--no-capture"), CaptureWish::Off);
    }

    #[test]
    fn each_mode_is_a_request() {
        let modes = |words: &str| -> Vec<Mode> {
            let all = requests(&compare(&format!("t a b {words}")));
            all.into_iter().map(|request| request.mode).collect()
        };
        let outstanding = Mode::Outstanding {
            count: Count::Blocks,
            idle: Idle::Squeeze,
        };
        let timed = Mode::Timed { speed: 1.0 };
        assert_eq!(modes(""), [timed]);
        assert_eq!(
            modes("--mode outstanding,timed,outstanding"),
            [outstanding, timed]
        );
    }

    /// Files of random bytes are targets, also in front of devices, as before there were several
    /// traces; and two targets are always left.
    #[test]
    fn leading_files_that_are_recognised_are_traces() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let trace = place("one.parquet", b"PAR1 and more");
        let other = place("two.parquet", b"PAR1 and more");
        let file = place("file.bin", &[0x9d; 4096]);
        let split = |words: &str| {
            let args = compare(words);
            let (traces, targets) = traces_and_targets(&args);
            let traces = traces.iter().map(|path| path.display().to_string());
            (traces.collect::<Vec<String>>(), targets.to_vec())
        };
        let (a, b) = ("sim:50us".to_owned(), "null".to_owned());
        let (traces, targets) = split(&format!("{trace} {other} {a} {b}"));
        assert_eq!((traces.len(), targets), (2, vec![a.clone(), b.clone()]));
        let (traces, targets) = split(&format!("{trace} {file} {a} {b}"));
        assert_eq!((traces.len(), targets.len()), (1, 3));
        let (traces, targets) = split(&format!("{trace} {other} {file}"));
        assert_eq!(
            (traces.len(), targets),
            (1, vec![other.clone(), file.clone()])
        );
        let (traces, targets) = split(&format!("{trace} {a} {b} --trace {other} --trace {file}"));
        assert_eq!((traces, targets.len()), (vec![trace, other, file], 2));
    }

    /// Every name of an option's values, typed and told in the result.
    fn typed_and_told(option: &str, names: &[&str], field: &str) {
        for name in names {
            let job = job(&format!("{option} {name}"));
            let told = serde_json::to_value(job).unwrap();
            assert_eq!(told[field], *name);
        }
    }

    #[test]
    fn results_name_values_as_they_are_typed() {
        typed_and_told("--mode", &["timed", "outstanding", "closed"], "mode");
        typed_and_told("--mode outstanding --idle", Idle::NAMES, "idle");
        typed_and_told("--mode outstanding --count", Count::NAMES, "count");
        typed_and_told("--mode closed --lane", LaneBy::NAMES, "lane");
        typed_and_told("--share", ShareBy::NAMES, "by");
        typed_and_told("--offsets", Fit::NAMES, "offsets");
        typed_and_told("--writes", Writes::NAMES, "writes");
        typed_and_told("--discards", Discards::NAMES, "discards");
        typed_and_told("--on-error", OnError::NAMES, "on_error");
    }
}
