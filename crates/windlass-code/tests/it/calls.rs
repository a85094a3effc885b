//! Host calls: how code may write them, and the order in which they are made.

use serde_json::json;

use crate::support::run;

#[tokio::test]
async fn positional_and_keyword_arguments_get_the_names_of_the_schema() {
    let ran = run("return [add(1, 2), add(1, b=3), add(b=1, a=4), get_weather('Oslo'), nothing()]").await;
    assert_eq!(*ran.value(), json!([3, 4, 5, "sunny in Oslo", null]));
    assert_eq!(ran.calls()[1], r#"add{"a":1,"b":3}"#);
    assert_eq!(ran.batches.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1, 1, 1]);
}

#[tokio::test]
async fn s16_await_before_a_call_does_nothing() {
    let ran = run("async def f():\n    return await add(1, 2)\ndef g():\n    return await add(3, 4)\nx = await add(5, 6)\n\
         await nothing()\nreturn [await f(), g(), x, [await add(i, i) for i in range(2)]]")
    .await;
    assert_eq!(*ran.value(), json!([3, 7, 11, [0, 2]]));
}

#[tokio::test]
async fn s16_the_variable_result_is_returned_by_code_that_returns_nothing() {
    assert_eq!(*run("result = add(1, 2)\nprint('x')").await.value(), json!(3));
    assert_eq!(*run("for i in range(3):\n    result = i").await.value(), json!(2));
    assert_eq!(*run("result = 1\nreturn 2").await.value(), json!(2));
    assert_eq!(*run("def f():\n    result = 1\nf()").await.value(), json!(null));
    assert_eq!(*run("if add(0, 0):\n    result = 1").await.value(), json!(null));
    assert_eq!(*run("1 + 1").await.value(), json!(2));
}

#[tokio::test]
async fn s17_parallel_makes_all_calls_at_once_and_keeps_their_order() {
    for source in [
        "return await parallel(('add', 1, 2), ('get_weather', 'Oslo'), ('get-weather', 'Rome'))",
        "return parallel([('add', 1, 2), ('get_weather', 'Oslo'), ('get_weather', 'Rome')])",
        "return parallel(add(1, b=2), get_weather('Oslo'), get_weather(city='Rome'))",
        "return await parallel(*[add(1, 2)] + [get_weather(c) for c in ('Oslo', 'Rome')])",
        "import asyncio\nreturn await asyncio.gather(add(1, 2), get_weather('Oslo'), get_weather('Rome'))",
        "import asyncio\ncalls = [add(1, 2), get_weather('Oslo')]\ncalls.append(get_weather('Rome'))\n\
         return await asyncio.gather(*calls)",
        "import asyncio\nasync def one(f, *x):\n    return f\nasync def weather(c):\n    w = await get_weather(c)\n    return w\n\
         async def main():\n    return await asyncio.gather(add(1, 2), *[weather(c) for c in ('Oslo', 'Rome')])\n\
         return asyncio.run(main())",
    ] {
        let ran = run(source).await;
        assert_eq!(*ran.value(), json!([3, "sunny in Oslo", "sunny in Rome"]), "{source}");
        assert_eq!(ran.calls().len(), 3, "{source}");
        let together = ran.batches.len() == 1 || source.contains("] + [");
        assert!(together, "{source}: {:?}", ran.batches);
    }
}

#[tokio::test]
async fn an_error_of_a_call_is_an_exception() {
    let caught = "try:\n    broken('x')\nexcept ToolError as error:\n    return str(error)";
    assert_eq!(*run(caught).await.value(), json!("it broke: x"));
    let caught = "try:\n    parallel(('add', 1, 2), ('broken', 'y'))\nexcept Exception as error:\n    return str(error)";
    assert_eq!(*run(caught).await.value(), json!("it broke: y"));
    let ran = run("x = 1\n\ndef f():\n    return broken('z')\nf()").await;
    assert_eq!(ran.failure().line, Some(4));
    assert_eq!(
        ran.failure().message,
        "Traceback (most recent call last):\n  line 5, in <module>\n    f()\n  line 4, in f\n    return broken('z')\n\
         RuntimeError: it broke: z"
    );
}
