use super::*;

#[test]
fn ages() {
    let read = ["10s", "5m", "12h", "30d", "2w", "0d"].map(|text| age(text).unwrap());
    assert_eq!(read, [10_000, 300_000, 43_200_000, 2_592_000_000, 1_209_600_000, 0]);
    for wrong in ["", "d", "10", "-1d", "1.5h", "99999999999999999999w", "99999999999999w"] {
        assert!(age(wrong).unwrap_err().contains("such as 30d"), "{wrong}");
    }
}
