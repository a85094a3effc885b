use serde_json::{Value, json};

use super::*;

/// A result as it comes over the wire.
fn given(value: Value) -> ToolResult {
    result(serde_json::from_value(value).expect("a tool result"))
}

#[test]
fn e47_text_alone_is_one_text() {
    let content = given(json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}));
    assert_eq!(content, Ok(Content::Text("a\nb".into())));
    assert_eq!(given(json!({"content": []})), Ok(Content::Text("".into())));
}

#[test]
fn e47_images_and_files_stay_parts_in_their_order() {
    let content = given(json!({"content": [
        {"type": "text", "text": "look"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "audio", "data": "aG\nk=", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "x://b", "blob": "aGk="}},
    ]}));
    let media = |media_type: &str, name: Option<&str>| Media {
        media_type: media_type.into(),
        name: name.map(Into::into),
        source: MediaSource::Base64("aGk=".into()),
    };
    let expected = vec![
        Part::Text { text: "look".into() },
        Part::Image(media("image/png", None)),
        Part::File(media("audio/wav", None)),
        Part::File(media("application/octet-stream", Some("x://b"))),
    ];
    assert_eq!(content, Ok(Content::Parts(expected)));
}

#[test]
fn e47_a_resource_in_bytes_is_what_its_media_type_or_its_first_bytes_say() {
    let (png, pdf, wav) = ("iVBORw0KGgo=", "JVBERi0xLjcK", "UklGRgAAAABXQVZF");
    let cases = [
        (json!({"uri": "x://a", "mimeType": "image/webp", "blob": "aGk="}), "image/webp"),
        (json!({"uri": "x://a", "mimeType": "application/pdf", "blob": "aGk="}), "application/pdf"),
        (json!({"uri": "x://a", "mimeType": "video/mp4", "blob": "aGk="}), "video/mp4"),
        (json!({"uri": "x://a", "blob": png}), "image/png"),
        (json!({"uri": "x://a", "blob": pdf}), "application/pdf"),
        (json!({"uri": "x://a", "mimeType": "application/octet-stream", "blob": wav}), "audio/wav"),
        (json!({"uri": "x://a", "mimeType": "", "blob": "aGk="}), "application/octet-stream"),
    ];
    for (resource, media_type) in cases {
        let content = given(json!({"content": [{"type": "resource", "resource": resource}]}));
        let Ok(Content::Parts(parts)) = &content else { panic!("{content:?}") };
        let (is_image, media) = match parts.as_slice() {
            [Part::Image(media)] => (true, media),
            [Part::File(media)] => (false, media),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            (&*media.media_type, is_image),
            (media_type, media_type.starts_with("image/")),
            "{resource}"
        );
        assert_eq!(media.name.as_deref(), Some("x://a"));
    }
}

#[test]
fn e47_resources_and_links_become_text() {
    let content = given(json!({"content": [
        {"type": "resource", "resource": {"uri": "file:///a.md", "mimeType": "text/markdown", "text": "# A"}},
        {"type": "resource_link", "uri": "file:///b", "name": "b", "mimeType": "text/plain", "description": "the B"},
    ]}));
    let text = "[resource file:///a.md]\n# A\n[resource link file:///b: b (text/plain): the B]";
    assert_eq!(content, Ok(Content::Text(text.into())));
}

#[test]
fn e47_structured_content_counts_only_without_text() {
    let structured = json!({"sum": 7, "parts": [3, 4]});
    let alone = given(json!({"content": [], "structuredContent": structured}));
    assert_eq!(alone, Ok(Content::Text(r#"{"sum":7,"parts":[3,4]}"#.into())));
    let beside = given(json!({"content": [{"type": "text", "text": "7"}], "structuredContent": structured}));
    assert_eq!(beside, Ok(Content::Text("7".into())));
    let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
    let Ok(Content::Parts(parts)) = given(json!({"content": [image], "structuredContent": structured}))
    else {
        panic!("an image makes parts");
    };
    assert!(matches!(parts.as_slice(), [Part::Text { .. }, Part::Image(_)]));
}

#[test]
fn e47_structured_content_does_not_repeat_the_data_of_media() {
    let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
    let shown = |structured: Value| {
        let Ok(Content::Parts(parts)) = given(json!({"content": [image], "structuredContent": structured}))
        else {
            panic!("an image makes parts");
        };
        let text = parts.iter().find_map(|part| match part {
            Part::Text { text } => Some(text.to_string()),
            _ => None,
        });
        assert_eq!(parts.iter().filter(|part| matches!(part, Part::Image(_))).count(), 1);
        text
    };
    // The real `read_media_file`.
    assert_eq!(shown(json!({"content": [image]})), None);
    assert_eq!(shown(json!({"image": "data:image/png;base64,aGk="})), None);
    assert_eq!(shown(json!({"data": "aG\nk=", "mime_type": "image/png", "encoding": "base64"})), None);
    assert_eq!(shown(json!({"image": image, "caption": "hi"})), Some(r#"{"caption":"hi"}"#.to_owned()));
    assert_eq!(shown(json!({"list": [], "map": {}})), Some(r#"{"list":[],"map":{}}"#.to_owned()));
}

#[test]
fn e46_bad_base64_is_left_out_with_a_note() {
    let content = given(json!({"content": [{"type": "image", "data": "%%%", "mimeType": "image/png"}]}));
    assert_eq!(
        content,
        Ok(Content::Text("[data of type image/png was omitted: it is not valid base64]".into()))
    );
}

#[test]
fn an_error_result_is_an_error_with_its_text() {
    let failed = |content: Value| given(json!({"content": content, "isError": true})).expect_err("an error");
    let error = failed(json!([{"type": "text", "text": "no such file"}]));
    assert_eq!((error.message.as_ref(), error.unknown_tool), ("no such file", false));
    assert_eq!(failed(json!([])).message.as_ref(), "the tool failed and did not say why");
}

#[test]
fn what_takes_its_time_to_be_made_is_known_before() {
    let size = |value: Value| size(&serde_json::from_value(value).expect("a tool result"));
    let text = |bytes: usize| json!({"content": [{"type": "text", "text": "x".repeat(bytes)}]});
    let large = LARGE_BYTES as usize;
    assert!(size(text(100)) < 1_000 && size(text(large)) >= LARGE_BYTES);
    let many = |parts: usize| json!({"content": vec![json!({"type": "text", "text": ""}); parts]});
    assert!(size(many(10)) < 1_000 && size(many(large / 16)) >= LARGE_BYTES);
    let values =
        |count: usize| json!({"content": [], "structuredContent": {"list": vec![json!({"a": 1}); count]}});
    assert!(size(values(10)) < 1_000 && size(values(large / 4)) >= LARGE_BYTES);
    let image = json!({"content": [{"type": "image", "data": "A".repeat(large), "mimeType": "image/png"}]});
    assert!(size(image) >= LARGE_BYTES);
}
