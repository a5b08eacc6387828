// Package dialect holds the syntax and the functions that expressions of playbooks have
// beyond those of the library expr (https://expr-lang.org): pipes, the filters and tests of
// Ansible, choices with if and else, and texts with {{ }}.
//
//   - [Split] splits a text into literals and expressions.
//   - [Language.Rewrite] turns an expression as written into one that the parser of expr
//     accepts, and records the origin of each character for errors.
//   - [Language] holds the functions that expressions may call beside those of expr.
//   - [Print] returns a value as it appears in a text.
//
// The package knows no variables, files or hosts. Package lang compiles and evaluates
// expressions with it, and ansible/jinja translates Jinja to it. Everything here is safe
// for concurrent use.
package dialect
