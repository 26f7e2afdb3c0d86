//! Reads any bytes as a fio job file. No input may cause a panic. Remarks name lines of the file,
//! and accepted values are within their bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let lines = data.split(|&byte| byte == b'\n').count();
    match q2c_bench::fio::read(data, &|name| (name.len() < 4).then(|| "1k".to_owned())) {
        Err(error) => assert!((1..=lines).contains(&error.line)),
        Ok(file) => {
            let remarks = file.refused.iter().chain(&file.not_needed);
            remarks.for_each(|remark| assert!((1..=lines).contains(&remark.line)));
            for job in &file.jobs {
                assert!(job.depth.is_none_or(|n| (1..=1024).contains(&n)));
                assert!(job.jobs.is_none_or(|n| (1..=1024).contains(&n)));
                assert!(job.bs.is_none_or(|bs| bs.0 >= 512));
                assert!(job.rate.is_none_or(|rate| rate > 0.0));
            }
        }
    }
});
