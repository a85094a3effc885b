use super::*;

fn query(key: &str, input: &str) -> Query {
    Query { key: key.to_owned(), input: input.to_owned() }
}

/// The queries of a file of that name.
fn from(name: &str, bytes: impl AsRef<[u8]>) -> Result<Vec<Query>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    read(&path).map(|(_, queries)| queries).map_err(|failure| failure.message().to_owned())
}

#[test]
fn s25_lines_are_numbered_as_in_the_file() {
    assert_eq!(from("q.txt", "one\n\n  two \n").unwrap(), [query("1", "one"), query("3", "two")]);
}

#[test]
fn s25_json_lines_have_ids_of_their_own_or_their_line() {
    let text =
        "{\"id\": \"a\", \"input\": \"one\"}\n{\"input\": {\"n\": 1}}\n{\"id\": 7, \"input\": \"x\"}\n";
    assert_eq!(
        from("q.jsonl", text).unwrap(),
        [query("a", "one"), query("2", r#"{"n":1}"#), query("7", "x")]
    );
    assert!(from("q.jsonl", "{\"input\": 3}").unwrap_err().contains("line 1: expected"));
    assert!(from("q.jsonl", "\n{").unwrap_err().contains("line 2: "));
    let unknown = from("q.jsonl", "{\"input\": \"x\", \"idd\": 1}").unwrap_err();
    assert!(unknown.contains("line 1: unknown key `idd`; did you mean id?"), "{unknown}");
}

#[test]
fn s25_a_table_has_a_query_column() {
    let text = "Query_Id,Query_Text,x\nq1,\"one, with a comma\",1\n,two,2\nq3,,3\n";
    assert_eq!(from("q.csv", text).unwrap(), [query("q1", "one, with a comma"), query("2", "two")]);
    let none = from("q.csv", "a,b\n1,2\n").unwrap_err();
    assert!(none.contains("no column is named query, input, query_text, question"), "{none}");
}

#[test]
fn a_form_is_known_in_any_case_and_however_it_was_saved() {
    let both = [query("a", "one, two"), query("b", "three")];
    let json = r#"[{"id": "a", "input": "one, two"}, {"id": "b", "query": "three"}]"#;
    let utf16 =
        |text: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> { text.encode_utf16().flat_map(bytes).collect() };
    let table = "id\tinput\na\tone, two\nb\tthree\n";
    let files: [(&str, Vec<u8>); 16] = [
        ("q.CSV", b"id,input\na,\"one, two\"\nb,three\n".to_vec()),
        ("q.csv", b"id;input\r\na;one, two\r\nb;three\r\n".to_vec()),
        ("q.csv", b"\"id\"|\"input\"\na|one, two\nb|three\n".to_vec()),
        ("q.csv", b"\xef\xbb\xbfinput;id\none, two;a\nthree;b\n".to_vec()),
        ("q.csv", b"sep=;\nid;input\na;one, two\nb;three\n".to_vec()),
        ("q.csv", table.as_bytes().to_vec()),
        ("q.tsv", table.as_bytes().to_vec()),
        ("q.TAB", table.as_bytes().to_vec()),
        ("q.tsv", utf16(&format!("\u{feff}{table}"), u16::to_le_bytes)),
        ("q.tsv", utf16(&format!("\u{feff}{table}"), u16::to_be_bytes)),
        ("q.tsv", utf16(table, u16::to_le_bytes)),
        ("q.tsv", utf16(table, u16::to_be_bytes)),
        ("q.json", json.as_bytes().to_vec()),
        ("q.Json", format!("{{\"queries\": {json}}}").into_bytes()),
        (
            "q.json",
            b"{\"id\": \"a\", \"input\": \"one, two\"}\n{\"id\": \"b\", \"input\": \"three\"}".to_vec(),
        ),
        (
            "q.JSONL",
            b"\xef\xbb\xbf{\"id\": \"a\", \"input\": \"one, two\"}\n{\"id\": \"b\", \"question\": \"three\"}"
                .to_vec(),
        ),
    ];
    for (name, bytes) in files {
        assert_eq!(from(name, &bytes).as_deref(), Ok(&both[..]), "{name} {bytes:?}");
    }
    assert_eq!(from("q.json", "[\"one\", \"two\"]").unwrap(), [query("1", "one"), query("2", "two")]);
    assert_eq!(from("queries", "\u{feff}one\n").unwrap(), [query("1", "one")]);
    assert_eq!(from("q.TXT", utf16("\u{feff}één\r\n", u16::to_le_bytes)).unwrap(), [query("1", "één")]);
}

#[test]
fn what_has_another_form_is_refused_before_it_costs_anything() {
    for (name, bytes, fault) in [
        ("q.xlsx", &b"PK\x03\x04"[..], "`.xlsx` is no form of queries"),
        ("q.yaml", b"- one\n", "`.yaml` is no form"),
        ("q.md", b"one\n", "`.md` is no form"),
        ("q.txt", b"id,query\n1,one\n", "the header of a table"),
        ("q.txt", b"Input;x\none;1\n", "the header of a table"),
        ("q", b"question\none\n", "the header of a table"),
        ("q.txt", b"{\"input\": \"one\"}\n", "name it .jsonl"),
        ("q.txt", b"[\n\"one\"\n]\n", "name it .json"),
        ("q.txt", b"PK\x03\x04\x00\x01", "zero byte"),
        ("q.txt", b"one\ncaf\xe9\n", "line 2: it is not valid UTF-8"),
        ("q.json", b"{", "EOF"),
        ("q.json", b"5", "expected a list of queries"),
        ("q.json", b"[{\"text\": \"one\"}]", "item 1: expected"),
        ("q.csv", b"name;value\na;b\n", "no column is named"),
        ("q.csv", b"input\none\n\"two\nthree\nfour\n", "line 3: the quote that begins a field there"),
        ("q.csv", b"sep=;\nid;input\na;\"on\"\"e\nb;two\n", "line 3: the quote"),
    ] {
        let said = from(name, bytes).unwrap_err();
        assert!(said.contains(fault), "{name}: {said}");
    }
}
