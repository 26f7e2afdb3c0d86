//! CSV columns by their usual names: what is taken and refused, and the line that is suggested.

use crate::csv::{import, rows, suggested};
use q2c_model::{Bytes, Layer, Nanos, Op};
use q2c_trace::import::{ColumnMap, ImportOptions};

/// Usual names need no map: the unit is in a name, and the trace says how its columns were taken.
#[test]
fn usual_names_need_no_map() {
    let text = b"Timestamp_us,Response Time (us),Op,Offset,Size,Host\n10,5,R,4096,4096,a\n12,7,W,0,8192,b\n";
    let (records, meta) = import(text, &ImportOptions::default()).unwrap();
    let told: Vec<_> = records
        .iter()
        .map(|r| {
            (
                r.op,
                r.sector.0,
                r.bytes.0,
                r.submit_ns.unwrap().0,
                r.u2c().unwrap().0,
            )
        })
        .collect();
    let expected = [
        (Op::Read, 8, 4096, 0, 5_000),
        (Op::Write, 0, 8192, 2_000, 7_000),
    ];
    assert_eq!(told, expected);
    assert_eq!(
        meta.facts["columns_by_name"],
        "submit_ns=Timestamp_us,latency=Response Time (us),op=Op,offset=Offset,bytes=Size"
    );
    assert_eq!(meta.facts["columns_not_taken"], "Host");
}

/// The end is of the layer of the start, or of the block layer without one.
#[test]
fn names_of_ends_and_places_with_any_unit() {
    for (head, row, expected) in [
        (
            "start_us,complete_us,op,size",
            "1,3,R,512",
            "0 read 512 0 2000",
        ),
        (
            "time_ms,completion_ms,op,size",
            "1,3,R,512",
            "0 read 512 0 2000000",
        ),
        (
            "time_us,op,size_bytes,start_sector",
            "1,R,512,8",
            "0 read 512 8 0",
        ),
        ("time_us,op,size,lba_4k", "1,R,4096,2", "ask"),
        (
            "time_us,op,size_bytes,lba_4k",
            "1,R,4096,2",
            "0 read 4096 16 0",
        ),
        (
            "time_us,op,size,address_bytes",
            "1,R,512,4096",
            "0 read 512 8 0",
        ),
        (
            "time_us,op,size,addr (sectors)",
            "1,R,512,8",
            "0 read 512 8 0",
        ),
        ("time_us,op,size,address", "1,R,512,8", "ask"),
        ("time_us,clat_us,op,size", "1,5,R,512", "0 read 512 0 0"),
    ] {
        let read = rows(format!("{head}\n{row}\n"), "", None);
        let read = read.map_or_else(|_| "ask".to_owned(), |(read, _)| read[0].clone());
        assert_eq!(read, expected, "{head}");
    }
    let text = b"complete_us,latency_us,op,size\n9,5,R,512\n";
    let (records, _) = import(text, &ImportOptions::default()).unwrap();
    assert_eq!(
        (records[0].layer, records[0].q2c()),
        (Layer::Block, Some(Nanos(5_000)))
    );
}

/// A unit that is part of the header's own name counts, and another one contradicts it.
#[test]
fn a_header_may_end_with_the_size_of_a_block() {
    let text = "time_us,op,size,LBA:4K\n1,R,4096,2\n";
    let map = "submit_ns=time_us,bytes=size,sector=LBA:4K";
    assert_eq!(rows(text, map, None).unwrap().0, ["0 read 4096 16 0"]);
    let mut stated = ImportOptions {
        columns: ColumnMap::parse_list(map).unwrap(),
        offset_unit: Some(Bytes(512)),
        ..ImportOptions::default()
    };
    assert!(import(text.as_bytes(), &stated).is_err());
    stated.offset_unit = Some(Bytes(4096));
    import(text.as_bytes(), &stated).unwrap();
}

#[test]
fn columns_that_were_not_taken_may_hold_what_lacks() {
    let facts = |head: &str| {
        rows(format!("{head}\n1,R,512,4\n"), "", None)
            .unwrap()
            .1
            .facts
    };
    let unused = facts("time_us,op,size,clat_us");
    for fact in ["stated.sector", "stated.depth_at_submit"] {
        assert!(unused[fact].contains("clat_us"), "{}", unused[fact]);
    }
    let used = facts("time_us,op,size,pid");
    assert!(used["stated.sector"].contains("the source has no offsets"));
}

