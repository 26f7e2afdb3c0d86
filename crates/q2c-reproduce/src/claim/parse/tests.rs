use super::*;

fn figure_of(text: &str) -> Expr {
    Expr::Figure(figure(text).unwrap())
}

#[test]
fn the_claims_of_the_documentation_are_read() {
    let first = expect("steady.miss_rate > 10 %").unwrap();
    assert_eq!(first.left, figure_of("steady.miss_rate"));
    assert_eq!(first.compare, Compare::Above);
    assert_eq!((first.right, first.unit), (Expr::Number(0.1), "%"));
    let near = expect("ratio(iops, phase1) ~ 0.1 +- 0.05").unwrap();
    let there = figure_of("iops[phase=phase1]");
    assert_eq!(near.left, binary(Join::Div, figure_of("iops"), there));
    let wanted = (Compare::Near, &Expr::Number(0.1));
    assert_eq!((near.compare, &near.right), wanted);
    assert_eq!(near.within, Some(Expr::Number(0.05)));
    let same = expect("ratio(iops, phase1) ~ 0.1 \u{b1} 0.05").unwrap();
    assert_eq!(same.compare, Compare::Near);
    assert_eq!((same.right, same.within), (near.right, near.within));
}

#[test]
fn products_bind_before_sums_and_signs_before_both() {
    let comparison = expect("1 + 2 * -3 - 4 < (5 - 1) / 2").unwrap();
    let number = Expr::Number;
    let product = binary(Join::Times, number(2.0), Expr::Minus(Box::new(number(3.0))));
    let sum = binary(Join::Plus, number(1.0), product);
    assert_eq!(comparison.left, binary(Join::Minus, sum, number(4.0)));
    let inner = binary(Join::Minus, number(5.0), number(1.0));
    assert_eq!(comparison.compare, Compare::Below);
    assert_eq!(comparison.right, binary(Join::Div, inner, number(2.0)));
}

#[test]
fn numbers_have_units() {
    let right = |text: &str| match expect(&format!("x >= {text}")).unwrap().right {
        Expr::Number(number) => number,
        other => panic!("{other:?}"),
    };
    for (text, value) in [
        ("550 K", 550e3),
        ("1.5M", 1.5e6),
        ("57us", 57e3),
        ("711 s", 711e9),
        ("2.4 %", 0.024),
        ("7", 7.0),
    ] {
        assert!((right(text) - value).abs() < 1e-9 * value, "{text}");
    }
}

#[test]
fn comparisons_without_a_unit_have_the_unit_of_their_figures() {
    for (text, unit) in [
        ("highest(start.miss_rate) > steady.miss_rate", "%"),
        ("effective_sleep < none.effective_sleep", "us"),
        ("max(p99 over phase) > 2 * p99", "us"),
        ("max(p99 over phase) > p99", "us"),
        ("iops > none.iops", ""),
        ("ratio(cpu, none) < ratio(miss_rate, none)", ""),
        ("spread(cpu over phase) < cpu", ""),
        ("cpu < 0.5", "%"),
        ("ratio(iops, none) ~ 0.1 +- 0.05", ""),
        ("latency < 2 ms", "ms"),
        // The unit of a factor is not the unit of the comparison.
        ("iops > 90 % * none.iops", ""),
        ("latency < none.latency * 50 %", "us"),
        ("iops ~ none.iops +- 5 % * none.iops", ""),
        ("latency ~ 2 ms +- 5 % * none.latency", "ms"),
        ("ratio(iops, none) > 90 %", "%"),
    ] {
        assert_eq!(expect(text).unwrap().unit, unit, "{text}");
    }
}

#[test]
fn figures_name_phases_jobs_axes_and_values_with_spaces() {
    let figure =
        figure("heavy.foreground.steady.iops[jobs=8, engine=\"io_uring:iopoll\"]").unwrap();
    assert_eq!(figure.words, ["heavy", "foreground", "steady"]);
    let at = |axis: &str, value: &str| (axis.to_owned(), value.to_owned());
    let wanted = [at("jobs", "8"), at("engine", "io_uring:iopoll")];
    assert_eq!(figure.at, wanted);
}

#[test]
fn what_is_wrong_is_told_with_its_column_and_a_remedy() {
    for (text, column, part) in [
        ("steady.miss_rate", 17, "comparison"),
        ("iops > ", 8, "a number"),
        ("iops ~ 3", 9, "+-"),
        ("median(iops) > 3", 1, "no `median(`"),
        ("max(iops) > 3", 9, "over"),
        ("iops > 3 4", 10, "the end"),
        ("greater(iops) > 1", 13, "`,`"),
        ("iops $ 3", 6, "no meaning"),
        ("iops[jobs] > 1", 10, "`=`"),
        ("iops[phase=\"x] > 1", 12, "quotes"),
        ("miss_rate > 10 ms", 13, "a share, which has no unit"),
        ("miss_rate > 10", 13, "write 10 %"),
        ("highest(start.cpu) > 2 K", 22, "write %"),
        ("latency < 100", 11, "write ns, us, ms or s"),
        ("latency ~ 100 us +- 5 %", 21, "a time, which has no unit"),
        ("latency ~ none.latency +- 5", 27, "write ns, us, ms or s"),
        ("miss_rate ~ 10 % +- 5", 21, "write 5 %"),
        ("iops > 10 ms", 8, "write K, M"),
    ] {
        let error = expect(text).unwrap_err();
        assert_eq!(error.column, column, "{text}: {error}");
        assert!(error.problem.contains(part), "{text}: {error}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[a-z0-9 .%()\\[\\]+~<>=,*/\"-]{0,40}") {
        let _ = expect(&text);
        let _ = figure(&text);
    }
}

/// Parsing uses stack for each bracket, sign and call.
#[test]
fn neither_depth_nor_length_takes_the_stack() {
    for (open, close) in [("(", ")"), ("-", ""), ("greater(1, ", ")")] {
        let nested = |depth| format!("{}1{} > 0", open.repeat(depth), close.repeat(depth));
        expect(&nested(MAX_DEPTH - 1)).unwrap();
        let refused = expect(&nested(MAX_DEPTH)).unwrap_err().to_string();
        assert!(refused.contains("at most 32 brackets"), "{refused}");
        let long = expect(&nested(10_000)).unwrap_err().to_string();
        assert!(long.contains("at most 1000 bytes"), "{long}");
    }
    let chain = format!("1{} > 0", "+1".repeat(10_000));
    expect(&chain).unwrap_err();
}
