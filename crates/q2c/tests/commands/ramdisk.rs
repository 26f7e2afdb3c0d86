//! `q2c ramdisk` on a machine without ublk and without the module. What these do is tested in
//! guests.

use super::program::q2c;
use q2c_testkit::skip;
use std::path::Path;

fn refused(arguments: &[&str], code: i32, words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let all: Vec<&str> = ["ramdisk"].iter().chain(arguments).copied().collect();
    q2c(folder.path(), &all).refused(code, words);
}

#[test]
fn a_device_that_cannot_be_is_refused_before_anything_is_tried() {
    let create = |options: &[&str], code, words: &[&str]| {
        let all: Vec<&str> = ["create"].iter().chain(options).copied().collect();
        refused(&all, code, words);
    };
    create(&[], 2, &["--size"]);
    create(&["--size", "1m", "--queues", "0"], 2, &["--queues 0"]);
    create(
        &["--size", "1m", "--queues", "100000"],
        4,
        &["one hardware queue per CPU"],
    );
    create(
        &["--size", "1m", "--bs", "768"],
        2,
        &["power of two", "768 B"],
    );
    create(&["--size", "1m", "--bs", "256"], 2, &["from 512 B"]);
    create(&["--size", "1m", "--depth", "0"], 2, &["from 1 to 4096"]);
    create(&["--size", "1000t"], 4, &["memory that is available"]);
    create(&["--size", "1m", "--service", "50"], 2, &["--service 50"]);
    create(
        &["--size", "1m", "--like", "none.parquet"],
        3,
        &["none.parquet"],
    );
    create(
        &["--size", "1m", "--service", "trace=none.parquet"],
        3,
        &["read service times from none.parquet"],
    );
}

#[test]
fn a_machine_without_ublk_and_module_says_what_it_lacks() {
    let test = "a_machine_without_ublk_and_module_says_what_it_lacks";
    if Path::new("/dev/ublk-control").exists() || Path::new("/sys/module/ramdisk_mq").exists() {
        return skip(test, "this machine has ublk or the module");
    }
    let ublk = "CONFIG_BLK_DEV_UBLK";
    // What cannot be loaded need not be built.
    let module = match Path::new("/proc/modules").exists() {
        true => "kmod/ramdisk_mq/README.md",
        false => "this kernel loads no modules",
    };
    refused(&["create", "--size", "1m"], 4, &[ublk, module]);
    refused(
        &["create", "--size", "1m", "--via", "ublk"],
        4,
        &[ublk, "ublk"],
    );
    refused(&["create", "--size", "1m", "--via", "module"], 4, &[module]);
    let polled = ["create", "--size", "1m", "--poll-queues", "1"];
    refused(&polled, 4, &["ublk has no poll queues", module]);
    refused(&["create", "--recover", "ublkb0"], 4, &[ublk]);
    let drawn = [
        "create",
        "--size",
        "1m",
        "--via",
        "module",
        "--service",
        "lognormal(50us,0.3)",
    ];
    refused(&drawn, 4, &["constant ones only"]);
    refused(&["delete", "ublkb63"], 5, &["ublkb63", "q2c ramdisk list"]);
    let folder = tempfile::tempdir().unwrap();
    let list = q2c(folder.path(), &["ramdisk", "list", "--json"]).json();
    assert_eq!(list["schema"], "q2c.ramdisk/1");
    assert_eq!(list["devices"].as_array().unwrap().len(), 0);
    let told = q2c(folder.path(), &["ramdisk", "list"]).done();
    assert_eq!(told.trim(), "RAM devices · none");
}
