//! The points that the arguments of `q2c bench` ask for, in a new run or in one that goes on.

use crate::args::{BenchArgs, SECONDS};
use q2c_bench::BenchSpec;
use q2c_bench::asked::Asked;
use q2c_bench::stages::never_seen;
use q2c_engine::Pattern;
use q2c_host::topology::ChosenCpus;
use q2c_model::{Bytes, CpuId};
use q2c_policy::Method;
use q2c_result::late::Unseen;
use q2c_result::{Target, TargetKind};
use q2c_workbench::LEAST_BLOCKS;
use q2c_workbench::workbench::WorkloadRequest;
use q2c_workbench::workload::{Background, BackgroundSpec, Site};

/// The points that the flags ask for. A field is `None` where its flag was not given.
pub fn asked(args: &BenchArgs) -> Asked {
    fn texts<T: ToString>(list: &[T]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }
    Asked {
        target: args.target.clone(),
        scratch: args.scratch.is_some(),
        engines: args.engine.as_ref().map(|engines| texts(&engines.0)),
        methods: args.method.as_ref().map(|methods| methods.0.clone()),
        jobs: args
            .jobs
            .as_ref()
            .map(|jobs| jobs.0.iter().map(|&n| n.into()).collect()),
        depths: args.depth.as_ref().map(|depths| depths.0.clone()),
        hw_queues: args.hw_queues.clone().unwrap_or_default().0,
        nr_requests: args.nr_requests.clone().unwrap_or_default().0,
        sizes: args.bs.clone(),
        patterns: args.rw.as_deref().map(texts),
        seconds: args.seconds,
        warm_up_seconds: args.warm_up,
        rate: args.rate,
        cpus: (!args.cpus.0.is_empty()).then(|| args.cpus.0.clone()),
        backgrounds: backgrounds(&args.background),
        ..Asked::default()
    }
}

/// The values of the axis of backgrounds, each once; `None` where there is none.
fn backgrounds(given: &[Background]) -> Option<Vec<String>> {
    let mut values: Vec<String> = Vec::new();
    for background in given {
        let text = match background.0.is_empty() {
            true => String::new(),
            false => background.to_string(),
        };
        if !values.contains(&text) {
            values.push(text);
        }
    }
    (!values.is_empty()).then_some(values)
}

/// All background jobs of the axis.
fn background_jobs(values: &[String]) -> Result<Vec<BackgroundSpec>, String> {
    let there = values.iter().filter(|text| !text.is_empty());
    let parsed = there.map(|text| text.parse::<Background>().map_err(|e| e.to_string()));
    let all: Vec<Background> = parsed.collect::<Result<_, String>>()?;
    Ok(all.into_iter().flat_map(|some| some.0).collect())
}

/// Checks the times of a fio job file: those of flags are checked where they are parsed. The error
/// says which option is wrong.
pub fn check_times(asked: &Asked) -> Result<(), String> {
    let times = [
        ("runtime", asked.seconds),
        ("ramp_time", asked.warm_up_seconds),
    ];
    for (option, time) in times {
        let wrong = time.filter(|time| *time > 0.0 && !SECONDS.contains(time));
        if let Some(time) = wrong {
            let (least, most) = (SECONDS.start(), SECONDS.end());
            return Err(format!(
                "{option} is {time} s, and q2c bench has {least} to {most} s"
            ));
        }
    }
    Ok(())
}

/// The block sizes and the pattern that the target is opened with. Sizes and patterns that were not
/// asked for are random reads of 4 KiB.
pub fn opened_with(asked: &mut Asked) -> Result<(Vec<Bytes>, Pattern), String> {
    let sizes = asked.sizes.get_or_insert(vec![Bytes(4096)]).clone();
    let patterns = asked.patterns.get_or_insert(vec!["randread".to_owned()]);
    Ok((sizes, strongest(patterns)?))
}

/// The workload with which the target is opened.
pub fn workload(
    args: &BenchArgs,
    target: String,
    sizes: Vec<Bytes>,
    pattern: Pattern,
    backgrounds: &[String],
    cpus: &[u32],
) -> Result<WorkloadRequest, String> {
    let background = background_jobs(backgrounds)?;
    Ok(WorkloadRequest {
        target,
        engine: None,
        pattern,
        sizes,
        jobs: 1,
        cpus: cpus.iter().copied().map(CpuId).collect(),
        background,
        allow_write: args.run.allow_write.clone(),
        seed: args.run.seed,
        machine: None,
    })
}

/// The pattern that the target is opened for: one that writes, if there is one.
pub fn strongest(patterns: &[String]) -> Result<Pattern, String> {
    let parsed = patterns.iter().map(|pattern| pattern.parse());
    let patterns: Result<Vec<Pattern>, _> = parsed.collect();
    let patterns = patterns.map_err(|error| error.to_string())?;
    let read = Pattern {
        random: true,
        write: false,
    };
    Ok(patterns.into_iter().find(|p| p.write).unwrap_or(read))
}

