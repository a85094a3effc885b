use std::collections::BTreeSet;

use super::rewrite;

/// The source as it is compiled, where `search` and `add` are tools.
fn changed(source: &str) -> String {
    rewrite(source, &BTreeSet::from(["search", "add"]))
}

#[test]
fn source_without_tools_stays_as_it_is() {
    for source in ["x = 1\nreturn x", "await f()", "def f(:", "result_ = 1", "# é\nprint('ä')", ""] {
        assert_eq!(changed(source), source);
    }
}

#[test]
fn await_before_a_tool_is_taken_away_outside_of_coroutines() {
    assert_eq!(changed("x = await search('a')"), "x = ( search('a'))");
    assert_eq!(changed("await (search(\n'a'))"), "( (search(\n'a')))");
    assert_eq!(changed("f = lambda: await search(1)"), "f = lambda: ( search(1))");
    assert_eq!(changed("async def f():\n    await search(1)"), "async def f():\n    await __later_search(1)");
    assert_eq!(changed("await parallel(('add', 1))"), "( parallel(('add', 1)))");
    assert_eq!(changed("asyncio.run(search(1))"), "(search(1))");
}

#[test]
fn collected_calls_are_deferred() {
    for (source, expected) in [
        ("gather(search(1), 2)", "gather(__later_search(1), 2)"),
        ("asyncio.gather(*[search(q) for q in a])", "asyncio.gather(*[__later_search(q) for q in a])"),
        (
            "parallel([search(1), add(search(2), 3)])",
            "parallel([__later_search(1), __later_add(search(2), 3)])",
        ),
        (
            "t = [search(1)]\nt.append(add(1))\ngather(*t)",
            "t = [__later_search(1)]\nt.append(__later_add(1))\ngather(*t)",
        ),
        ("t = [search(1)]\nprint(*t)", "t = [search(1)]\nprint(*t)"),
        ("f = search(1)\nawait f", "f = __later_search(1)\nawait f"),
    ] {
        assert_eq!(changed(source), expected);
    }
}

#[test]
fn names_that_the_code_takes_are_its_own() {
    let own = "def search(q): return q\nawait search(1)";
    assert_eq!(changed(own), own);
    let own = "def f(search): await search(1)";
    assert_eq!(changed(own), own);
    assert_eq!(changed("x = ToolError"), "x = RuntimeError");
    assert_eq!(changed("ToolError = 1"), "ToolError = 1");
}

#[test]
fn the_variable_result_is_returned() {
    assert!(changed("result = 1").ends_with("return result\nexcept NameError:\n    pass\n"));
    assert!(changed("if x:\n    for result in y: pass # end").contains("# end\ntry:\n"));
    for own in
        ["def f():\n    result = 1", "[result for result in x]", "f(result=1)", "class A:\n    result = 1"]
    {
        assert_eq!(changed(own), own);
    }
}

#[test]
fn lines_stay_where_they_are() {
    let source = "x = [\n  await search(\n    1),\n  2]\ny = gather(\n  search(1))\n";
    assert_eq!(changed(source).lines().count(), source.lines().count());
}
