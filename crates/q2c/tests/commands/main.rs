//! Tests of the built program from outside: its output, the files that it leaves, and its exit
//! code.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a panic is a failed test, and a drop has no other way to tell"
)]

mod analyze;
mod bench;
mod bench_background;
mod bench_fio;
mod bench_stages;
mod blktrace;
mod btt;
mod cases;
mod config;
mod corpus;
mod cpu_trials;
mod demo;
mod doctor;
mod errors;
mod fs;
mod limits;
mod live;
mod machine_fit;
mod place;
mod poll;
mod poll_block;
mod program;
mod ramdisk;
mod readme;
mod record;
mod replay;
mod report;
mod reproduce;
mod reproduce_list;
mod run_costs;
mod runs;
mod scale;
mod simulated;
mod study;
mod sweep;
mod terminal;
mod trace;
mod trace_export;
mod tune;
mod tune_program;
mod watch;
mod words;