/// The part of the target that `size` of a job file asks for, bytes; `None` for all of it. The
/// target has `whole` bytes, and the part must hold [`LEAST_BLOCKS`] of the largest of `sizes`.
pub fn span(
    size: Option<q2c_fio::Size>,
    whole: Bytes,
    sizes: &[Bytes],
) -> Result<Option<Bytes>, String> {
    let whole = whole.0;
    let span = match size {
        None | Some(q2c_fio::Size::Percent(100)) => return Ok(None),
        Some(q2c_fio::Size::Bytes(bytes)) => bytes.0,
        Some(q2c_fio::Size::Percent(percent)) => {
            (u128::from(whole) * u128::from(percent) / 100) as u64
        }
    };
    let largest = sizes.iter().map(|bs| bs.0).max().unwrap_or(0);
    let least = LEAST_BLOCKS * largest;
    let fits = (least..=whole).contains(&span);
    fits.then_some(Some(Bytes(span))).ok_or_else(|| {
        format!(
            "use {span} bytes of the target, as size= of the fio job file asks: the target has {whole}, and {LEAST_BLOCKS} of the largest \
             blocks, {least} bytes, must fit"
        )
    })
}

/// The plan on a target of these facts: what was asked for, with defaults for the rest. `span` is
/// the part of the target in use; `None` for all of it.
pub fn plan(
    args: &BenchArgs,
    asked: Asked,
    target: String,
    facts: &Target,
    cpus: &ChosenCpus,
    span: Option<Bytes>,
) -> BenchSpec {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let engines = asked.engines.unwrap_or_else(|| match facts.kind {
        TargetKind::Simulated => vec![target.clone()],
        TargetKind::NvmeGeneric => names(&["io_uring_cmd"]),
        TargetKind::Pci => names(&["spdk"]),
        _ => names(&["io_uring", "libaio", "pvsync2"]),
    });
    BenchSpec {
        machine: None,
        target,
        scratch: asked.scratch,
        engines,
        methods: asked
            .methods
            .unwrap_or_else(|| vec![Method::INTERRUPT, Method::POLL]),
        jobs: asked.jobs.unwrap_or(vec![1]),
        depths: asked.depths.unwrap_or(vec![1]),
        sizes: asked.sizes.unwrap_or_default(),
        patterns: asked.patterns.unwrap_or_default(),
        hw_queues: asked.hw_queues,
        nr_requests: asked.nr_requests,
        seconds: asked.seconds.unwrap_or(3.0),
        warm_up_seconds: asked.warm_up_seconds.unwrap_or(1.0),
        trials: args.trials,
        precision: args.precision,
        cpus: cpus.cpus.iter().map(|cpu| cpu.0).collect(),
        cpu_order: cpus.words.clone(),
        rate: asked.rate,
        rating: args.rating,
        budget_s: args.budget.map(|budget| budget.as_secs_f64()),
        seed: args.run.seed,
        span,
        points: asked.points,
        backgrounds: asked.backgrounds.unwrap_or(vec![String::new()]),
        phases: args.phases,
        tuned: None,
        stages: args.stages,
    }
}

