//! Tests of `q2c trace export`, and of importing several recordings.

use crate::program::*;

/// Four requests of Alibaba's format over 3 ms.
const ROWS: &str = "1,R,4096,4096,1577808000001000\n1,W,8192,512,1577808000002000\n2,R,0,1024,1577808000003000\n1,R,512,512,1577808000004000\n";

fn trace() -> Place {
    let folder = Place::with_file("rows.csv", ROWS);
    folder.done("trace import rows.csv --out t");
    folder
}

#[test]
fn a_window_goes_to_standard_output() {
    let folder = trace();
    let said = folder.q2c("trace export t --format fio-iolog --from 1ms --to 3ms");
    assert_eq!(said.stderr, "2 requests exported\n");
    let wanted = "\
fio version 3 iolog
0 device-1-1 add
0 device-1-1 open
0 device-1-1 write 8192 512
1000 device-1-2 add
1000 device-1-2 open
1000 device-1-2 read 0 1024
1000 device-1-1 close
1000 device-1-2 close
";
    assert_eq!(said.done(), wanted);
}

#[test]
fn a_file_is_made_and_none_written_over() {
    let folder = trace();
    let export = "trace export t --format chrome --lanes hctx --out t.json";
    folder.done(export);
    let json = strict_json(&folder.text("t.json"));
    assert!(json.list("traceEvents").len() >= 4);
    let taken = "q2c: failed to export to t.json | found an existing file";
    folder.q2c(export).refused(2, taken);
    let hour = folder.q2c("trace export t --format csv --from '1 hour'");
    hour.refused(2, "a duration with its unit");
}

#[test]
fn several_recordings_become_one_trace() {
    let folder = trace();
    let more = "3,W,0,512,1577808000001500\n3,W,0,512,1577808000005000\n";
    folder.put("more.csv", more);
    let info = folder.json("trace import t more.csv --out both --json");
    assert_eq!(number(&info, "/summary/records"), 6.0);
    assert_eq!(number(&info, "/summary/span_ns"), 4_000_000.0);
    assert_eq!(info["meta"]["source"], "alibaba");
    let again = folder.json("trace info both --json");
    assert_eq!(again, info);
    let csv = folder.done("trace export both --format csv");
    let rows = csv.lines().skip(1);
    let starts = rows.map(|line| line.split(',').nth(9).unwrap());
    let wanted = split("0 500000 1000000 2000000 3000000 4000000");
    assert!(starts.eq(wanted), "{csv}");
    folder.put("spc.csv", "0,8,512,R,0.5\n");
    let clocks = folder.q2c("trace import t spc.csv --out no");
    clocks.refused(2, "expected times of one clock");
    assert!(!folder.path().join("no").exists());
}

#[test]
fn the_text_of_blkparse_is_read_by_its_format() {
    let folder = Place::with_file("text", "1.000000000 Q R 8 8\n1.000000700 C R 8 8\n");
    let import = |out: &str, format: &str| {
        let import = format!("trace import text --format blkparse --out {out} --json");
        folder.q2c(format!("{import} --blkparse-format '{format}'"))
    };
    let info = import("t", "%T.%t %a %d %S %n\\n").json();
    assert_eq!(number(&info, "/summary/q2c/max_ns"), 700.0);
    import("u", "%T.%t %a %d %S").refused(2, "expected %n or %N");
}
