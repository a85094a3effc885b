use super::*;

fn run(id: &str) -> RunId {
    id.parse().unwrap()
}

#[test]
fn a_short_id_is_lengthened_until_it_denotes_one_run() {
    let alone = run("01990000-0000-7000-8000-0000aaaaaaaa");
    let (one, other) =
        (run("01990000-0000-7000-8000-0001bbbbbbbb"), run("01990000-0000-7000-8000-0002bbbbbbbb"));
    // Its end is how another id begins.
    let like_a_start = run("01990000-0000-7000-8000-000301990000");
    let all = [alone, one, other, like_a_start];
    let ids = ShortIds::among(&all);
    assert_eq!(all.map(|run| ids.short(run)), ["aaaaaaaa", "1bbbbbbbb", "2bbbbbbbb", "301990000"]);
    for short in all.map(|run| ids.short(run)) {
        assert_eq!(all.iter().filter(|run| denotes(&short, **run)).count(), 1, "{short}");
    }
}

#[test]
fn a_short_id_stays_when_other_runs_come() {
    let one = run("01990000-0000-7000-8000-0001bbbbbbbb");
    let many: Vec<RunId> =
        (0..1_000).map(|number| RunId::from_number(one.0.as_u128() + (number << 40))).collect();
    assert_eq!(ShortIds::among(&[one]).short(one), "bbbbbbbb");
    let ids = ShortIds::among(&many);
    for run in &many {
        let short = ids.short(*run);
        assert_eq!(many.iter().filter(|run| denotes(&short, **run)).count(), 1, "{short}");
    }
}
