// Package lang compiles and evaluates the parts of playbooks, roles and inventories
// that are not plain YAML: expressions ([Expr]), texts with {{ }} ([Interpolation],
// [Text]), template files ([Template], found by [Files]) and values of any shape
// whose texts may be expressions ([Value]). The functions and the syntax that the
// expressions have beyond the library github.com/expr-lang/expr are those of package
// dialect.
//
// Each expression, text and template is compiled once, before any host is contacted, with its place in the file.
// [Refs] are the variables that it may read; a [VarUse] is one that it reads in any case,
// so that the absence of the variable is an error of the playbook.
//
// Evaluation is for one host at a time, with the host's [Vars]: the variables of the inventory
// and of tasks, with the [Scope] of the play, the role, the block and the task on
// top. Compiled things are safe for concurrent use, Vars are not.
//
// A name or a key that does not exist is an error with file, line and column, and with
// advice where the name or the syntax is Ansible's.
package lang
