// Package dialect is the expression language of playbooks: expr (https://expr-lang.org)
// with the pipes, filters and texts of Ansible.
//
//   - [Split] takes a text apart into literals and the expressions in its {{ }}.
//   - [Rewrite] turns an expression as people write it into one that the parser of expr
//     reads, and keeps where each character comes from.
//   - [Language] has the functions that expressions may call beside expr's own.
//   - [Print] is a value as it stands in a text.
//
// The package knows no variables, files or hosts; engine/lang compiles and
// evaluates what it makes. Everything here is safe for concurrent use.
package dialect