/// Refuses `--stages` where none of the interfaces can ever be seen in the block layer. The error
/// says why.
pub fn check_stages(spec: &BenchSpec, site: &Site) -> Result<(), String> {
    let why = |name: &String| never_seen(&name.parse().ok()?, site);
    let reasons: Option<Vec<Unseen>> = spec.engines.iter().map(why).collect();
    let Some(why) = reasons
        .filter(|_| spec.stages)
        .and_then(|all| all.into_iter().next())
    else {
        return Ok(());
    };
    let why = match why {
        Unseen::NoDevice => "no block device stands under it",
        _ => "its I/O does not go through the block layer",
    };
    Err(format!(
        "capture the block layer under {} for --stages: {why}; name a block device or a file on \
         one, and an engine that reads it, or leave --stages out",
        spec.target
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::tests::bench;
    use q2c_engine::TimeSource;
    use q2c_fio::Size;
    use q2c_host::Roots;
    use q2c_host::block::{Disk, TargetDisk};
    use q2c_model::{CpuId, DevId};

    fn planned(words: &str, kind: TargetKind) -> BenchSpec {
        let args = bench(words);
        let mut asked = asked(&args);
        opened_with(&mut asked).unwrap();
        let facts = Target {
            kind,
            ..Target::default()
        };
        let cpus = ChosenCpus {
            cpus: vec![CpuId(2), CpuId(0)],
            words: "as asked".to_owned(),
            borders: Vec::new(),
        };
        plan(&args, asked, "d".to_owned(), &facts, &cpus, None)
    }

    #[test]
    fn without_flags_the_plan_has_the_defaults_of_the_targets_kind() {
        let spec = planned("d", TargetKind::File);
        assert_eq!(spec.engines, ["io_uring", "libaio", "pvsync2"]);
        assert_eq!(spec.methods, [Method::INTERRUPT, Method::POLL]);
        assert_eq!((spec.jobs, spec.depths), (vec![1], vec![1]));
        assert_eq!(spec.sizes, [Bytes(4096)]);
        assert_eq!(spec.patterns, ["randread"]);
        assert_eq!(
            (spec.seconds, spec.warm_up_seconds, spec.trials),
            (3.0, 1.0, 5)
        );
        assert_eq!(spec.cpus, [2, 0]);
        assert_eq!(planned("d", TargetKind::Simulated).engines, ["d"]);
        assert_eq!(
            planned("d", TargetKind::NvmeGeneric).engines,
            ["io_uring_cmd"]
        );
        assert_eq!(planned("d", TargetKind::Pci).engines, ["spdk"]);
    }

    #[test]
    fn flags_win_over_defaults() {
        let spec = planned(
            "d --engine libaio --jobs 1..3 --depth 8 --bs 8k --rw randwrite --seconds 2 --rate 10",
            TargetKind::File,
        );
        assert_eq!(
            (spec.engines, spec.jobs),
            (vec!["libaio".to_owned()], vec![1, 2, 3])
        );
        assert_eq!((spec.depths, spec.sizes), (vec![8], vec![Bytes(8192)]));
        assert_eq!((spec.seconds, spec.rate), (2.0, Some(10.0)));
    }

    #[test]
    fn the_target_is_opened_for_writing_when_one_pattern_writes() {
        let writes = |patterns: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
            strongest(&patterns).map(|pattern| pattern.write)
        };
        assert_eq!(writes(&["randread", "read"]), Ok(false));
        assert_eq!(writes(&["randread", "write"]), Ok(true));
        assert!(writes(&["sideways"]).is_err());
    }

    #[test]
    fn a_part_of_the_target_holds_enough_blocks() {
        let of = |size, whole| span(size, Bytes(whole), &[Bytes(512), Bytes(4096)]);
        assert_eq!(of(None, 1 << 20), Ok(None));
        assert_eq!(of(Some(Size::Percent(100)), 1 << 20), Ok(None));
        assert_eq!(
            of(Some(Size::Percent(50)), 1 << 20),
            Ok(Some(Bytes(1 << 19)))
        );
        assert_eq!(
            of(Some(Size::Bytes(Bytes(1 << 18))), 1 << 20),
            Ok(Some(Bytes(1 << 18)))
        );
        assert!(of(Some(Size::Bytes(Bytes((1 << 18) - 1))), 1 << 20).is_err());
        assert!(of(Some(Size::Bytes(Bytes((1 << 20) + 1))), 1 << 20).is_err());
    }

    #[test]
    fn times_of_a_job_file_have_the_bounds_of_flags() {
        let with = |seconds, warm_up_seconds| {
            check_times(&Asked {
                seconds,
                warm_up_seconds,
                ..Asked::default()
            })
        };
        assert_eq!(with(Some(1.0), Some(0.0)), Ok(()));
        assert_eq!(with(None, None), Ok(()));
        let wrong = with(Some(1.0), Some(9999.0)).unwrap_err();
        assert_eq!(
            wrong,
            "ramp_time is 9999 s, and q2c bench has 0.2 to 3600 s"
        );
    }

    fn site(disk: Option<&str>) -> Site {
        let disk = disk.map(|name| Disk {
            name: name.to_owned(),
            dev: DevId::default(),
            dir: "/nowhere".into(),
        });
        Site {
            roots: Roots::live(),
            target_disk: disk.map(|disk| TargetDisk {
                disk,
                partition: None,
                below: Vec::new(),
                unproved: Vec::new(),
            }),
            idle_busy_cpus: 0.0,
            time: TimeSource::default(),
        }
    }

    /// Where one of the interfaces can be seen, the others say at their points why they cannot.
    #[test]
    fn stages_are_refused_where_no_interface_can_be_seen() {
        let check = |words: &str, kind, disk| check_stages(&planned(words, kind), &site(disk));
        let disk = Some("vda");
        assert_eq!(check("d --stages", TargetKind::File, disk), Ok(()));
        assert_eq!(check("d", TargetKind::File, None), Ok(()));
        let without = check("d --stages", TargetKind::File, None).unwrap_err();
        assert!(
            without.contains("no block device stands under it"),
            "{without}"
        );
        let mixed = "d --stages --engine io_uring_cmd,libaio,null";
        assert_eq!(check(mixed, TargetKind::Block, disk), Ok(()));
        for engines in ["io_uring_cmd,null", "spdk", "sim:50us"] {
            let words = format!("d --stages --engine {engines}");
            let past = check(&words, TargetKind::Block, disk).unwrap_err();
            assert!(
                past.contains("does not go through the block layer"),
                "{past}"
            );
        }
    }
}