/// The map that the error tells reads the file.
#[test]
fn two_usual_names_of_one_field_are_refused() {
    for (head, row, field, rivals) in [
        (
            "time_us,op,size,service_time_us,lat_us",
            "1,R,512,2,3",
            "latency",
            ["service_time_us", "lat_us"],
        ),
        (
            "time_us,op,size,duration_us,response_us",
            "1,R,512,2,3",
            "latency",
            ["duration_us", "response_us"],
        ),
        (
            "time_us,op,blocksize,size",
            "1,R,512,4096",
            "bytes",
            ["blocksize", "size"],
        ),
        ("time_us,type,size,op", "1,R,512,W", "op", ["type", "op"]),
        (
            "start_us,op,size,submit_us",
            "1,R,512,2",
            "submit_ns",
            ["start_us", "submit_us"],
        ),
        (
            "time_us,op,size,end_us,finish_us",
            "1,R,512,2,3",
            "reap_ns",
            ["end_us", "finish_us"],
        ),
    ] {
        let text = format!("{head}\n{row}\n");
        let error = rows(&text, "", None).unwrap_err();
        assert_eq!(suggested(&error), format!("{field}={}", rivals[0]));
        assert!(
            rivals
                .iter()
                .all(|name| error.contains(&format!("`{name}`"))),
            "{error}"
        );
        let map = format!("{field}={}", rivals[1]);
        let other = rows(&text, &map, None).unwrap_or_else(|error| panic!("{head}: {error}"));
        assert_eq!(other.1.facts["columns_not_taken"], rivals[0]);
    }
}

/// Usual names give the fields that the map does not name, as far as they go with it.
#[test]
fn usual_names_fill_up_a_map() {
    let text = b"when_us,start_us,lat_us,op,size,lba,pid\n10,9,5,R,4096,8,3\n12,11,7,W,8192,0,3\n";
    let filled = |map: &str| {
        rows(text, map, None).map(|(read, meta)| {
            let fact = |name: &str| meta.facts.get(name).map_or("", |fact| fact).to_owned();
            (
                read[1].clone(),
                fact("columns_by_name"),
                fact("columns_not_taken"),
            )
        })
    };
    let expected = |row: &str, by_name: &str, rest: &str| {
        Ok((row.to_owned(), by_name.to_owned(), rest.to_owned()))
    };
    assert_eq!(
        filled("submit_ns=when_us,bytes=size:B"),
        expected(
            "2000 write 8192 0 7000",
            "latency=lat_us,op=op,sector=lba,pid=pid",
            "start_us"
        )
    );
    // A named end and a start leave no room for a latency.
    assert_eq!(
        filled("reap_ns=when_us,bytes=size:B"),
        expected(
            "2000 write 8192 0 1000",
            "submit_ns=start_us,op=op,sector=lba,pid=pid",
            "lat_us"
        )
    );
    // The offset is named, in the column of a usual sector.
    assert_eq!(
        filled("offset=lba:512B,bytes=size,submit_ns=start_us"),
        expected(
            "2000 write 8192 0 7000",
            "latency=lat_us,op=op,pid=pid",
            "when_us"
        )
    );
    assert!(
        filled("submit_ns=when_us")
            .unwrap_err()
            .contains("bytes=size:B in --columns")
    );
}

#[test]
fn names_that_say_too_little_are_told_with_a_line_to_begin_with() {
    let told = import(b"when,took\n1,2\n", &ImportOptions::default()).unwrap_err();
    for words in [
        "--columns 'submit_ns=when,latency=took' --unit us --op read --bs 4k \
         (guessed by `when`, `took` in the headers; fields: device, op,",
        "found the headers `when, took`",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    // All that the words say is suggested; a size in pages is not read as bytes.
    for (headers, options) in [
        (
            "when_us,kind,where_bytes,how_long_bytes,took_us",
            "'submit_ns=when_us,op=kind,offset=where_bytes,bytes=how_long_bytes,latency=took_us' \
             (guessed by `when`, `where`, `long`, `took` in the headers; fields: ",
        ),
        (
            "a_us,size_pages,b",
            "'submit_ns=a_us' --op read --bs 4k (fields: ",
        ),
        (
            "x,io_start_s,lba,at_offset,pages",
            "'submit_ns=io_start_s,sector=lba' --op read --bs 4k (guessed by \
             `start`",
        ),
    ] {
        let rows = format!("{headers}\n1,2,3,4,5\n");
        let told = import(rows.as_bytes(), &ImportOptions::default()).unwrap_err();
        assert!(told.contains(options), "{options}: {told}");
    }
    let told = import(b"time,lat_us\n1,2\n", &ImportOptions::default()).unwrap_err();
    assert!(
        told.contains("expected a unit at the end of every header of times")
            && told.contains("found `time`"),
        "{told}"
    );
    let told = import(b"time,lat\n1,2\n", &ImportOptions::default()).unwrap_err();
    assert!(
        told.contains("expected the option unit: the times are bare numbers"),
        "{told}"
    );
}
