use windlass_core::model::Usage;

use super::usage_of;

fn read(json: &str) -> Option<Usage> {
    usage_of(serde_json::from_str(json).expect("usage"), None, false)
}

fn counted(input: u64, output: u64) -> Usage {
    Usage { input, output, ..Usage::default() }
}

/// Mistral, "Prompt caching" (`num_cached_tokens`); Moonshot, "Context caching" (`cached_tokens`); DeepSeek, "Context caching"
/// (`prompt_cache_hit_tokens`); OpenRouter, "Prompt caching" (`cache_write_tokens`); LiteLLM, "Prompt caching".
#[test]
fn cached_and_written_tokens_under_all_names() {
    let usage = |more: &str| {
        let read =
            read(&format!("{{\"prompt_tokens\":100,\"completion_tokens\":5,{more}}}")).expect("counts");
        (read.cached, read.cache_write)
    };
    assert_eq!(usage(r#""prompt_tokens_details":{"cached_tokens":64}"#), (64, 0));
    assert_eq!(usage(r#""num_cached_tokens":64"#), (64, 0));
    assert_eq!(usage(r#""cached_tokens":64"#), (64, 0));
    assert_eq!(usage(r#""prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36"#), (64, 0));
    assert_eq!(usage(r#""prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":80}"#), (0, 80));
    assert_eq!(usage(r#""cache_read_input_tokens":10,"cache_creation_input_tokens":80"#), (10, 80));
    assert_eq!(usage(r#""prompt_tokens_details":{"cached_tokens":9,"cache_creation_tokens":7}"#), (9, 7));
    assert_eq!(usage(r#""prompt_tokens_details":null,"num_cached_tokens":null"#), (0, 0));
}

/// xAI, "Reasoning": `reasoning_tokens` are billed beside `completion_tokens`. Mistral, "Audio": `total_tokens` holds the audio.
#[test]
fn what_is_billed_beside_the_completion_counts_as_output() {
    let xai = r#"{"prompt_tokens":12,"completion_tokens":2,"total_tokens":334,"completion_tokens_details":{"reasoning_tokens":320}}"#;
    assert_eq!(read(xai), Some(Usage { reasoning: 320, ..counted(12, 322) }));
    let without_total =
        r#"{"prompt_tokens":12,"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":320}}"#;
    assert_eq!(read(without_total), Some(Usage { reasoning: 320, ..counted(12, 322) }));
    let gemini = r#"{"prompt_tokens":12,"completion_tokens":2,"total_tokens":100}"#;
    assert_eq!(read(gemini), Some(counted(12, 88)));
    let audio = r#"{"prompt_audio_seconds":25,"prompt_tokens":4,"total_tokens":398,"completion_tokens":16}"#;
    assert_eq!(read(audio), Some(counted(4, 394)));
    let openai = r#"{"prompt_tokens":12,"completion_tokens":30,"total_tokens":42,"completion_tokens_details":{"reasoning_tokens":20}}"#;
    assert_eq!(read(openai), Some(Usage { reasoning: 20, ..counted(12, 30) }));
}

#[test]
fn counts_that_come_in_parts_or_twice_are_never_added_up() {
    let take = |before, json: &str| usage_of(serde_json::from_str(json).expect("usage"), before, false);
    let first = take(None, r#"{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":4}}"#);
    assert_eq!(first, Some(Usage { cached: 4, ..counted(9, 0) }));
    let second = take(first, r#"{"completion_tokens":3}"#);
    assert_eq!(second, Some(Usage { cached: 4, ..counted(9, 3) }));
    let again = take(second, r#"{"prompt_tokens":9,"completion_tokens":5}"#);
    assert_eq!(again, Some(counted(9, 5)), "the last whole count");
    assert_eq!(take(again, r#"{"prompt_tokens":0,"completion_tokens":0}"#), again, "a count of nothing");
    assert_eq!(take(again, "{}"), None);
}

#[test]
fn a_count_that_is_none_is_passed_over() {
    let odd = r#"{"prompt_tokens":7.0,"completion_tokens":2,"total_tokens":"9","cached_tokens":{"a":[1]},"num_cached_tokens":[1],"prompt_cache_hit_tokens":-1,"completion_tokens_details":{"reasoning_tokens":false}}"#;
    assert_eq!(read(odd), Some(counted(7, 2)));
    assert_eq!(read(r#"{"total_tokens":5}"#), None);
}

#[test]
fn k55_a_reported_cost_is_read_in_all_its_units() {
    let of = |cost: &str| {
        read(&format!(r#"{{"prompt_tokens":1,"completion_tokens":1,{cost}}}"#))
            .expect("counts")
            .reported
            .get()
    };
    for (json, pico) in [
        (r#""cost":0.0123"#, 12_300_000_000),
        (r#""cost":"0.5""#, 500_000_000_000),
        (r#""cost":{"total_cost":0.006,"request_cost":0.005}"#, 6_000_000_000),
        (r#""cost":0,"cost_details":{"upstream_inference_cost":0.2}"#, 200_000_000_000),
        (r#""cost_in_usd_ticks":37756000"#, 3_775_600_000),
        (r#""cost":0.3,"is_byok":false,"cost_details":{"upstream_inference_cost":0.3}"#, 300_000_000_000),
        (r#""cost":0.01,"is_byok":true,"cost_details":{"upstream_inference_cost":0.2}"#, 210_000_000_000),
        (r#""cost":"$1","cost_details":"none","is_byok":"no""#, 1_000_000_000_000),
        (r#""cost":"","cost_in_usd_ticks":-3"#, 0),
        (r#""cost":"NaN""#, 0),
        (r#""cost":"-inf","cost_details":[]"#, 0),
        (r#""cost":1e999"#, 0),
        (r#""cost":{"total_cost":[1]}"#, 0),
        (r#""cost":true,"cost_in_usd_ticks":"10""#, 1_000),
        (r#""cost":-4"#, 0),
        (r#""cost":1e300"#, 0),
        (r#""cost":null"#, 0),
        (r#""cost":[]"#, 0),
    ] {
        assert_eq!(of(json), pico, "{json}");
    }
}

#[test]
fn k55_thoughts_that_no_total_counts_are_output_where_the_server_is_known_for_it() {
    let json = r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"completion_tokens_details":{"reasoning_tokens":4}}"#;
    let of =
        |beside| usage_of(serde_json::from_str(json).expect("usage"), None, beside).expect("counts").output;
    assert_eq!((of(false), of(true)), (5, 9));
    // More than the output is beside it everywhere.
    let more = r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"completion_tokens_details":{"reasoning_tokens":40}}"#;
    assert_eq!(read(more).expect("counts").output, 45);
    // A total that has them is believed.
    let total = json.replace(":15", ":19");
    let counted = usage_of(serde_json::from_str(&total).expect("usage"), None, true).expect("counts");
    assert_eq!((counted.output, counted.reasoning), (9, 4));
}
