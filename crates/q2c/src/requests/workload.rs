//! The workload that the arguments of a measuring command ask for.

use crate::args::WorkloadArgs;
use crate::failure::Failure;
use q2c_host::target::Scratch;
use q2c_model::CpuId;
use q2c_result::Exit;
use q2c_workbench::workbench::WorkloadRequest;

/// The workload of `args` with `jobs` foreground jobs on `target`.
pub fn workload(args: &WorkloadArgs, jobs: u32, target: String) -> WorkloadRequest {
    WorkloadRequest {
        target,
        engine: args.engine.clone(),
        pattern: args.rw,
        sizes: args.bs.clone(),
        jobs,
        cpus: args.cpus.0.iter().copied().map(CpuId).collect(),
        background: args.background_jobs(),
        allow_write: args.run.allow_write.clone(),
        seed: args.run.seed,
        machine: None,
    }
}

/// The text of the target: the path of the scratch file, else as it was named.
pub fn target(
    command: &str,
    named: Option<&str>,
    scratch: Option<&Scratch>,
) -> Result<String, Failure> {
    let made = scratch.map(|scratch| scratch.path().display().to_string());
    let target = made.or_else(|| named.map(str::to_owned));
    target.ok_or_else(|| {
        Failure::new(
            Exit::Usage,
            format!(
                "{command}: name a file or a block device, or let q2c make a file: q2c {command} --scratch 1g; q2c {command} --help tells what there is"
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::tests::calibrate;
    use q2c_model::Bytes;

    #[test]
    fn arguments_become_the_workload() {
        let args =
            calibrate("--rw randwrite --bs 4k,32k --jobs 2 --cpu 3,1 --seed 9 --allow-write d d");
        let asked = workload(&args.workload, args.jobs.jobs, "d".to_owned());
        assert!(asked.pattern.write && asked.engine.is_none());
        assert_eq!(asked.sizes, [Bytes(4096), Bytes(32768)]);
        assert_eq!((asked.jobs, asked.seed), (2, 9));
        assert_eq!(asked.cpus, [CpuId(3), CpuId(1)]);
        assert_eq!(asked.allow_write, ["d"].map(std::path::PathBuf::from));
    }

    #[test]
    fn without_a_target_the_command_says_what_to_name() {
        assert_eq!(target("tune", Some("d"), None).unwrap(), "d");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scratch.bin");
        let made = Scratch::create(&path, Bytes(1 << 20), 1, &mut |_| true).unwrap();
        let of_scratch = target("tune", None, Some(&made)).unwrap();
        assert_eq!(of_scratch, path.display().to_string());
        assert!(target("tune", None, None).is_err());
    }
}
