//! The languages that are told apart, by the names that models give them.

/// How a language marks its parts.
#[derive(Debug)]
pub(super) struct Language {
    names: &'static str,
    /// The beginnings of a comment up to the line's end.
    pub(super) comments: &'static [&'static str],
    /// The beginning and the end of a comment, or of a text (`true`), over several lines.
    pub(super) blocks: &'static [(&'static str, &'static str, bool)],
    /// Characters around a text on one line.
    pub(super) quotes: &'static str,
    pub(super) keywords: &'static str,
}

const C_BLOCK: (&str, &str, bool) = ("/*", "*/", false);

const ALL: &[Language] = &[
    Language {
        names: "rust rs",
        comments: &["//"],
        blocks: &[C_BLOCK],
        quotes: "\"",
        keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop \
                   match mod move mut pub ref return self Self static struct super trait true type unsafe use where while",
    },
    Language {
        names: "python py python3 starlark",
        comments: &["#"],
        blocks: &[("\"\"\"", "\"\"\"", true), ("'''", "'''", true)],
        quotes: "\"'",
        keywords: "False None True and as assert async await break case class continue def del elif else except finally \
                   for from global if import in is lambda match nonlocal not or pass raise return try while with yield",
    },
    Language {
        names: "javascript js jsx typescript ts tsx mjs",
        comments: &["//"],
        blocks: &[C_BLOCK, ("`", "`", true)],
        quotes: "\"'",
        keywords: "any as async await boolean break case catch class const continue default delete do else enum export \
                   extends false finally for from function if implements import in instanceof interface let new null number \
                   of private protected public readonly return static string super switch this throw true try type typeof \
                   undefined var void while yield",
    },
    Language {
        names: "c h cpp c++ cc hpp java kotlin kt swift csharp cs scala dart objc php proto",
        comments: &["//"],
        blocks: &[C_BLOCK],
        quotes: "\"'",
        keywords: "abstract auto bool boolean break case catch char class const constexpr continue default delete do double \
                   else enum explicit extends extern false final finally float for fun func function guard if implements import \
                   in include inline int interface internal is let long mutable namespace new nil null nullptr object override \
                   package private protected protocol public return short signed sizeof static struct super switch template this \
                   throw throws true try typedef typename union unsigned using val var virtual void volatile when where while",
    },
    Language {
        names: "go golang",
        comments: &["//"],
        blocks: &[C_BLOCK, ("`", "`", true)],
        quotes: "\"'",
        keywords: "any bool break byte case chan const continue default defer else error fallthrough false float64 for func go \
                   goto if import int interface map nil package range return rune select string struct switch true type var",
    },
    Language {
        names: "sh bash zsh shell console fish ksh",
        comments: &["#"],
        blocks: &[],
        quotes: "\"'",
        keywords: "case cd do done echo elif else esac eval exec exit export fi for function if in local read return set shift \
                   source test then trap unset until while",
    },
    Language {
        names: "yaml yml toml ini conf dockerfile makefile make cmake nginx properties",
        comments: &["#"],
        blocks: &[],
        quotes: "\"'",
        keywords: "true false null yes no on off FROM RUN COPY ADD CMD ENTRYPOINT ENV ARG WORKDIR EXPOSE USER",
    },
    Language {
        names: "json json5 jsonc jsonl",
        comments: &["//"],
        blocks: &[C_BLOCK],
        quotes: "\"",
        keywords: "true false null",
    },
    Language {
        names: "sql postgres postgresql mysql sqlite",
        comments: &["--"],
        blocks: &[C_BLOCK],
        quotes: "'\"",
        keywords: "ADD ALL ALTER AND AS ASC BEGIN BY CASE COMMIT CREATE DEFAULT DELETE DESC DISTINCT DROP ELSE END EXISTS FROM \
                   GROUP HAVING IF IN INDEX INNER INSERT INTO IS JOIN KEY LEFT LIKE LIMIT NOT NULL ON OR ORDER OUTER PRIMARY \
                   REFERENCES RIGHT SELECT SET TABLE THEN UNION UNIQUE UPDATE VALUES WHEN WHERE WITH add all alter and as asc \
                   begin by case commit create default delete desc distinct drop else end exists from group having if in index \
                   inner insert into is join key left like limit not null on or order outer primary references right select set \
                   table then union unique update values when where with",
    },
    Language {
        names: "lua haskell hs elm ada",
        comments: &["--"],
        blocks: &[],
        quotes: "\"",
        keywords: "and break case class data deriving do else elseif end false for function if import in instance let local module \
                   newtype nil not of or repeat return then true type until where while",
    },
    Language {
        names: "ruby rb elixir ex exs crystal perl pl r julia jl",
        comments: &["#"],
        blocks: &[],
        quotes: "\"'",
        keywords: "alias and begin break case class def defmodule defp do else elsif end ensure false fn for function if in let \
                   module my next nil not or our rescue return self sub super then true unless until use when while yield",
    },
    Language {
        names: "lisp clojure clj scheme racket elisp",
        comments: &[";"],
        blocks: &[],
        quotes: "\"",
        keywords: "and cond def defmacro defn defun do else fn if lambda let loop nil not or quote recur set! true false when",
    },
    Language {
        names: "html xml svg vue xhtml",
        comments: &[],
        blocks: &[("<!--", "-->", false)],
        quotes: "\"",
        keywords: "",
    },
    Language { names: "css scss less", comments: &[], blocks: &[C_BLOCK], quotes: "\"'", keywords: "" },
];

/// The language of that name.
pub(super) fn language(name: &str) -> Option<&'static Language> {
    let name = name.to_ascii_lowercase();
    ALL.iter().find(|language| language.names.split(' ').any(|known| known == name))
}
