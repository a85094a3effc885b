use windlass_core::text::steps::{doubling, taken};

use super::Elements;

fn elements(list: &str) -> Vec<String> {
    Elements::of(list.as_bytes()).map(|element| String::from_utf8_lossy(element).into_owned()).collect()
}

#[test]
fn objects_of_a_list_are_cut_out_whole() {
    let list = "[{\"a\":\"} ]{\\\"\"},\r\n{\"b\":[{},{\"c\":1}]}\r\n,\n{}]\n";
    assert_eq!(elements(list), ["{\"a\":\"} ]{\\\"\"}", "{\"b\":[{},{\"c\":1}]}", "{}"]);
    assert_eq!(elements("[{\"a\":1},{\"b\":"), ["{\"a\":1}"], "the last one was cut");
    assert_eq!(elements("[1, null, \"a\"]"), Vec::<String>::new());
    assert!(elements("").is_empty());
}

#[test]
fn cutting_is_linear() {
    let shapes: [fn(usize) -> String; 3] = [
        |n| format!("[{}]", "{},".repeat(n)),
        |n| format!("[{{\"a\":\"{}\"}}]", "x".repeat(n)),
        |n| "[{".repeat(n),
    ];
    for shape in shapes {
        doubling(|n| {
            let list = shape(n);
            taken(|| Elements::of(list.as_bytes()).for_each(drop))
        })
        .expect("linear");
    }
}
